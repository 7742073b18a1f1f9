#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What was handed to another process is never offered to be moved, on either
# side, and the importer has no device memory by it.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_driver
command -v horizon-stat >/dev/null || skip "no horizon-stat"
mkfifo "$tmp/in"
LD_LIBRARY_PATH=$tmp/lib LD_PRELOAD=$HORIZON_PRELOAD \
	"$(program ipc_memory.cuda)" wait <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
run=$!
exec 7>"$tmp/in"
is_ready
# The table is written a moment later.
until horizon-stat -T -J >"$tmp/all" && grep ipc_memory "$tmp/all" \
	>"$tmp/json" && grep -q '"kind":"imported"' "$tmp/json" &&
	[ "$(grep -c '"class":"resident"' "$tmp/json")" -eq 4 ]; do
	once_more "not the rows that were expected" "$tmp/json"
done
exec 7>&-
wait "$run" || fail "the program failed"

says()
{
	grep -q -e "$1" "$tmp/json" || {
		cat "$tmp/json" >&2
		fail "no row with $1"
	}
}
grep -q '"class":"offloadable"' "$tmp/json" && fail "something may be moved"
says "\"pid\":$run,.*\"bytes\":1048576,.*\"kind\":\"alloc\""
says "\"pid\":$run,.*\"bytes\":3145728,.*\"kind\":\"pool\""
says "\"pid\":$run,.*\"bytes\":2097152,.*\"kind\":\"vmm\""
grep '"kind":"imported"' "$tmp/json" | grep -qv "\"pid\":$run," ||
	fail "the importer has no row"
