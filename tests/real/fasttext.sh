#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fastText's rows are reached at random: n-grams hashed into 320000 buckets of
# 400 bytes each. With one thread it is deterministic: the model has the same
# bytes at half its footprint. FASTTEXT_WORDS is the length of the corpus.
. "${top_srcdir:?}/tests/real/functions.sh"
need_package fasttext fasttext
need_move

words=${FASTTEXT_WORDS:-2000}
common='-thread 1 -minCount 1 -epoch 1 -dim 100 -bucket 320000 -verbose 0'

# model KIND LABELS OPTION...: both ways, one model.
model()
{
	kind=$1 labels=$2
	shift 2
	LC_ALL=C awk -v words="$words" -v vocabulary=20000 -v labels="$labels" \
		-f "$real/zipf-words.awk" >"$work/text"
	# shellcheck disable=SC2086 # options
	set -- fasttext "$kind" -input "$work/text" $common "$@"
	run 0 timeout -k 5 200 "$@" -output "$work/plain"
	run 0 timeout -k 5 200 horizon-run --ram 64M --store "$store" \
		--report "$report" -- "$@" -output "$work/tiered"
	[ "$(wc -c <"$work/plain.bin")" -gt 100000000 ] ||
		fail "$kind: a small model"
	for suffix in bin vec; do
		cmp "$work/plain.$suffix" "$work/tiered.$suffix" ||
			fail "$kind: another .$suffix"
	done
	must_have_moved "$kind"
	echo "ok $kind, $words words: $(mib store.write_bytes) written," \
		"$(mib store.read_bytes) read, $(total faults.demand) faults"
	rm -f "$work"/*
}

[ -n "${TEST_SHORT-}" ] || model skipgram 0
model supervised 10 -wordNgrams 2
