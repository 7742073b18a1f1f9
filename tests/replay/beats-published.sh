#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# learned, in its steady step: on no trace below the published planner, at
# least 0.95 of what is possible, and 0.97 of ideal on the headline five.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

product=1
for trace in $all; do
	replay "$trace" -P learned
	ours=$(member fraction_of_ideal "$tmp/result")
	possible=$(member fraction_bound "$tmp/result")
	theirs=$(published "$trace" 7)
	# three digits were published
	holds "$ours >= $theirs - 0.0005" ||
		fail "$trace: $ours, published $theirs"
	holds "$ours >= 0.95 * $possible && $ours <= $possible + 1e-6" ||
		fail "$trace: $ours of $possible"
	case " $headline " in
	*" $trace "*) product="$product * $ours" ;;
	esac
done
holds "($product) ^ 0.2 >= 0.97" || fail "mean: ($product) ^ 0.2"
