#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Programs that meet the hooks at a bad moment, on a driver that does nothing
# by itself: see signal_in_hook.c, cancel_pending.c; and later_names.c.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_strange_driver
# run PROGRAM LINE: it prints this line.
run()
{
	env LD_PRELOAD="$HORIZON_PRELOAD" timeout 120 "$(program "$1")" \
		>"$tmp/out" 2>"$tmp/err" || fail "$1: status $?: $(cat \
		"$tmp/out" "$tmp/err")"
	grep -qx "$2" "$tmp/out" || fail "$1: $(cat "$tmp/out" "$tmp/err")"
	[ ! -s "$tmp/err" ] || fail "$1: not silent: $(cat "$tmp/err")"
}
run signal_in_hook 'right, 4096 tensors'
run cancel_pending returned
run later_names found
