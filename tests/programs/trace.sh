#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --trace writes what horizon-replay reads, a file for each process; with
# trace=full it holds every use. A place where none can be written, or a trace
# that was there before, is said or replaced.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move
need horizon-replay

blocks=48
passes=12
args="-m $((2 * blocks)) -t 1 -p $passes"
# shellcheck disable=SC2086
plain $args
trace=$tmp/trace

# Uses in a trace, which the replayer takes as well.
uses()
{
	horizon-replay -P lru --vram 64M "$1" >"$tmp/replayed" 2>"$tmp/err" ||
		fail "not replayed: $(cat "$tmp/err")"
	"$programs/count_trace" "$1" FAULT
}

echo old >"$trace"
# shellcheck disable=SC2086
same 0 horizon-run --ram 64M --store "$store" --trace "$trace" \
	--set trace=full "$sweep" $args
full=$(uses "$trace")
[ "$full" -ge $((blocks * passes)) ] ||
	fail "full: $full uses, $((blocks * passes)) are made"

# Faults only: with learning, most uses are not seen.
# shellcheck disable=SC2086
same 0 horizon-run --ram 64M --store "$store" --trace "$trace" \
	"$sweep" $args
seen=$(uses "$trace")
[ "$seen" -ge $blocks ] || fail "only $seen faults"

# An old file is not touched, the new one has a number.
echo old >"$tmp/other"
# shellcheck disable=SC2086
same 0 env HORIZON_TRACE_FILE="$tmp/other" horizon-run --ram 64M \
	--store "$store" --trace "$tmp/new" "$sweep" $args
[ "$(cat "$tmp/other")" = old ] || fail "an old file was written to"
[ -s "$tmp/new" ] || fail "the option does not come before the variable"

# A process that is not the first.
# shellcheck disable=SC2086
same 0 horizon-run --ram 64M --store "$store" --trace "$trace" \
	sh -c '"$@" >/dev/null && exec "$@"' sh "$sweep" $args
[ "$(uses "$trace")" -ge $blocks ] || fail "the first is missing"
set -- "$trace".[0-9]*
[ $# -eq 1 ] && [ -s "$1" ] || fail "not one other trace: $*"
[ "$(uses "$1")" -ge $blocks ] || fail "the other one is empty"

# Killed: what was written by then can be read, up to a chunk that the kill
# may have cut.
some_uses()
{
	n=$("$programs/count_trace" "$trace" FAULT 2>"$tmp/cut")
	[ "${n:-0}" -ge $blocks ] && { [ ! -s "$tmp/cut" ] ||
		grep -q 'cut short' "$tmp/cut"; }
}
rm -f "$trace" # it would be taken for the new one
horizon-run --ram 64M --store "$store" --trace "$trace" \
	"$sweep" -m $((2 * blocks)) -t 1 -p 1000000 >/dev/null 2>&1 &
children="$children $!"
wait_for some_uses
kill -9 $!
wait $! 2>/dev/null || :
some_uses || fail "a killed process leaves a trace that cannot be read"

# Descriptors are the engine's, and who has no engine does not wait for it.
run 0 horizon-run --ram 64M --store "$store" --trace "$trace" \
	"$programs/trace_ends" "$tmp/victim"
[ "$(uses "$trace")" -gt 0 ] || fail "trace_ends left no trace"

# An inner run leaves the trace of the outer one alone.
# shellcheck disable=SC2086
run 0 horizon-run --ram 64M --store "$store" --trace "$trace" \
	sh -c 'horizon-run true && exec "$@"' sh "$sweep" $args
[ "$(uses "$trace")" -ge $blocks ] || fail "the inner run took the trace"

for bad in "$tmp" /dev/null /proc/none; do
	horizon-run --ram 64M --store "$store" --trace "$bad" true \
		>"$tmp/out" 2>"$tmp/err" && fail "--trace $bad is taken"
	one_line
	says err "trace_file: $bad: "
done
