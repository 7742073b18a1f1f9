#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# horizon-stat finds a process of which only the GPU is watched and that
# nobody started with horizon-run, by its number and without.
. "${top_srcdir:-.}/tests/cuda/asked.sh"
command -v horizon-stat >/dev/null || skip "no horizon-stat"
mkfifo "$tmp/in"
LD_PRELOAD=$HORIZON_PRELOAD "$asked" wait "$driver" <"$tmp/in" \
	>"$tmp/out" 2>"$tmp/err" &
run=$!
exec 7>"$tmp/in"
is_ready
horizon-stat -p "$run" >"$tmp/one" 2>"$tmp/err" ||
	fail "not found by its number: $(cat "$tmp/err")"
horizon-stat >"$tmp/all" 2>"$tmp/err" || fail "not found: $(cat "$tmp/err")"
exec 7>&-
wait "$run" || fail "the program failed"
for table in one all; do
	grep -q "^ *$run " "$tmp/$table" ||
		fail "not in the table: $(cat "$tmp/$table")"
done
