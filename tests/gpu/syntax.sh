#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The probes of a real GPU are seldom run: do their sources still compile?
# C wants cuda.h of CUDA 13, and python its interpreter; 77 where neither is.

here=$(cd "$(dirname "$0")" && pwd) || exit 99
looked=0
bad=0

nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || nvcc=
if [ -n "$nvcc" ]; then
	include=$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include
	version=$(sed -n 's/^#define CUDA_VERSION //p' "$include/cuda.h" \
		2>/dev/null)
	if [ "${version:-0}" -ge 13000 ]; then
		looked=1
		for source in "$here"/*.c; do
			# shellcheck disable=SC2086 # CC may hold options
			${CC:-cc} -std=gnu11 -fsyntax-only -Wall \
				-DTRIPWIRE_REAL='"libcuda.so.1"' \
				-I"$include" "$source" || bad=1
		done
	fi
fi
if command -v python3 >/dev/null; then
	looked=1
	for source in "$here"/*.py; do
		python3 -c 'import ast, sys
ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$source" || bad=1
	done
fi
for source in "$here"/*.sh; do
	sh -n "$source" || bad=1
done
if [ $looked -eq 0 ]; then
	echo "syntax: skipped: no CUDA 13, no python3" >&2
	[ $bad -ne 0 ] || exit 77
fi
exit $bad
