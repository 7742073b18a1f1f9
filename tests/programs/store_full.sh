#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# More than RAM and store together hold: the program ends well above its
# budget, and one line says so and why.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move

args="-m 384 -t 3 -p 2"
# shellcheck disable=SC2086
plain $args

# full REASON OPTION...: the lines on stderr name the reason once.
full()
{
	reason=$1
	shift
	lines=2
	# shellcheck disable=SC2086
	same 0 horizon-run --ram 64M --store "$store" --report "$report" \
		"$@" "$sweep" $args
	[ "$(grep -c 'budget exceeded' "$tmp/err")" -eq 1 ] ||
		fail "not one line about the budget"
	says err "$reason"
	[ "$(member full)" -gt 0 ] || fail "store.full does not count"
	[ "$(member over_budget)" -gt 0 ] || fail "over_budget is 0"
}

full 'store-size' --store-size 64M
[ "$(member write_bytes)" -ge $((48 << 20)) ] || fail "the store is not used"
full 'write_cap' --set write_cap=32M
[ "$(member write_bytes)" -le $((32 << 20)) ] || fail "above write_cap"

# The smallest store: one block, which is kept for trials.
full 'store-size' --store-size 2M

# A file system that is full although it promised more.
if [ "$(id -u)" -eq 0 ] && mkdir "$store/small" &&
	mount -t tmpfs -o size=80m none "$store/small" 2>/dev/null; then
	defer umount "$store/small"
	lines=3 # and one that says what tmpfs is
	# shellcheck disable=SC2086
	same 0 horizon-run --ram 64M --store "$store/small" \
		--store-size 512M --report "$report" "$sweep" $args
	says err 'no space left'
	[ "$(member full)" -gt 0 ] || fail "ENOSPC is not counted"
	[ "$(member poisoned_blocks)" -eq 0 ] || fail "blocks were lost"
else
	echo "$name: no full file system: not root" >&2
fi
