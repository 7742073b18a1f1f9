#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What a workload for comparisons has to keep: the loss goes down, and two
# runs print the same losses wherever their memory lies, with any number of
# threads, and across a checkpoint.

. "${srcdir:-.}/functions.sh"

model="--text $text --layers 2 --hidden 48 --heads 4 --seq 32 --batch 4"

run() {
	name=$1
	shift
	# shellcheck disable=SC2086 # a list
	losses "$name" $model "$@"
}

# refused STATUS WORDS OPTION...: one line that says WORDS, nothing else
refused() {
	status=$1 words=$2
	shift 2
	"$train" "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq "$status" ] || fail "$*: status is not $status"
	[ ! -s "$dir/out" ] || fail "$*: writes on standard output"
	grep -q -- "$words" "$dir/err" || fail "$*: does not say '$words'"
	[ "$(grep -vc '^Try ' "$dir/err")" -eq 1 ] || fail "$*: not one line"
}

run first --steps 30 --lr 0.003
[ "$(wc -l <"$dir/first")" -eq 30 ] || fail "not a line a step"
grep -Evq '^step [0-9]+ loss [0-9.e-]+ norm [0-9.e-]+$' "$dir/first" &&
	fail "a line of another form"
awk 'NR == 1 { a = $4 } { b = $4 } END { exit !(b < a - 1) }' "$dir/first" ||
	fail "the loss does not go down"

run second --steps 30 --lr 0.003
run tensor --steps 30 --lr 0.003 --alloc tensor
run alone --steps 30 --lr 0.003 --threads 1
run crowd --steps 30 --lr 0.003 --threads 5
run again --steps 30 --lr 0.003 --recompute
for name in second tensor alone crowd again; do
	same first $name
done
run other --steps 30 --lr 0.003 --seed 2
cmp -s "$dir/first" "$dir/other" && fail "the seed changes nothing"

# A stop on the way changes nothing; nor does cutting a batch in two, but
# for rounding.
run half --steps 12 --lr 0.003 --save "$dir/saved"
run rest --steps 30 --lr 0.003 --resume "$dir/saved"
cat "$dir/half" "$dir/rest" >"$dir/joined"
same first joined
run micro --steps 1 --batch 2 --micro 2
[ -s "$dir/micro" ] || fail "no step of two micro-batches"
run none --steps 0
[ ! -s "$dir/none" ] || fail "--steps 0 prints steps"
grep -q 'M parameters, footprint [0-9]* MiB' "$dir/err" ||
	fail "no footprint"

refused 2 'Try .gpt-train --help' --nonsense
refused 2 '--text' --steps 1
refused 2 'multiple of --heads' --text "$text" --hidden 10 --heads 3
refused 2 'whole number' --text "$text" --layers 0
refused 2 'one of cpu|cuda' --text "$text" --device tpu
refused 2 'bf16 is for --device cuda' --text "$text" --dtype bf16
refused 2 'pool is for --device cuda' --text "$text" --alloc pool
refused 2 'managed is for --device cuda' --text "$text" --alloc managed
refused 2 'graph is for --device cuda' --text "$text" --graph
refused 2 'module is for --device cuda' --text "$text" --module "$text"
refused 1 'readable file' --text "$dir/absent"
head -c 100 "$text" >"$dir/short"
refused 1 'longer text' --text "$dir/short"

# More complaints come after the summary of the model.
"$train" $model --hidden 24 --resume "$dir/saved" >"$dir/out" 2>"$dir/err" &&
	fail "resumes a checkpoint of another shape"
grep -q 'give a checkpoint' "$dir/err" || fail "no word on the checkpoint"

[ $failures -eq 0 ]
