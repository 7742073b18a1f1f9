#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reports by interval: since the start first, then what each interval brought.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
need horizon-stat
start_fake

columns='-o pid,out/s,in/s,dem/s,written'

# Rows come out at once; one of those after the first shows the new moves.
: >"$tmp/out"
horizon-stat -p "$fake" $columns 1 4 >"$tmp/out" 7>&- &
stat=$!
children="$children $stat"
wait_for grep -q "$fake" "$tmp/out"
echo 100 >&7
wait "$stat" || fail "horizon-stat failed"
[ "$(grep -c " $fake " "$tmp/out")" -eq 4 ] || fail "not four rows"
awk -v pid="$fake" '
	$1 != pid { next }
	{ rows++ }
	rows == 1 && ($2 == 0 || $3 != 0) { exit 1 }
	rows > 1 && $2 != 0 { exit 1 }
	rows > 1 { moved += $3; faults += $4 }
	$5 != 48 { exit 1 }
	END { if (!moved || !faults) exit 1 }' "$tmp/out" ||
	fail "not the rates of each interval"

# The header comes again after a screenful, unless told not to.
run 0 env LINES=6 horizon-stat -p "$fake" 0.05 8
[ "$(grep -c command "$tmp/out")" -eq 3 ] || fail "not three headers"
run 0 env LINES=6 horizon-stat -n -p "$fake" 0.05 8
[ "$(grep -c command "$tmp/out")" -eq 1 ] || fail "not one header"

# Without the first report only idle intervals are left, and -z hides those.
run 0 horizon-stat -y -p "$fake" $columns 0.05 2
awk -v pid="$fake" '$1 == pid && $2 + $3 + $4 != 0 { exit 1 }' "$tmp/out" ||
	fail "-y shows what was before"
[ "$(grep -c " $fake " "$tmp/out")" -eq 2 ] || fail "not two rows"
run 0 horizon-stat -y -z -p "$fake" 0.05 2
silent_on out
run 0 horizon-stat -J -p "$fake" 0.05 3
[ "$(wc -l <"$tmp/out")" -eq 3 ] || fail "not three objects"

# It ends with the last process.
: >"$tmp/rows"
horizon-stat -p "$fake" 0.1 >"$tmp/rows" 7>&- &
stat=$!
children="$children $stat"
wait_for grep -q "$fake" "$tmp/rows"
exec 7>&-
wait "$stat" || fail "no end with the last process"
