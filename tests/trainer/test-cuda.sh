#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# --device cuda against --device cpu, and against itself. Sums have another
# order there, and e^x another last bit: losses may differ by 2e-6 of their
# value and norms by 1e-5 in the few steps taken here (seen: 1e-7 and 4e-7);
# in bf16 both round at the same places, so that 1e-4 and 2e-3 will do, but 2e-3
# and 2e-2 from f32. Whatever does not change the order of a sum must not
# change a digit: where memory lies, graphs, recomputing, a stop on the way.

. "${srcdir:-.}/cuda-env.sh"
. "${srcdir:-.}/functions.sh"

host="--text $text --layers 2 --hidden 48 --heads 4 --seq 32 --batch 2
	--steps 4 --lr 0.003"
model="$host ${GPT_MODULE:+--module $GPT_MODULE}"

cpu() {
	name=$1
	shift
	# shellcheck disable=SC2086 # a list
	losses "$name" $host "$@"
}

gpu() {
	name=$1
	shift
	# shellcheck disable=SC2086 # a list
	losses "$name" --device cuda $model "$@"
}

cpu host
gpu first
near first host 2e-6 1e-5
for name in arena tensor pool managed; do
	gpu "$name" --alloc $name
	same first "$name"
done
gpu graph --graph
gpu graph-pool --graph --alloc pool
gpu recompute --recompute
for name in graph graph-pool recompute; do
	same first "$name"
done

cpu host-micro --micro 3
gpu micro --micro 3
gpu micro-graph --micro 3 --graph --recompute --alloc tensor
near micro host-micro 2e-6 1e-5
same micro micro-graph

# More than one tile each way, heads that fill none, no clipping.
wide="--hidden 72 --heads 2 --seq 70 --steps 2 --clip 0"
# shellcheck disable=SC2086 # a list
cpu host-wide $wide
# shellcheck disable=SC2086
gpu wide $wide
near wide host-wide 2e-6 1e-5

gpu narrow --dtype bf16
gpu narrow-graph --dtype bf16 --graph --recompute --alloc managed
near narrow host 2e-3 2e-2
same narrow narrow-graph
cpu host-narrow --dtype bf16
near narrow host-narrow 1e-4 2e-3

# The gradient of a scaled loss is the same, scaled.
gpu scaled --loss-scale 1024
same first scaled
gpu scaled-graph --loss-scale 1024 --graph --dtype bf16
same narrow scaled-graph
cmp -s "$dir/narrow" "$dir/first" && fail "bf16 changes nothing"

# A checkpoint goes on as if nothing had been, also on the other device.
gpu half --steps 2 --save "$dir/saved"
gpu rest --resume "$dir/saved" --alloc tensor
cat "$dir/half" "$dir/rest" >"$dir/joined"
same first joined
cpu host-rest --resume "$dir/saved"
cat "$dir/half" "$dir/host-rest" >"$dir/joined"
near joined host 2e-6 1e-5
gpu half --steps 2 --dtype bf16 --save "$dir/saved"
gpu rest --dtype bf16 --resume "$dir/saved"
cat "$dir/half" "$dir/rest" >"$dir/joined"
same narrow joined
cpu host-rest --dtype bf16 --resume "$dir/saved"
cat "$dir/half" "$dir/host-rest" >"$dir/joined"
near joined host-narrow 1e-4 2e-3

# shellcheck disable=SC2086 # a list
cpu host-narrow-wide $wide --dtype bf16
# shellcheck disable=SC2086
gpu narrow-wide $wide --dtype bf16
near narrow-wide host-narrow-wide 1e-4 2e-3

# What is not finite is found on the device as well; nothing is applied.
# shellcheck disable=SC2086 # a list
"$train" --device cuda $model --lr 1000 --clip 0 --steps 20 --graph \
	>"$dir/out" 2>"$dir/err" && fail "a norm that is nan is no failure"
grep -q '^gpt-train: step [0-9]*: .*norm nan: first in [a-z]* .* of layer 1' \
	"$dir/err" || fail "does not say what is nan: $(cat "$dir/err")"
last=$(sed -n '$s/^step \([0-9]*\) .*/\1/p' "$dir/out")
gpu before --lr 1000 --clip 0 --steps $((last - 1)) --save "$dir/saved-before"
gpu after --lr 1000 --clip 0 --steps "$last" --keep-going \
	--save "$dir/saved-after"
tail -c +17 "$dir/saved-before" >"$dir/before"
tail -c +17 "$dir/saved-after" >"$dir/after"
same before after

# told WORDS OPTION...: fails with one line, after the summary, with WORDS
told() {
	words=$1
	shift
	# shellcheck disable=SC2086 # a list
	"$train" --device cuda $model "$@" >"$dir/out" 2>"$dir/err"
	[ $? -eq 1 ] || fail "$words: status is not 1"
	grep -q -- "$words" "$dir/err" ||
		fail "does not say '$words': $(cat "$dir/err")"
	[ "$(grep -c '^gpt-train' "$dir/err")" -eq 2 ] ||
		fail "$words: not one line: $(cat "$dir/err")"
}

# failing RULE WORDS: the same where a call of the driver fails
failing() {
	SOFTCUDA_FAIL=$1
	export SOFTCUDA_FAIL
	told "$2"
	unset SOFTCUDA_FAIL
}

told '--module .*absent: CUDA_ERROR' --module "$dir/absent"
if [ "$SOFTCUDA" != none ]; then
	failing cuMemAlloc:3 'cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)'
	failing cuLaunchKernel:40:719 '_.*: CUDA_ERROR_LAUNCH_FAILED (719)'
	failing cuStreamSynchronize:31:700 \
		'cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700)'

	# Less memory than the arrays take: managed memory makes do.
	SOFTCUDA_VRAM=1M
	export SOFTCUDA_VRAM
	gpu scarce --alloc managed
	same first scarce
	told 'cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)'
fi

[ $failures -eq 0 ]
