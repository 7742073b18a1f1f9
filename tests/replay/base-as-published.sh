#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The simulator first: unified memory without frees, on the machine of the
# published rows, takes what was published, within 25 %.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

for trace in $headline; do
	replay "$trace" -P uvm-nofree -n 2
	ours=$(member fraction_of_ideal "$tmp/result")
	theirs=$(published "$trace" 4)
	holds "$ours > 0.75 * $theirs && $ours < 1.25 * $theirs" ||
		fail "$trace: $ours, published $theirs"
done
