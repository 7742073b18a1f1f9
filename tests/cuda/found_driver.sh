#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every way to open the driver ends in us while we watch, and in the driver
# itself when gpu=off; the driver is found in LD_LIBRARY_PATH, by the knob, or
# where the program says that it is. We may be installed anywhere, and we need
# no library of the toolkit.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_driver
opens=$(program opens)
mkdir "$tmp/elsewhere" "$tmp/none"
cp "$HORIZON_PRELOAD" "$tmp/elsewhere/any-name.so"
ours=$tmp/elsewhere/any-name.so

# into FILE NAME WORDS...: opening NAME with these variables ends in FILE.
into()
{
	file=$1
	open=$2
	shift 2
	env LD_PRELOAD="$ours" "$@" timeout 60 "$opens" "$open" \
		>"$tmp/out" 2>"$tmp/err" || fail "status of $open with $*"
	grep -q "cuInit gives 0 in $file\$" "$tmp/out" ||
		fail "$open with $*: $(cat "$tmp/out" "$tmp/err")"
	[ ! -s "$tmp/err" ] || fail "$open with $*: not silent"
}

lib=$tmp/lib
into any-name.so libcuda.so.1 LD_LIBRARY_PATH="$lib"
into any-name.so libcuda.so LD_LIBRARY_PATH="$lib"
into any-name.so "$lib/libcuda.so.1" LD_LIBRARY_PATH="$tmp/none"
into any-name.so libcuda.so.1 LD_LIBRARY_PATH="$tmp/none" \
	HORIZON_CUDA_DRIVER="$lib/libcuda.so.1"
# The first directory holds something that is no library.
echo nothing >"$tmp/none/libcuda.so.1"
into any-name.so libcuda.so.1 LD_LIBRARY_PATH="$tmp/none:$lib"
# Off is off.
for off in HORIZON_GPU=off HORIZON_ENABLE=0 HORIZON_ONLY=nobody; do
	into libcuda.so.1 libcuda.so.1 LD_LIBRARY_PATH="$lib" "$off"
	into libcuda.so.1 "$lib/libcuda.so.1" LD_LIBRARY_PATH="$lib" "$off"
done

# What the program does to the variable at run time is of no matter to the
# loader, so not to us.
into any-name.so libcuda.so.1 LD_LIBRARY_PATH="$lib" TEST_LIBRARY_PATH="$tmp"
# An empty entry is the current directory.
(cd "$lib" && into any-name.so libcuda.so.1 LD_LIBRARY_PATH=":$tmp/none") ||
	exit 1
# The program says where its libraries are.
mkdir "$tmp/program"
ln -s "$lib" "$tmp/program/driver"
cp "$(program opens_runpath)" "$tmp/program/"
plain=$opens
opens=$tmp/program/opens_runpath
into any-name.so libcuda.so.1 LD_LIBRARY_PATH="$tmp/none"
opens=$plain
# A program that is linked with the driver has it loaded from the start.
"$(program needs_driver)" >/dev/null 2>&1 &&
	fail "needs_driver starts without a driver"
env LD_PRELOAD="$ours" LD_LIBRARY_PATH="$lib" timeout 60 \
	"$(program needs_driver)" >"$tmp/out" 2>"$tmp/err"
grep -qx 'loaded, cuInit gives 0' "$tmp/out" ||
	fail "needs_driver: $(cat "$tmp/out" "$tmp/err")"
# The path of another driver than the one that is open is that driver's.
need_strange_driver
mkdir "$tmp/other"
cp "$HORIZON_CUDA_DRIVER" "$tmp/other/libcuda.so.1"
unset HORIZON_CUDA_DRIVER
env LD_PRELOAD="$ours" timeout 60 "$opens" "$lib/libcuda.so.1" \
	"$tmp/other/libcuda.so.1" >"$tmp/out"
for line in "$lib/.* cuInit gives 0 in any-name.so" \
	"$tmp/other/.* in libcuda.so.1"; do
	grep -qx "$line" "$tmp/out" || fail "a second driver: $(cat "$tmp/out")"
done

command -v readelf >/dev/null || exit 0
readelf -d "$HORIZON_PRELOAD" >"$tmp/dynamic"
grep -q 'soname: \[libcuda.so.1\]' "$tmp/dynamic" || fail "the SONAME"
if grep NEEDED "$tmp/dynamic" | grep -q 'libcuda'; then
	fail "it needs a library of the toolkit"
fi
# Both dlopen@GLIBC_2.2.5 and dlopen@GLIBC_2.34 are answered by one without a
# version.
readelf --dyn-syms -W "$HORIZON_PRELOAD" | grep -q ' dlopen$' ||
	fail "dlopen has a version"
