# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by scripts that need a driver which counts what it is asked.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
driver=$here/.libs/libaskeddriver.so
[ -r "$driver" ] || driver=$here/libaskeddriver.so
case $driver in /*) ;; *) driver=$PWD/$driver ;; esac
asked=$(program asked)
HORIZON_CUDA_DRIVER=$driver
export HORIZON_CUDA_DRIVER

# asked WHAT...: each of them by a process of its own, silently.
asked()
{
	for what in "$@"; do
		LD_PRELOAD=$HORIZON_PRELOAD timeout 60 "$asked" "$what" \
			"$driver" 2>"$tmp/err" ||
			fail "$what: status $?: $(cat "$tmp/err")"
		[ ! -s "$tmp/err" ] || fail "$what: $(cat "$tmp/err")"
	done
}
