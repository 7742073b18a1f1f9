#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --report: one JSON object, whatever becomes of the command.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
any_preload

report=$tmp/report.json

# Every group of the contract is there, and every counter of the table.
run 0 horizon-run --report "$report" true
valid_json "$report"
for member in pid command seconds exit_status mode fault io gpu tiers moves \
	faults store learner since_lock processes; do
	grep -q "\"$member\": " "$report" || fail "no member $member"
done
sed -n '/^HZ_STAT(/s/.*\.\([a-z_]*\)",$/\1/p' \
	"$top_srcdir/lib/base/stats.def" >"$tmp/members"
[ "$(wc -l <"$tmp/members")" -gt 30 ] || fail "cannot read stats.def"
while read -r member; do
	grep -q "\"$member\": " "$report" || fail "no counter $member"
done <"$tmp/members"
grep -q '"command": "true"' "$report" || fail "not the command's name"
grep -q '"reason": "no allocation reached min_size"' "$report" ||
	fail "no reason"

# An old report is replaced, not overwritten in part.
awk 'BEGIN { for (i = 0; i < 9999; i++) print "old old old" }' >"$report"
run 0 horizon-run --report "$report" true
valid_json "$report"

# Killed, missing, with an odd name: a report all the same.
run 137 horizon-run --report "$report" sh -c 'kill -KILL $$'
valid_json "$report"
grep -q '"exit_status": 137' "$report" || fail "not the status of the signal"
run 127 horizon-run --report "$report" 'no "such" \ command'
valid_json "$report"
grep -q '"exit_status": 127' "$report" || fail "not the status of the shell"

# - is standard error; the command's standard output is its own.
run 0 horizon-run --report - echo hello
valid_json "$tmp/err"
[ "$(cat "$tmp/out")" = hello ] || fail "stdout was touched"

# TERM reaches the command, and the report is written.
horizon-run --report "$report" \
	sh -c 'trap "exit 5" TERM; : >"$1"; while :; do sleep 0.1; done' \
	sh "$tmp/ready" &
wrapper=$!
children="$children $wrapper"
wait_for test -e "$tmp/ready"
kill -TERM "$wrapper"
status=0
wait "$wrapper" || status=$?
[ "$status" -eq 5 ] || fail "TERM did not reach the command ($status)"
valid_json "$report"

# A process that attaches: its numbers, and those of other processes.
start_fake horizon-run --report "$report"
exec 7>&-
wait "$fake" || fail "the stand-in failed"
valid_json "$report"
for line in '"fault": "move"' '"io": "threads"' \
	'"capacity_bytes": 536870912' '"resident_bytes": 268435456' \
	'"peak_bytes": 314572800' '"demand": 7' \
	'"stall_seconds": 1.500000000' '"processes": \[\]'; do
	grep -q "$line" "$report" || fail "the report lacks $line"
done
grep -q '"reason"' "$report" && fail "a reason where nothing is off"
run 0 horizon-run --report "$report" sh -c '"$1" </dev/null; true' sh \
	"$top_builddir/tests/cli/fake-process"
valid_json "$report"
sed '/"processes"/,$d' "$report" | grep -q '"demand": 0' ||
	fail "the shell has the counters of its child"
sed -n '/"processes"/,$p' "$report" | grep -q '"demand": 7' ||
	fail "the child is not among the processes"
