#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A recording is read: what is born and dies in it is known, and its period is
# found on the way.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

"$top_builddir/tests/replay/write-trace" >"$tmp/trace" || fail "no trace"
for policy in lru learned oracle; do
	horizon-replay -J -P $policy --vram 512M "$tmp/trace" \
		>"$tmp/result" 2>"$tmp/err" || fail "$policy: status $?"
	eval "$policy=\$(member seconds \"\$tmp/result\")"
done
# 16 activations and what comes in: the dead are not counted
live=$(member live_peak_bytes "$tmp/result")
holds "$live >= 17 * 2 ^ 26 && $live < 17 * 2 ^ 26 + 2 ^ 26 + 2 ^ 27" ||
	fail "live peak: $live"
holds "$oracle <= $learned && $learned < $lru" ||
	fail "oracle $oracle, learned $learned, lru $lru"

# What is freed before it was seen is no tensor; it is one when it is seen.
horizon-replay -P oracle --vram 512M --write-plan "$tmp/plan" "$tmp/trace" \
	>"$tmp/result" 2>"$tmp/err" || fail "status $?"
says err '3 frees of what was never seen are left out'
tensors=$(grep -vc '^#' "$tmp/plan")
[ "$tensors" -eq $((1 + 16 + 32)) ] || fail "$tensors tensors"
[ "$(awk '$2 == 2 ^ 21' "$tmp/plan" | wc -l)" -eq 32 ] || fail "other blocks"

# any end but the right one is an error
for cut in 17 100 1000; do
	head -c $cut "$tmp/trace" >"$tmp/cut"
	horizon-replay "$tmp/cut" >"$tmp/out" 2>"$tmp/err" &&
		fail "cut at $cut is taken"
	says err 'offset 16: cut short'
done
