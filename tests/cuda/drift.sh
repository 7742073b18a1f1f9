#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What gen-cuda.sh has written is what the toolkit of this machine says. A
# newer toolkit has more names: then the files are to be generated again.
top=${top_srcdir:-.}
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
toolkit=$(dirname "$(dirname "$nvcc")")
header=$toolkit/include/cuda.h
grep -q '^#define CUDA_VERSION 13000$' "$header" 2>/dev/null || {
	echo "drift: skipped: no CUDA toolkit 13.0" >&2
	exit 77
}
exec sh "$top/shim/gen-cuda.sh" --check "$toolkit"
