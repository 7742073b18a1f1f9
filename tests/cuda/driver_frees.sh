#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The driver may free what the C library has allocated for it, although it is
# bound to the C library's own malloc.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
driver=$here/.libs/libstrangedriver.so
[ -r "$driver" ] || driver=$here/libstrangedriver.so
for gpu in observe off; do
	env LD_PRELOAD="$HORIZON_PRELOAD" HORIZON_CUDA_DRIVER="$driver" \
		HORIZON_GPU=$gpu timeout 60 "$(program opens)" libcuda.so.1 \
		>"$tmp/out" 2>"$tmp/err" || fail "gpu=$gpu: $(cat "$tmp/err")"
	grep -q 'cuInit gives 0 ' "$tmp/out" ||
		fail "gpu=$gpu: $(cat "$tmp/out" "$tmp/err")"
done
