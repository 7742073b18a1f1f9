#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Times that vary by 25 %, and a forward pass after every ten steps or every two,
# cost at most three points of ideal; without a period it is no worse than lru.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

for trace in $all; do
	replay "$trace" -P learned
	steady=$(member fraction_of_ideal "$tmp/result")
	replay "$trace" -P learned -n 24 --perturb 25 --eval 10
	rough=$(member fraction_of_ideal "$tmp/result")
	holds "$rough >= $steady - 0.03" || fail "$trace: $steady, $rough"
	case $trace in BERT-512 | VIT-1280 | SENet154-1024) ;; *) continue ;; esac
	replay "$trace" -P learned -n 12 --perturb 25 --eval 2
	often=$(member fraction_of_ideal "$tmp/result")
	holds "$often >= $steady - 0.03" || fail "$trace: $steady, $often"
done
for trace in BERT-512 VIT-1280; do
	replay "$trace" -P lru -n 4 --shuffle
	lru=$(member seconds "$tmp/result")
	replay "$trace" -P learned -n 4 --shuffle
	ours=$(member seconds "$tmp/result")
	holds "$ours <= 1.001 * $lru" || fail "$trace: lru $lru, $ours"
done
