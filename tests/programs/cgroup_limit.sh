#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a memory cgroup without swap the limit is death. With the default --ram
# a program that uses twice the limit lives, also when another process of the
# group grows meanwhile.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/group-functions.sh"
need_move

limit=$((256 << 20))
need_group $limit

args="-m 512 -t 3 -p 3"
# shellcheck disable=SC2086
plain $args
# shellcheck disable=SC2086
same 0 in_group horizon-run --store "$store" --report "$report" "$sweep" $args
[ "$(member fault)" = move ] || fail "no tiering in the group"
[ "$(member capacity_bytes)" -le $((limit - (64 << 20))) ] ||
	fail "a budget of $(member capacity_bytes)"

# Others take 80 MiB, more than the headroom, when the program is in the middle,
# keep them, and let them go. Not at once: the budget is looked at twenty times a
# second, and nothing below a limit is safe from who takes all of it in less.
neighbour()
{
	in_group "$sweep" -m 40 -t 1 -p 1 -h "$tmp/$1" >/dev/null &
	others="$others $!"
	children="$children $!"
	wait_for test -e "$tmp/$1"
	sleep 1
}
others=
hold=$tmp/hold
# shellcheck disable=SC2086
in_group horizon-run --store "$store" --report "$report" \
	"$sweep" $args -h "$hold" >"$tmp/out" 2>"$tmp/err" &
pid=$!
children="$children $pid"
wait_for test -e "$hold"
neighbour one
neighbour two
rm "$hold"
status=0
wait "$pid" || status=$?
[ "$status" -eq 0 ] || fail "status $status beside a growing neighbour"
cmp -s "$tmp/plain" "$tmp/out" || fail "other output"
silent_on err
rm "$tmp/one" "$tmp/two"
for other in $others; do
	wait "$other" || fail "a neighbour was killed"
done
