#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same sweep under settings that nobody would choose. A setting that does
# not work here is left off with a line, and the output is the same.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move

args="-m 192 -t 3 -p 3"
# shellcheck disable=SC2086
plain $args
lines=1
while read -r settings; do
	set --
	for word in $settings; do
		set -- "$@" --set "$word"
	done
	rm -f "$report"
	# shellcheck disable=SC2086
	same 0 horizon-run --ram 64M --store "$store" --report "$report" \
		"$@" "$sweep" $args
	[ "$(member fault)" = move ] || fail "$settings: off"
	[ "$(member write_bytes)" -gt 0 ] || fail "$settings: no tiering"
	[ "$(member poisoned_blocks)" -eq 0 ] || fail "$settings: lost blocks"
	[ "$(member over_budget)" -eq 0 ] || fail "$settings: over the budget"
done <<END
io=threads
io=threads io_threads=1 io_depth=1
io=threads io_threads=64
io=uring
sqpoll=1
iopoll=1
register_files=1
sqpoll=1 iopoll=1 register_files=1
direct=0
direct=0 io=threads
io_depth=1
io_depth=256
read_ahead=0
read_ahead=64
io_depth=1 read_ahead=64
free_frames=1
free_frames=4096
free_frames=1 io_depth=1 read_ahead=0
verify=1
verify=1 io=threads direct=0
min_size=64K min_map=64K
min_size=16M min_map=16M
reserve=1G
decay_ms=0
headroom=0
log=error
END

# The least RAM and many threads, more of them than frames.
plain -m 256 -t 48 -p 3
lines=0
for settings in io_depth=16 io_depth=1 io=threads; do
	same 0 horizon-run --ram 64M --store "$store" --report "$report" \
		--set $settings "$sweep" -m 256 -t 48 -p 3
	[ "$(member over_budget)" -eq 0 ] || fail "$settings: over the budget"
done

# One core: the engine's threads and the program's take turns.
if command -v taskset >/dev/null && taskset 1 true 2>/dev/null; then
	same 0 taskset 1 horizon-run --ram 64M --store "$store" \
		"$sweep" -m 256 -t 48 -p 3
fi
