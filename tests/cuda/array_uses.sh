#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# horizon-stat --tensors shows arrays by their handles, with the copies that
# name them or a level of them, and nothing that may be moved.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_driver
command -v horizon-stat >/dev/null || skip "no horizon-stat"
mkfifo "$tmp/in"
LD_LIBRARY_PATH=$tmp/lib LD_PRELOAD=$HORIZON_PRELOAD \
	"$(program array_uses)" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
run=$!
exec 7>"$tmp/in"
is_ready
# The table is written a moment later.
until horizon-stat -T -J -p "$run" >"$tmp/json" &&
	grep -q '"launches":5,' "$tmp/json"; do
	once_more "no array with 5 launches" "$tmp/json"
done
exec 7>&-
wait "$run" || fail "the program failed"

# row BYTES TEXT...: its row has each text
row()
{
	bytes=$1
	shift
	line=$(grep "\"bytes\":$bytes," "$tmp/json") || {
		cat "$tmp/json" >&2
		fail "no row of $bytes bytes"
	}
	for text in "$@"; do
		case $line in
		*"$text"*) ;;
		*) fail "$line lacks $text" ;;
		esac
	done
}
is='"class":"resident","tier":"vram","kind":"array"'
handle='"address":"0x8000'
row 2048 '"copies":14,' '"launches":0,' "$is" "$handle"
row 4096 '"copies":4,' "$is" "$handle"
row 6144 '"copies":0,' '"launches":5,' "$is" "$handle"
row 5376 '"copies":3,' "$is" "$handle"
row 8192 '"copies":0,' "$is" "$handle"
row 524288 '"copies":0,' '"class":"resident","tier":"vram","kind":"alloc"'
