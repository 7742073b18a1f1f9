#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random accesses to four times the budget, for some seconds: the report names
# the allocation and the budget that would hold it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move
[ -z "${TEST_SHORT-}" ] || skip "it takes a quarter of a minute"

horizon-run --ram 64M --store "$store" --report "$report" \
	"$top_builddir/tests/programs/hopeless" 256 14 || fail "status $?"
valid_json "$report"
grep -q '"advice": "256 MiB at 0x[0-9a-f]* are used all over' "$report" ||
	fail "no advice: $(grep advice "$report")"
ram=$(sed -n 's/.*"advice":.*--ram \([0-9]*\)M.*/\1/p' "$report")
[ "$ram" -ge 256 ] && [ "$ram" -le 384 ] || fail "--ram ${ram}M is advised"
