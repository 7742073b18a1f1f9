#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# --trace records what is done with memory of the device: as many launches,
# graphs, copies and memsets as the report counts, of tensors that live then,
# whose bytes together are never more than the report's peak. The program
# computes the same, horizon-replay takes the file, and a process that is
# killed leaves one that can be read.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_trainer
command -v horizon-run >/dev/null || skip "no horizon-run"
trace=$tmp/trace

# of KEY: the number in the report's part of the device.
of()
{
	sed -n 's/.*"gpu":{\([^}]*\)}.*/\1/p' "$tmp/flat" | tr ',' '\n' |
		sed -n "s/^\"$1\"://p"
}

# agrees NAME [many]: the events of $trace with the report of the same run;
# many: memory that is mapped more than once is there only once.
agrees()
{
	"$(program trace_events)" "$trace" >"$tmp/events" ||
		fail "$1: the trace cannot be read"
	tr -d ' \n' <"$tmp/report" >"$tmp/flat"
	peak=$(sed -n 's/.*"tier":"vram"[^}]*"peak_bytes":\([0-9]*\).*/\1/p' \
		"$tmp/flat")
	[ "${2-}" != many ] || peak=
	awk -v launches="$(of launches)" -v graphs="$(of graph_launches)" \
		-v bytes="$(of copy_bytes)" -v sets="$(of memsets)" \
		-v peak="$peak" -v managed="$(of managed_bytes)" -v name="$1" '
	function is(what, n, want) {
		if (n == want)
			return
		print name ": " what " " n " in the trace, " want " counted"
		bad = 1
	}
	function use(id) {
		if (id in alive)
			return
		print name ": line " NR ": no tensor " id
		bad = 1
	}
	$1 < before { print name ": time goes back"; bad = 1 }
	{ before = $1 }
	$2 == "ALLOC" {
		if ($3 in alive)
			sum -= alive[$3]
		alive[$3] = $4
		sum += $4
		if (sum > most)
			most = sum
	}
	$2 == "FREE" { use($3); sum -= alive[$3]; delete alive[$3] }
	$2 == "LAUNCH" && $3 != 4294967295 { $3 > 4096 ? g++ : l++ }
	$2 == "LAUNCH" {
		for (i = 5; i <= NF; i++)
			use(substr($i, 1, index($i, ":") - 1))
		named += NF - 4
	}
	$2 == "COPY" { use($3) }
	$2 == "COPY" && $5 <= 2 { copied += $4 }
	$2 == "COPY" && $5 == 4 && $1 != set { set = $1; s++ }
	END {
		is("launches", l + 0, launches)
		is("graphs", g + 0, graphs)
		is("memsets", s + 0, sets)
		is("bytes copied", copied + 0, bytes)
		if (peak != "")
			is("bytes at most", most + 0, peak)
		is("tensors at the end", length(alive), 0)
		if (!named) {
			print name ": no launch names a tensor"
			bad = 1
		}
		exit bad
	}' "$tmp/events" >&2 || exit 1
}

model="--device cuda --text $text --layers 2 --hidden 48 --heads 4 --seq 32
	--batch 2 --steps 4 --lr 0.003"

# trains NAME OPTION...
trains()
{
	how=$1
	shift
	# shellcheck disable=SC2086 # a list
	"$train" $model "$@" >"$tmp/out" 2>"$tmp/err" || fail "plain $how"
	losses >"$tmp/plain"
	# shellcheck disable=SC2086
	horizon-run --trace "$trace" --report "$tmp/report" -- "$train" \
		$model "$@" >"$tmp/out" 2>"$tmp/err" ||
		fail "$how: $(cat "$tmp/err")"
	losses | cmp - "$tmp/plain" >&2 || fail "$how: other losses"
	[ -s "$tmp/plain" ] || fail "$how: no losses"
	for other in "$trace".*; do
		[ ! -e "$other" ] || fail "$how: a second trace"
	done
	agrees "$how"
	grep -q ' LAUNCH ' "$tmp/events" || fail "$how: no launch"
	horizon-replay -P lru --vram 64M "$trace" >"$tmp/replayed" 2>&1 ||
		fail "$how: not replayed: $(cat "$tmp/replayed")"
}

trains arena
trains tensor --alloc tensor
trains pool --alloc pool
trains graph --graph --alloc tensor

# Every family of allocations, and eight threads at once.
horizon-run --trace "$trace" --report "$tmp/report" -- \
	"$(program conformance.cuda)" alone >"$tmp/out" 2>"$tmp/err" ||
	fail "conformance: $(cat "$tmp/err")"
agrees conformance many

# A place where no file can be made is said once, and nothing else changes.
LD_PRELOAD=$HORIZON_PRELOAD HORIZON_TRACE_FILE=$tmp/none/trace \
	"$(program watched)" </dev/null >"$tmp/out" 2>"$tmp/err" ||
	fail "no trace, no program"
grep -q ready "$tmp/out" || fail "no trace: $(cat "$tmp/out")"
grep -c "^horizon: trace: $tmp/none/trace: cannot be made" "$tmp/err" |
	grep -qx 1 || fail "no trace: $(cat "$tmp/err")"

# Killed: 20 launches of the last 12 MiB of an arena, and a copy to the last 4 of
# them.
mkfifo "$tmp/in"
rm -f "$trace"
LD_PRELOAD=$HORIZON_PRELOAD HORIZON_TRACE_FILE=$trace \
	"$(program watched)" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
child=$!
exec 7>"$tmp/in"
tries=600
until "$(program trace_events)" "$trace" >"$tmp/events" 2>/dev/null &&
	grep -q ' COPY ' "$tmp/events"; do
	tries=$((tries - 1))
	[ "$tries" -gt 0 ] || {
		kill -9 "$child"
		fail "nothing was written: $(cat "$tmp/err")"
	}
	sleep 0.1
done
kill -9 "$child"
exec 7>&-
wait "$child" 2>/dev/null
"$(program trace_events)" "$trace" >"$tmp/events" || fail "killed: no trace"
awk '
$2 == "ALLOC" { bytes[$3] = $4 }
$2 == "LAUNCH" { n++; split($5, use, ":"); id = use[1]; how = use[2] }
$2 == "COPY" { copied = bytes[$3]; moved = $4; to = $5 }
END {
	exit n != 20 || bytes[id] != 12582912 || how != 3 ||
		copied != 4194304 || moved != 1048576 || to != 0
}' "$tmp/events" || {
	cat "$tmp/events" >&2
	fail "not what was done"
}
