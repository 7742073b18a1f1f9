#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run-cuda.sh PROGRAM: run it on the software driver ($SOFTCUDA) three times:
# alone, behind the preload library, and behind it with gpu=off. It must
# succeed and print the same each time. 77 where the driver is not built.
program=$1
name=$(basename "$program" .cuda)
: "${top_builddir:=.}"
if [ -z "${SOFTCUDA:-}" ]; then
	for file in "$top_builddir/tests/softcuda/.libs/libcuda.so.1" \
		"$top_builddir/tests/softcuda/libcuda.so.1"; do
		[ -r "$file" ] && SOFTCUDA=$file
	done
fi
[ ! -d "${SOFTCUDA:-}" ] || SOFTCUDA=$SOFTCUDA/libcuda.so.1
[ -r "${SOFTCUDA:-}" ] || {
	echo "$name: skipped: no software driver (SOFTCUDA)" >&2
	exit 77
}
HORIZON_PRELOAD=${HORIZON_PRELOAD%/*}/libhorizon-cuda.so
HORIZON_GPU=observe
export HORIZON_PRELOAD HORIZON_GPU
[ -r "$HORIZON_PRELOAD" ] || {
	echo "$name: skipped: no preload library (HORIZON_PRELOAD)" >&2
	exit 77
}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
case $SOFTCUDA in /*) ;; *) SOFTCUDA=$PWD/$SOFTCUDA ;; esac
ln -s "$SOFTCUDA" "$tmp/libcuda.so.1"
ln -s "$SOFTCUDA" "$tmp/software-driver.so"
for dir in .libs .; do
	file=$(dirname "$program")/$dir/libtestmodule.so
	[ -r "$file" ] && TEST_MODULE=$file
done
: "${TEST_MODULE:=}"
LD_LIBRARY_PATH=$tmp${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SOFTCUDA_SELF=$tmp/software-driver.so
SOFTCUDA_LAG=${SOFTCUDA_LAG:-2}
export LD_LIBRARY_PATH SOFTCUDA_SELF SOFTCUDA_LAG TEST_MODULE SOFTCUDA
unset HORIZON_ENABLE HORIZON_CONF

# The program itself, not libtool's wrapper: that one is a shell.
real=$(dirname "$program")/.libs/$(basename "$program")
[ -x "$real" ] || real=$program

once()
{
	how=$1
	shift
	# A limit for programs that hang, far from what they need.
	timeout 120 env "$@" "$real" >"$tmp/$how.out" 2>"$tmp/$how.err"
	rc=$?
	sed "s/^/$name ($how): /" "$tmp/$how.err" >&2
	[ "$rc" -eq 0 ] || {
		echo "$name ($how): status $rc" >&2
		exit "$rc"
	}
}

once plain HORIZON_TEST=plain
once watched LD_PRELOAD="$HORIZON_PRELOAD"
once off LD_PRELOAD="$HORIZON_PRELOAD" HORIZON_GPU=off
for how in watched off; do
	cmp "$tmp/plain.out" "$tmp/$how.out" >&2 || exit 1
	[ ! -s "$tmp/$how.err" ] || {
		echo "$name ($how): not silent" >&2
		exit 1
	}
done
