#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A process whose memory of the host is tiered and which launches kernels
# writes one trace: two threads write to it at once, the times of each only
# grow, nothing is missing, and horizon-replay merges them.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_driver
command -v horizon-run >/dev/null || skip "no horizon-run"
LD_LIBRARY_PATH=$tmp/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
passes=4
mkdir "$tmp/store"
horizon-run --ram 64M --store "$tmp/store" --trace "$tmp/trace" \
	--report "$tmp/report" -- "$(program both_tiers)" 192 $passes \
	>"$tmp/out" 2>"$tmp/err" || fail "$(cat "$tmp/err")"
tr -d ' \n' <"$tmp/report" >"$tmp/flat"
grep -q '"fault":"move"' "$tmp/flat" || skip "no host tier: $(cat "$tmp/err")"
"$(program trace_events)" "$tmp/trace" >"$tmp/events" ||
	fail "the trace cannot be read"
[ "$(ls "$tmp"/trace*)" = "$tmp/trace" ] || fail "more than one trace"
awk -v launches="$(cat "$tmp/out")" -v faults=$((96 * passes / 2)) '
$2 == "FAULT" || ($2 == "FREE" && $3 >= 2 ^ 63) {
	back += $1 < host
	host = $1
	f += $2 == "FAULT"
	next
}
{ back += $1 < device; device = $1 }
$2 == "LAUNCH" { l++ }
END {
	print l + 0 " launches, " launches " made; " f + 0 " faults, " faults \
		" at least; times go back " back + 0 " times"
	exit l != launches || f < faults || back
}' "$tmp/events" >"$tmp/said" || fail "$(cat "$tmp/said")"
horizon-replay -J -P lru --vram 64M "$tmp/trace" >"$tmp/replayed" \
	2>"$tmp/err" || fail "not replayed: $(cat "$tmp/err")"
# A kernel for each fault, launch, copy and memset, in the time that it took.
awk -v last="$(awk '$1 > m { m = $1 } END { print m / 1e9 }' "$tmp/events")" '
match($0, /"ideal_seconds":[^,}]*/) {
	s = substr($0, RSTART + 16, RLENGTH - 16)
}
END { exit !(s > 0 && s <= 2 * last) }' "$tmp/replayed" ||
	fail "not its time: $(cat "$tmp/replayed")"
