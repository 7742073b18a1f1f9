#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The trainer on the software driver: watched, it prints the same losses, bit
# for bit; after each step the report's memory is the driver's, to the byte; and
# nothing is left in the driver at its end. See each_step.c.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_trainer
watch=$here/.libs/libeachstep.so
[ -r "$watch" ] || watch=$here/libeachstep.so
steps=5
model="--device cuda --text $text --layers 2 --hidden 48 --heads 4 --seq 32
	--batch 2 --steps $steps --lr 0.003"

# trains NAME OPTION...
trains()
{
	how=$1
	shift
	# shellcheck disable=SC2086 # a list
	"$train" $model "$@" >"$tmp/out" 2>"$tmp/err" || fail "plain $how"
	losses >"$tmp/plain"
	[ "$(wc -l <"$tmp/plain")" -eq "$steps" ] || fail "$how: no losses"
	# shellcheck disable=SC2086
	LD_PRELOAD="$watch $HORIZON_PRELOAD" "$train" $model "$@" \
		>"$tmp/out" 2>"$tmp/err" || fail "$how: $(cat "$tmp/err")"
	losses | cmp - "$tmp/plain" >&2 || fail "$how: other losses"
	line="each_step: $steps compared, 0 differ, 0 allocations and 0 bytes"
	grep -qx "$line left" "$tmp/err" || fail "$how: $(cat "$tmp/err")"
	echo "$how: $line left, losses the same"
}

trains arena
trains tensor --alloc tensor
trains pool --alloc pool
trains managed --alloc managed
trains graph --graph --alloc tensor
trains micro --micro 2 --recompute
trains bf16 --dtype bf16
