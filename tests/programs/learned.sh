#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A loop over more than the budget is learned: the report says so, nearly all
# of what is read since then was read before it was asked for, and the output
# is the same. With learn=0 there is no lock.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move

args="-m 160 -t 1 -p 40"
# shellcheck disable=SC2086
plain $args

# The member of since_lock, as a number.
since()
{
	awk -f "${top_srcdir:-$(dirname "$0")/../..}/tests/real/flatten-json.awk" \
		"$report" | awk -v key="since_lock.$1" '$1 == key { print $2 }'
}

# shellcheck disable=SC2086
same 0 horizon-run --ram 96M --store "$store" --report "$report" \
	"$sweep" $args
[ "$(member locked)" -eq 1 ] || fail "no period was found"
period=$(member period_events)
[ "$period" -ge 70 ] && [ "$period" -le 100 ] ||
	fail "the period has $period uses, 80 blocks are used"
[ "$(member hits)" -gt $((10 * $(member misses))) ] ||
	fail "$(member hits) expected uses, $(member misses) unexpected"
moves=$(($(since store.read_bytes) >> 21))
[ "$moves" -gt 0 ] || fail "nothing was read since the lock"

# shellcheck disable=SC2086
same 0 horizon-run --ram 96M --store "$store" --report "$report" \
	--set learn=0 "$sweep" $args
[ "$(member locked)" -eq 0 ] || fail "learn=0 learns"
grep -q '"since_lock": null' "$report" || fail "since_lock without a lock"
