#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The driver may free what the C library has allocated for it, although it is
# bound to the C library's own malloc; and with an allocator of the program's
# own all of it comes from there, also what its constructor allocates.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_strange_driver
for gpu in observe off; do
	for how in "opens libcuda.so.1" own_allocator; do
		# shellcheck disable=SC2086 # the name of a program, and words
		set -- $how
		env LD_PRELOAD="$HORIZON_PRELOAD" HORIZON_GPU=$gpu \
			timeout 60 "$(program "$1")" ${2:+"$2"} \
			>"$tmp/out" 2>"$tmp/err" ||
			fail "$how, gpu=$gpu: $(cat "$tmp/err")"
		grep -q 'cuInit gives 0 ' "$tmp/out" ||
			fail "$how, gpu=$gpu: $(cat "$tmp/out" "$tmp/err")"
	done
done
