#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# While a trace is recorded one launch in 64 is timed by events on its stream,
# whatever form the launch has. Each time in the trace is of a launch that
# came before, under its name; the kernel that takes 20 ms takes several times
# as long as the one that does nothing, and horizon-replay reckons with that.
# Captures stay valid, contexts end with no event left, 8 threads launch, a
# failure of an event is never the program's, and without a trace nothing is
# asked of the driver.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_driver
command -v horizon-replay >/dev/null || skip "no horizon-replay"
TEST_MODULE=$here/.libs/libslowmodule.so
[ -r "$TEST_MODULE" ] || TEST_MODULE=$here/libslowmodule.so
LD_LIBRARY_PATH=$tmp/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH TEST_MODULE

# timed WHAT...: the program, whose trace is in $tmp/trace if one is wanted.
timed()
{
	rm -f "$tmp/trace"
	LD_PRELOAD=$HORIZON_PRELOAD timeout 120 "$(program timed)" "$@" \
		>"$tmp/out" 2>"$tmp/err" || fail "$*: $(cat "$tmp/err")"
}

silent()
{
	[ ! -s "$tmp/err" ] || fail "$1: $(cat "$tmp/err")"
}

# events WHAT LEAST: there are so many times, of what was launched.
events()
{
	"$(program trace_events)" "$tmp/trace" >"$tmp/events" ||
		fail "$1: the trace cannot be read"
	awk -v least="$2" '
	$2 == "LAUNCH" && $3 != 4294967295 { name[n++] = $3 }
	$2 == "TIME" {
		times++
		if ($5 < 1 || $5 > n || name[n - $5] != $3 || seen[n - $5]++) {
			print "line " NR ": no such launch, or again: " $0
			bad = 1
		}
	}
	END {
		print n + 0 " launches, " times + 0 " times, " least " at least"
		exit bad || times < least || times > n / 64 + 1
	}' "$tmp/events" >"$tmp/said" || fail "$1: $(cat "$tmp/said")"
}

timed untimed
silent untimed

HORIZON_TRACE_FILE=$tmp/trace
export HORIZON_TRACE_FILE

timed names
silent names
events names 8
# The median of each kernel for its launches that were not timed.
awk '
$2 == "LAUNCH" { n[$3]++ }
$2 == "TIME" { own += $4; timed[$3]++; ns[$3, timed[$3]] = $4 }
END {
	for (k = 1; k <= 2; k++)
		for (i = 2; i <= timed[k]; i++)
			for (j = i; j > 1 && ns[k, j] < ns[k, j - 1]; j--) {
				swap = ns[k, j]
				ns[k, j] = ns[k, j - 1]
				ns[k, j - 1] = swap
			}
	if (!timed[1] || !timed[2])
		exit 1
	print "least", ns[2, 1], ns[1, 1]
	for (k = 1; k <= 2; k++)
		own += (n[k] - timed[k]) * ns[k, int(timed[k] / 2) + 1]
	print "sum", own / 1e9
}' "$tmp/events" >"$tmp/said" || fail "names: not both kernels were timed"
# quick is launched first
awk '$1 == "least" { exit !($2 >= 2e7 && $2 > 4 * $3) }' "$tmp/said" ||
	fail "names: slow and quick: $(cat "$tmp/said")"
horizon-replay -J -P lru --vram 64M "$tmp/trace" >"$tmp/replayed" \
	2>"$tmp/err" || fail "not replayed: $(cat "$tmp/err")"
silent replay
awk -v sum="$(sed -n 's/^sum //p' "$tmp/said")" '
match($0, /"ideal_seconds":[^,}]*/) {
	s = substr($0, RSTART + 16, RLENGTH - 16)
}
END { exit !(s > 0.99 * sum && s < 1.01 * sum) }' "$tmp/replayed" ||
	fail "$(cat "$tmp/said"), but $(cat "$tmp/replayed")"

timed forms
silent forms
events forms 9
# Graphs have numbers of their own, above those of kernels.
awk '$2 == "TIME" && $3 > 4096 { n++ } END { exit n < 2 }' "$tmp/events" ||
	fail "forms: no graph was timed"
timed captures
silent captures
events captures 6
timed contexts
silent contexts
events contexts 8
timed unseen
silent unseen
timed threads
silent threads
events threads 20
timed forks
silent forks
events forks 1

for rule in cuEventCreate:2:2 cuEventRecord:1:999 cuEventRecord:2:999 \
	cuEventQuery:1:999 cuEventElapsedTime:1:1; do
	timed failure "$rule"
	grep -c '^horizon: gpu: launches in a context are not timed any more' \
		"$tmp/err" | grep -qx 1 || fail "$rule: $(cat "$tmp/err")"
	[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "$rule: $(cat "$tmp/err")"
	events "$rule" 1
done
