#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --goal bytes moves at most 1.05 of the lower bound, and no policy less than
# the bound.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

for trace in $all; do
	replay "$trace" -P learned --goal bytes
	moved=$(member bytes_moved "$tmp/result")
	least=$(member lower_bound_bytes "$tmp/result")
	holds "$moved <= 1.05 * $least" || fail "$trace: $moved, $least"
	# each step is rounded to whole pieces
	holds "$moved >= 0.999 * $least" ||
		fail "$trace: less than the bound"
done
