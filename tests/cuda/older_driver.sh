#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Drivers that are older than the headers we were made with: watched, a program
# prints what it prints without us, and there is nothing to say about it.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_trainer

# once WAY VARIABLE=VALUE...: what the trainer prints, less its speed.
once()
{
	way=$1
	shift
	env "$@" "$train" --device cuda --text "$text" --layers 2 --hidden 48 \
		--heads 4 --seq 32 --batch 2 --steps 3 --alloc tensor \
		>"$tmp/out" 2>"$tmp/$way.err" ||
		fail "$version, $way: $(cat "$tmp/$way.err")"
	losses >"$tmp/$way"
}

for version in 12020 12040 12080 13000; do
	export SOFTCUDA_DRIVER=$version
	once plain HORIZON_LOG=warn
	[ "$(wc -l <"$tmp/plain")" -eq 3 ] || fail "$version: no steps"
	for gpu in observe off; do
		once watched LD_PRELOAD="$HORIZON_PRELOAD" HORIZON_GPU=$gpu
		cmp "$tmp/plain" "$tmp/watched" >&2 || fail "$version, $gpu"
		cmp "$tmp/plain.err" "$tmp/watched.err" >&2 ||
			fail "$version, $gpu: not silent"
	done
done
