#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A library whose constructor runs before ours uses the driver: it is watched
# all the same, or not at all if the knob says so.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_driver
early=$here/.libs/libearlydriver.so
[ -r "$early" ] || early=$here/libearlydriver.so
LD_LIBRARY_PATH=$tmp/lib
export LD_LIBRARY_PATH
for gpu in observe off; do
	env LD_PRELOAD="$HORIZON_PRELOAD $early" HORIZON_GPU=$gpu timeout 60 \
		"$(program counts)" vram_resident >"$tmp/$gpu" 2>"$tmp/err" ||
		fail "gpu=$gpu: status $?: $(cat "$tmp/err")"
	[ ! -s "$tmp/err" ] || fail "gpu=$gpu: not silent: $(cat "$tmp/err")"
done
[ "$(cat "$tmp/observe")" = 5242880 ] || fail "watched: $(cat "$tmp/observe")"
[ "$(cat "$tmp/off")" = 0 ] || fail "off: $(cat "$tmp/off")"
