#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The store loses bytes behind our back. What cannot be read is never handed
# out: SIGBUS, and a line that names the block and the error. With `verify`
# the same holds for what can be read but is not what was written.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move
need dd

args="-m 224 -t 2 -p 2"
hold=$tmp/hold
file=$store/named

# damaged STATUS HOW OPTION...: the program is held after its first pass, HOW
# is done to the store's file, and the program goes on.
damaged()
{
	want=$1 how=$2
	shift 2
	rm -f "$file" "$report"
	# shellcheck disable=SC2086
	horizon-run --ram 64M --store "$file" --store-size 512M \
		--report "$report" "$@" "$sweep" $args -h "$hold" \
		>"$tmp/out" 2>"$tmp/err" &
	pid=$!
	children="$children $pid"
	wait_for test -e "$hold"
	$how
	rm "$hold"
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq "$want" ] || fail "$how: status $status"
	valid_json "$report"
}

cut()
{
	dd if=/dev/null of="$file" bs=1 count=0 2>/dev/null
}

# A byte in each of the slots that were written.
flip()
{
	i=0
	while [ $i -lt 60 ]; do
		printf '\252' | dd of="$file" bs=1 seek=$((i * 2097152 + 4321)) \
			conv=notrunc 2>/dev/null
		i=$((i + 1))
	done
	sync "$file"
}

leave() { :; }

damaged 0 leave
silent_on err

# Nothing is written any more, so the file stays short: SIGBUS.
for io in uring threads; do
	damaged 135 cut --set io=$io --set write_cap=96M
	says err '^horizon: store: .*block.*0x.*Input/output error'
	[ "$(member poisoned_blocks)" -gt 0 ] || fail "no poisoned block"
	[ "$(member errors)" -gt 0 ] || fail "no error was counted"
done

# Our own writes make it long again: a hole is never what was written.
damaged 135 cut
says err '^horizon: store: .*block.*0x'

# A byte is another one: it takes `verify` to know. The damage is real:
# without, the program sees it.
damaged 1 flip
damaged 135 flip --verify
says err '^horizon: store: .*block.*0x'
[ "$(member poisoned_blocks)" -gt 0 ] || fail "no poisoned block"
