#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --tensors: the ranges of a stand-in process, the largest first.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
need horizon-stat
any_preload
start_fake horizon-run --report "$tmp/report"
pid=$(sed -n 1p "/proc/$fake/task/$fake/children" 2>/dev/null | tr -d ' ')
[ -n "$pid" ] || pid=$(ps -o pid= --ppid "$fake" | tr -d ' ')

# Through horizon-run, which keeps the segment of a job.
run 0 horizon-stat -T -p "$pid"
silent_on err
says out '^ *pid address +bytes +resident +store +faults +idle class +kind'
sed '1,2d' "$tmp/out" | tr -s ' ' | sed "s/^ *$pid //" >"$tmp/rows"
[ "$(wc -l <"$tmp/rows")" -eq 2 ] || fail "not two ranges"
sed -n 1p "$tmp/rows" >"$tmp/first"
sed -n 2p "$tmp/rows" >"$tmp/second"
says first '^20000000 64 8\.0 56 9 [0-9.]+ offloadable mmap$'
says second '^10000000 16 16 4\.0 3 - resident malloc$'

run 0 horizon-stat -T -J -p "$pid"
[ "$(wc -l <"$tmp/out")" -eq 2 ] || fail "not two objects"
for line in 1 2; do
	sed -n "${line}p" "$tmp/out" >"$tmp/object"
	valid_json "$tmp/object"
done
says out '"bytes":67108864,.*"class":"offloadable","tier":"store","kind":"mmap"'
says out '"bytes":16777216,.*"class":"resident","tier":"ram","kind":"malloc"'
says out '"idle_seconds":null,.*"next_use_seconds":null,"accesses_per_step":null'

run 0 horizon-stat -T --format csv -p "$pid"
says out '^pid,command,address,bytes,'
says out "^$pid,fake-process,0x10000000,16777216,16777216,4194304,3,,resident,"
exec 7>&-
wait "$fake" || fail "the stand-in failed"
