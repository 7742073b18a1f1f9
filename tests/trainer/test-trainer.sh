#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What a workload for comparisons has to keep: the loss goes down, and two
# runs print the same losses wherever their memory lies, with any number of
# threads, and across a checkpoint. In f32, in bf16, and with a hashed table.

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

run first --steps 20 --lr 0.003
[ "$(wc -l <"$dir/first")" -eq 20 ] || fail "not a line a step"
grep -Evq '^step [0-9]+ loss [0-9.e-]+ norm [0-9.e-]+$' "$dir/first" &&
	fail "a line of another form"
awk 'NR == 1 { a = $4 } { b = $4 } END { exit !(b < a - 1) }' "$dir/first" ||
	fail "the loss does not go down"

cp "$dir/err" "$dir/first.err"
run second --steps 20 --lr 0.003
run tensor --steps 20 --lr 0.003 --alloc tensor
run alone --steps 20 --lr 0.003 --threads 1
run crowd --steps 20 --lr 0.003 --threads 5
run again --steps 20 --lr 0.003 --recompute
for name in second tensor alone crowd again; do
	same first $name
done
run other --steps 20 --lr 0.003 --seed 2
cmp -s "$dir/first" "$dir/other" && fail "the seed changes nothing"

# A stop on the way changes nothing; nor does cutting a batch in two, but
# for rounding.
run half --steps 12 --lr 0.003 --save "$dir/saved"
run rest --steps 20 --lr 0.003 --resume "$dir/saved"
cat "$dir/half" "$dir/rest" >"$dir/joined"
same first joined
run micro --steps 1 --batch 2 --micro 2
[ -s "$dir/micro" ] || fail "no step of two micro-batches"
run none --steps 0
[ ! -s "$dir/none" ] || fail "--steps 0 prints steps"
grep -q 'M parameters, footprint [0-9]* MiB' "$dir/err" ||
	fail "no footprint"

# variants NAME OPTION...: NAME is of 5 steps; what may not change a digit
variants() {
	of=$1
	shift
	run "$of-alone" --steps 5 "$@" --threads 1 --alloc tensor
	run "$of-crowd" --steps 5 "$@" --threads 5 --recompute
	run half --steps 2 "$@" --save "$dir/saved-$of"
	run rest --steps 5 "$@" --resume "$dir/saved-$of" --alloc tensor
	cat "$dir/half" "$dir/rest" >"$dir/joined"
	for name in "$of-alone" "$of-crowd" joined; do
		same "$of" "$name"
	done
}

run few --steps 5
run narrow --steps 5 --dtype bf16
near narrow few 2e-3 2e-2
cmp -s "$dir/narrow" "$dir/few" && fail "bf16 changes nothing"
variants narrow --dtype bf16

# The table makes another model, whose gradient has more parts; a table with
# one row as well.
run hashed --steps 5 --micro 2 --hash-buckets 5000
run plain --steps 5 --micro 2
cmp -s "$dir/hashed" "$dir/plain" && fail "the table changes nothing"
variants hashed --micro 2 --hash-buckets 5000
run both --steps 5 --hash-buckets 1 --dtype bf16
variants both --hash-buckets 1 --dtype bf16
run learnt --steps 20 --lr 0.003 --hash-buckets 5000
awk 'NR == 1 { a = $4 } { b = $4 } END { exit !(b < a - 1) }' "$dir/learnt" ||
	fail "the loss does not go down with a table"

# A power of two scales every number of the way back, and nothing else.
run scaled --steps 5 --loss-scale 4096
same few scaled
run scaled-narrow --steps 5 --loss-scale 0.125 --dtype bf16
same narrow scaled-narrow
run scaled-hashed --steps 5 --micro 2 --hash-buckets 5000 --loss-scale 64
same hashed scaled-hashed
run odd --steps 5 --loss-scale 3
near odd few 1e-5 1e-4
cmp -s "$dir/odd" "$dir/few" && fail "--loss-scale 3 rounds nothing"

refused 2 'Try .gpt-train --help' --nonsense
refused 2 '--text' --steps 1
refused 2 'multiple of --heads' --text "$text" --hidden 10 --heads 3
refused 2 'whole number' --text "$text" --layers 0
refused 2 'one of cpu|cuda' --text "$text" --device tpu
refused 2 'hash-buckets is for --device cpu' --text "$text" --device cuda \
	--hash-buckets 100
refused 2 'loss-scale 0: give a number' --text "$text" --loss-scale 0
refused 2 'pool is for --device cuda' --text "$text" --alloc pool
refused 2 'managed is for --device cuda' --text "$text" --alloc managed
refused 2 'graph is for --device cuda' --text "$text" --graph
refused 2 'module is for --device cuda' --text "$text" --module "$text"
refused 1 'readable file' --text "$dir/absent"
head -c 100 "$text" >"$dir/short"
refused 1 'longer text' --text "$dir/short"

