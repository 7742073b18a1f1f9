#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that is killed leaves nothing: no file in the store, none in
# shared memory; and its report is written.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move

hold=$tmp/hold
ls -A /dev/shm >"$tmp/shm" 2>/dev/null || :
horizon-run --ram 64M --store "$store" --report "$report" \
	sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$tmp/pid" \
	"$sweep" -m 256 -p 3 -h "$hold" >"$tmp/out" 2>"$tmp/err" &
wrapper=$!
children="$children $wrapper"
wait_for test -e "$hold"
kill -KILL "$(cat "$tmp/pid")"
rm "$hold"
status=0
wait "$wrapper" || status=$?
[ "$status" -eq 137 ] || fail "status $status"
silent_on err
valid_json "$report"
[ "$(member exit_status)" -eq 137 ] || fail "the report has another status"
[ "$(member command)" = sweep ] || fail "not the report of the last program"
[ "$(member fault)" = move ] || fail "the mode was lost"
[ "$(member write_bytes)" -gt 0 ] || fail "the counters were lost"
[ -z "$(ls -A "$store")" ] || fail "left in the store: $(ls -A "$store")"
ls -A /dev/shm >"$tmp/shm-after" 2>/dev/null || :
if grep -vxF -f "$tmp/shm" "$tmp/shm-after" | grep -qi 'horizon\|hz'; then
	fail "left in /dev/shm"
fi

# Two processes of a job at the same time, each with its own numbers.
plain -m 160 -p 2
run 0 horizon-run --ram 64M --store "$store" --report "$report" \
	sh -c '"$@" & "$@"; wait' sh "$sweep" -m 160 -p 2
cat "$tmp/plain" "$tmp/plain" | cmp -s - "$tmp/out" || fail "other output"
silent_on err
valid_json "$report"
[ "$(member command)" = sh ] || fail "not the report of the shell"
sed -n '/"processes"/,$p' "$report" >"$tmp/others"
[ "$(grep -c '"command": "sweep"' "$tmp/others")" -eq 2 ] ||
	fail "not two processes in the report"
[ "$(grep -c '"fault": "move"' "$tmp/others")" -eq 2 ] ||
	fail "not two modes in the report"
