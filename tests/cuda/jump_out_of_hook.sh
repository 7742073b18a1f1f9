#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A signal handler that jumps out of one of our hooks: see
# jump_out_of_hook.c. We give up, and say so once.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_strange_driver
env LD_PRELOAD="$HORIZON_PRELOAD" timeout 120 "$(program jump_out_of_hook)" \
	>"$tmp/out" 2>"$tmp/err" || fail "status $?: $(cat "$tmp/err")"
grep -qx 'went on' "$tmp/out" || fail "$(cat "$tmp/out")"
[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "not one line: $(cat "$tmp/err")"
grep -q '^horizon: gpu: off: a signal handler jumped' "$tmp/err" ||
	fail "$(cat "$tmp/err")"