# told STATUS LINES WORDS OPTION...: one line after the summary says WORDS
told() {
	status=$1 words=$2
	shift 2
	# shellcheck disable=SC2086 # a list
	"$train" $model "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq "$status" ] || fail "$*: status is not $status"
	# Less what a sanitizer says of memory that cannot be had.
	sed '1d; /^==[0-9]*==WARNING: AddressSanitizer/d' "$dir/err" \
		>"$dir/told"
	grep -q -- "$words" "$dir/told" ||
		fail "$*: does not say '$words': $(cat "$dir/told")"
	[ "$(wc -l <"$dir/told")" -eq 1 ] || fail "$*: not one line"
}

run made --steps 1 --save "$dir/saved"
told 1 'made with --hidden 48, not 24; give a checkpoint' \
	--hidden 24 --resume "$dir/saved"
told 1 'made with --layers 2, not 3' --layers 3 --resume "$dir/saved"
told 1 'made with --dtype f32, not bf16' --dtype bf16 --resume "$dir/saved"
told 1 'made with --dtype bf16, not f32' --resume "$dir/saved-narrow"
told 1 'made with --hash-buckets 5000, not 0' --resume "$dir/saved-hashed"
told 1 'made with --hash-buckets 0, not 9' --hash-buckets 9 \
	--resume "$dir/saved"
told 1 'not a checkpoint' --resume "$text"
told 1 'no memory' --hash-buckets 1000000000000
told 1 'absent: cannot read it' --resume "$dir/absent"
head -c 5000 "$dir/saved" >"$dir/cut"
told 1 'cut short' --resume "$dir/cut"
{ cat "$dir/saved" && echo; } >"$dir/long"
told 1 'too long' --resume "$dir/long"

# What is not finite: a weight, planted behind the header of 64 bytes as
# element 4853 of the first tensor, column 5 of byte 101, the letter e.
cp "$dir/saved" "$dir/bad"
printf '\000\000\300\177' | dd of="$dir/bad" bs=1 seek=$((64 + 4 * 4853)) \
	conv=notrunc 2>"$dir/dd" || fail "$(cat "$dir/dd")"
told 1 'step 2: loss nan, norm nan: first in weight TOKEN, element 4853: nan' \
	--resume "$dir/bad"
grep -q 'try --lr 3e-05; .*--keep-going' "$dir/told" ||
	fail "no advice: $(cat "$dir/told")"
[ "$(sed 's/ tok.*//' "$dir/out")" = 'step 2 loss nan norm nan' ] ||
	fail "goes on after a loss that is nan, or says it otherwise"
told 0 'step 2: loss nan.* is not applied$' --resume "$dir/bad" --keep-going \
	--steps 2

# The same weight in bf16.
cp "$dir/saved-narrow" "$dir/bad"
printf '\000\000\200\177' | dd of="$dir/bad" bs=1 seek=$((64 + 4 * 4853)) \
	conv=notrunc 2>"$dir/dd" || fail "$(cat "$dir/dd")"
told 1 'in weight TOKEN, element 4853: inf; try --lr 3e-05, --dtype f32' \
	--resume "$dir/bad" --dtype bf16

# A gradient that is not finite leaves the weights as they were.
wild="--lr 1000 --clip 0"
# shellcheck disable=SC2086 # a list
"$train" $model $wild --steps 20 >"$dir/out" 2>"$dir/err"
[ $? -eq 1 ] || fail "status is not 1 after a norm that is not finite"
tail -n 1 "$dir/err" | grep -Eq \
	'norm (inf|nan): first in [a-z ]+ [A-Z_0-9]+.*; try --lr 100, --clip' ||
	fail "not a word on a norm that is not finite: $(cat "$dir/err")"
last=$(sed -n '$s/^step \([0-9]*\) .*/\1/p' "$dir/out")
# shellcheck disable=SC2086
run before $wild --steps $((last - 1)) --save "$dir/saved-before"
# shellcheck disable=SC2086
run after $wild --steps $((last + 1)) --keep-going --save "$dir/saved-after"
[ "$(wc -l <"$dir/after")" -eq $((last + 1)) ] ||
	fail "--keep-going does not go on"
tail -c +17 "$dir/saved-before" >"$dir/before"
tail -c +17 "$dir/saved-after" >"$dir/after"
same before after

# The largest scale there is still leaves a norm.
run huge --steps 2 --loss-scale 1e30
near huge huge 0 0

# A gradient out of all proportion to those before it; and not a word on
# those of the first runs.
# At the higher rate some processors come to infinity at once.
large_norm()
{
	# shellcheck disable=SC2086 # a list
	"$train" $model --lr "$1" --clip 0 --steps 12 >"$dir/out" 2>"$dir/err"
	grep -q "step [0-9]*: loss .* over 100 times the median .*--lr $2, --clip 1" \
		"$dir/err"
}
large_norm 100 10 || large_norm 50 5 ||
	fail "not a word on a large norm: $(cat "$dir/err")"
grep -q 'times the median' "$dir/first.err" && fail "cries without need"

[ $failures -eq 0 ]
