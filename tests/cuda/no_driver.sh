#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# On a machine without a driver a program finds none, with us as without us;
# a program of the runtime library gives the same error. Wherever the preload
# library is, it is not the driver.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
opens=$(program opens)
empty=$tmp/empty
mkdir "$empty"
LD_LIBRARY_PATH=$empty
export LD_LIBRARY_PATH

"$opens" libcuda.so.1 >"$tmp/plain"
grep -qx 'libcuda.so.1: refused' "$tmp/plain" ||
	skip "this machine has a driver"

# same WORDS...: with these variables the program prints the same, silently.
same()
{
	env LD_PRELOAD="$HORIZON_PRELOAD" "$@" timeout 60 "$opens" \
		libcuda.so.1 >"$tmp/ours" 2>"$tmp/err" || fail "status of: $*"
	cmp "$tmp/plain" "$tmp/ours" >&2 || fail "otherwise with: $*"
	[ ! -s "$tmp/err" ] || fail "not silent with: $*"
}
same HORIZON_LOG=warn
same HORIZON_GPU=off
same HORIZON_ENABLE=0

# Ourselves under the driver's name are not the driver, as file or as copy.
ln -s "$HORIZON_PRELOAD" "$empty/libcuda.so.1"
same HORIZON_LOG=warn
rm "$empty/libcuda.so.1"

# A knob that names something else: one line, and no driver.
env LD_PRELOAD="$HORIZON_PRELOAD" HORIZON_CUDA_DRIVER=/nonexistent timeout 60 \
	"$opens" libcuda.so.1 >"$tmp/ours" 2>"$tmp/err"
cmp "$tmp/plain" "$tmp/ours" >&2 || fail "otherwise with a wrong driver"
[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "not one line about a wrong driver"
grep -q cuda_driver "$tmp/err" || fail "the line does not name the knob"

# Any other library is found as ever.
LD_PRELOAD=$HORIZON_PRELOAD "$opens" libm.so.6 | grep -q 'libm.so.6: opened' ||
	fail "dlopen of another library"

# The runtime library, where there is a compiler for it.
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || exit 0
cat >"$tmp/rt.cu" <<'END'
#include <cuda_runtime.h>
#include <stdio.h>
int main(void)
{
	int n;

	printf("%d\n", (int)cudaGetDeviceCount(&n));
	return 0;
}
END
"$nvcc" -o "$tmp/rt" "$tmp/rt.cu" >/dev/null 2>&1 || exit 0
"$tmp/rt" >"$tmp/plain"
for gpu in observe off; do
	LD_PRELOAD=$HORIZON_PRELOAD HORIZON_GPU=$gpu timeout 60 "$tmp/rt" \
		>"$tmp/ours" 2>"$tmp/err"
	cmp "$tmp/plain" "$tmp/ours" >&2 || fail "cudart, gpu=$gpu"
	[ ! -s "$tmp/err" ] || fail "cudart, gpu=$gpu: not silent"
done
