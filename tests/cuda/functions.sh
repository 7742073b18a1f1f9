# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the scripts of this folder. $tmp goes away; $here is where the
# programs are; $SOFTCUDA is the software driver, or the test is skipped.
name=$(basename "$0" .sh)
: "${top_builddir:=.}"
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

skip()
{
	echo "$name: skipped: $*" >&2
	exit 77
}

fail()
{
	echo "$name: $*" >&2
	exit 1
}

here=${TEST_CUDA_DIR:-$top_builddir/tests/cuda}
HORIZON_PRELOAD=${HORIZON_PRELOAD%/*}/libhorizon-cuda.so
HORIZON_GPU=observe
export HORIZON_PRELOAD HORIZON_GPU
[ -r "$HORIZON_PRELOAD" ] || skip "no preload library (HORIZON_PRELOAD)"
unset HORIZON_ENABLE HORIZON_CONF LD_PRELOAD
command -v timeout >/dev/null || skip "no timeout"

need_driver()
{
	if [ -z "${SOFTCUDA:-}" ]; then
		for file in "$top_builddir/tests/softcuda/.libs/libcuda.so.1" \
			"$top_builddir/tests/softcuda/libcuda.so.1"; do
			[ -r "$file" ] && SOFTCUDA=$file
		done
	fi
	[ ! -d "${SOFTCUDA:-}" ] || SOFTCUDA=$SOFTCUDA/libcuda.so.1
	[ -r "${SOFTCUDA:-}" ] || skip "no software driver (SOFTCUDA)"
	case $SOFTCUDA in /*) ;; *) SOFTCUDA=$PWD/$SOFTCUDA ;; esac
	mkdir -p "$tmp/lib"
	ln -sf "$SOFTCUDA" "$tmp/lib/libcuda.so.1"
	ln -sf "$SOFTCUDA" "$tmp/lib/software-driver.so"
	for dir in .libs .; do
		[ -r "$here/$dir/libtestmodule.so" ] &&
			TEST_MODULE=$here/$dir/libtestmodule.so
	done
	SOFTCUDA_SELF=$tmp/lib/software-driver.so
	export SOFTCUDA TEST_MODULE SOFTCUDA_SELF
}

# The driver of strange_driver.c becomes the one that is found.
need_strange_driver()
{
	HORIZON_CUDA_DRIVER=$here/.libs/libstrangedriver.so
	[ -r "$HORIZON_CUDA_DRIVER" ] ||
		HORIZON_CUDA_DRIVER=$here/libstrangedriver.so
	export HORIZON_CUDA_DRIVER
}

# The trainer that knows nothing of us, and a text for it.
need_trainer()
{
	need_driver
	train=$top_builddir/tests/trainer/gpt-train
	[ -x "$train" ] || skip "no gpt-train"
	text=/usr/share/common-licenses/GPL-3
	[ -r "$text" ] || skip "no text at $text"
	LD_LIBRARY_PATH=$tmp/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH train text
}

# What it printed to $tmp/out, less its speed.
losses()
{
	sed 's/ tok\/s.*//' "$tmp/out"
}

# once_more MESSAGE FILE: wait before $tries more looks; none are left: fail.
once_more()
{
	tries=$((tries - 1))
	[ "$tries" -gt 0 ] || {
		cat "$2" >&2
		fail "$1"
	}
	sleep 0.1
}

# is_ready [TRIES]: until the program $run says so in $tmp/out. What is left of
# $tries may be used for what comes a moment later.
is_ready()
{
	tries=${1:-600}
	until grep -q ready "$tmp/out"; do
		kill -0 "$run" 2>/dev/null || tries=0
		once_more "the program did not get through" "$tmp/err"
	done
}

# program NAME: the program itself; libtool's wrapper is a shell.
program()
{
	if [ -x "$here/.libs/$1" ]; then
		echo "$here/.libs/$1"
	else
		echo "$here/$1"
	fi
}
