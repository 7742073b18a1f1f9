#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command's own status passes through; 125, 126, 127 are ours; all of it
# the same with and without --report.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
any_preload

printf '#!/bin/sh\nexit 0\n' >"$tmp/not-executable"

for report in '' "--report $tmp/report"; do
	run 0 horizon-run $report true
	silent_on err
	run 1 horizon-run $report false
	run 42 horizon-run $report -- sh -c 'exit 42'
	run 126 horizon-run $report "$tmp/not-executable"
	one_line
	run 126 horizon-run $report /
	one_line
	run 127 horizon-run $report "$tmp/absent"
	one_line
	run 127 horizon-run $report no-such-command-anywhere
	one_line
	says err '^horizon-run: no-such-command-anywhere: '
	run 125 horizon-run $report --no-such-option true
	one_line
	run 137 horizon-run $report sh -c 'kill -KILL $$'
done

# Without a report there is no process in between.
horizon-run sh -c 'echo $$ >"$1"; exec sleep 60' sh "$tmp/pid" &
children="$children $!"
wait_for test -s "$tmp/pid"
[ "$(cat "$tmp/pid")" -eq $! ] || fail "the command is another process"

# Options end at the command, and at --.
run 0 horizon-run sh -c 'echo "$1"' sh --help
says out '^--help$'
run 0 horizon-run -- sh -c 'echo "$1"' sh --version
says out '^--version$'

run 0 horizon-run --help
says out '^Usage: horizon-run '
silent_on err
run 0 horizon-run --version
says out '^horizon-run \(Horizon\) [0-9]'
if [ -w /dev/full ]; then
	status=0
	horizon-run --help >/dev/full 2>"$tmp/err" || status=$?
	[ "$status" -eq 125 ] || fail "lost output gave $status"
fi
