#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Micro-batches come first and look like steps; the step around them, with its
# optimizer, is found as well: at most a quarter of what lru loses to the plan
# that knows the future is left.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

for micro in 4 16; do
	"$top_builddir/tests/replay/write-trace" 12 $micro >"$tmp/trace" ||
		fail "no trace"
	for policy in lru learned oracle; do
		horizon-replay -J -P $policy --vram 1600M "$tmp/trace" \
			>"$tmp/result" 2>"$tmp/err" || fail "$policy: status $?"
		eval "$policy=\$(member fraction_of_ideal \"\$tmp/result\")"
	done
	holds "$oracle - $learned <= ($oracle - $lru) / 4" ||
		fail "$micro: oracle $oracle, learned $learned, lru $lru"
done
