#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random accesses to four times the budget: after some seconds of it the
# program's row names the allocation and the budget that would hold it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move
[ -z "${TEST_SHORT-}" ] || skip "it takes a quarter of a minute"

horizon-run --ram 64M --store "$store" \
	"$top_builddir/tests/programs/hopeless" 256 120 &
pid=$!
defer kill $pid
advice=
seconds=0
# On a busy machine less than half of a second may be waiting for pages.
while [ -z "$advice" ] && [ "$seconds" -lt 110 ]; do
	sleep 1
	seconds=$((seconds + 1))
	horizon-stat -J -p $pid >"$tmp/row" 2>"$tmp/err" || continue
	advice=$(sed -n 's/.*"advice": *"\([^"]*\)".*/\1/p' "$tmp/row")
done
echo "$advice" | grep -q '^256 MiB at 0x[0-9a-f]* are used all over' ||
	fail "no advice: '$advice'; $(cat "$tmp/row" "$tmp/err")"
ram=$(echo "$advice" | sed -n 's/.*--ram \([0-9]*\)M.*/\1/p')
[ "$ram" -ge 256 ] && [ "$ram" -le 384 ] || fail "--ram ${ram}M is advised"
