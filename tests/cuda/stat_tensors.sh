#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# horizon-stat --tensors shows the tensors of a device, and the report of the
# job has the bytes of its memory.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_driver
command -v horizon-run >/dev/null || skip "no horizon-run"
mkfifo "$tmp/in"
LD_LIBRARY_PATH=$tmp/lib horizon-run --report "$tmp/report" -- \
	"$(program watched)" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
run=$!
exec 7>"$tmp/in"
is_ready
# The table is written a moment later.
until horizon-stat -T >"$tmp/table" && grep -q ' 20 .* add$' "$tmp/table"; do
	once_more "no tensor with 20 launches" "$tmp/table"
done
horizon-stat -T -J >"$tmp/json"
horizon-stat -T --format=csv >"$tmp/csv"
exec 7>&-
wait "$run" || fail "the program failed"

# says FILE REGEX
says()
{
	grep -Eq -e "$2" "$tmp/$1" || {
		cat "$tmp/$1" >&2
		fail "$1 lacks: $2"
	}
}
says table '^ *pid address +bytes +launches +copies +kernels +idle'
says table ' 8\.0 +20 +0 +1 +[0-9.]+ +[a-z]+ +alloc +add$'
says table ' 4\.0 +0 +1 +0 +[0-9.]+ +host_only +alloc *$'
says json '"bytes":8388608,.*"launches":20,.*"kernel":"add",.*"tier":"vram"'
says json '"bytes":1048576,.*"copies":1,.*"tier":"ram","kind":"host"'
says csv ',8388608,8388608,0,,[0-9.]+,[a-z]+,vram,alloc,0x[0-9a-f]+,20,0,1,'
tr -d ' \n' <"$tmp/report" >"$tmp/flat"
says flat '"gpu":"observe"'
says flat '"tier":"vram","capacity_bytes":[1-9][0-9]*,"resident_bytes":0,'
says flat '"peak_bytes":16777216'
says flat '"gpu":\{"managed_bytes":0,"pinned_bytes":[0-9]+,'
says flat '"launches":20,"unknown_launches":0,'
