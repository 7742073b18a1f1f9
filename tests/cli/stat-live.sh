#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A real tiered process: found by its engine thread, and through horizon-run
# when there is a report; the report agrees.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
need horizon-stat
need_preload
python3 -c '' 2>/dev/null || skip "no python3"
horizon-run --check >"$tmp/out" 2>&1 || skip "no tiering on this machine:" \
	"$(tail -n 1 "$tmp/out")"

program='
import sys
a = bytearray(192 << 20)
for i in range(0, len(a), 4096):
    a[i] = 1 + i // 4096 % 251
print("ready", flush=True)
sys.stdin.read()
bad = sum(a[i] != 1 + i // 4096 % 251 for i in range(0, len(a), 4096))
sys.exit(3 if bad else 0)
'

# live OPTION...: start it; $pid is the Python process.
live()
{
	rm -f "$tmp/fifo" "$tmp/live.out"
	mkfifo "$tmp/fifo"
	: >"$tmp/live.out"
	horizon-run --ram 96M --store "$tmp" "$@" \
		sh -c 'echo $$; exec python3 -c "$1"' sh "$program" \
		<"$tmp/fifo" >"$tmp/live.out" 7>&- &
	wrapper=$!
	children="$children $wrapper"
	exec 7>"$tmp/fifo"
	wait_for grep -q ready "$tmp/live.out"
	pid=$(sed -n 1p "$tmp/live.out")
}

finish()
{
	exec 7>&-
	status=0
	wait "$wrapper" || status=$?
	[ "$status" -eq 0 ] || fail "the program ended with $status"
}

# The row of $pid: a program of twice the budget, about half in each tier.
in_tiers()
{
	run 0 horizon-stat -p "$pid" -o ram,cap,store
	awk 'NR == 3 && $1 <= 96 && $1 >= 48 && $2 <= 96 && $3 >= 64 { ok = 1 }
	     END { exit !ok }' "$tmp/out"
}

offloaded()
{
	run 0 horizon-stat -p "$pid" -T -J
	grep -Eq '"bytes":20[0-9]{7},.*"class":"offloadable"' "$tmp/out"
}

look()
{
	wait_for in_tiers
	wait_for offloaded
	run 0 horizon-stat -p "$pid" --format prom
	says out '^horizon_move_count_total\{.*from="ram".* [1-9][0-9]*$'
}

live
look
finish

live --report "$tmp/report"
look
finish
valid_json "$tmp/report"
grep -q '"fault": "move"' "$tmp/report" || fail "the report has no mode"
# Of the whole run: since the lock there may be none.
python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["faults"]["demand"] == 0)' \
	"$tmp/report" || fail "the report has no faults"
grep -q '"errors": 0,' "$tmp/report" || fail "the store had errors"
