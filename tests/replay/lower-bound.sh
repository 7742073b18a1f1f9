#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The lower bounds are those of the README, which another solver found; and
# nobody is faster than the bound on time, in a first step neither.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

for trace in $all; do
	replay "$trace" -P oracle -n 1
	ours=$(member fraction_of_ideal "$tmp/result")
	possible=$(member fraction_bound "$tmp/result")
	holds "$ours <= $possible + 1e-6" || fail "$trace: $ours of $possible"
	grep -q 'without Clp' "$tmp/err" && skip "built without Clp"
	least=$(member lower_bound_bytes "$tmp/result")
	known=$(published "$trace" 8)
	holds "$least / 2 ^ 30 - $known < 0.06 &&
		$known - $least / 2 ^ 30 < 0.06" ||
		fail "$trace: $least, known $known GiB"
done
