#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# redis-server at 60 % of its data: a snapshot by fork while all values are
# changed, and again. Memory that the two processes share may go over the
# budget; when the child is gone, the server is back in it, and stays there
# when all of its data is read.
. "${top_srcdir:?}/tests/real/functions.sh"
# The tools' package holds the server too, under another name.
redis=$(command -v redis-server) || redis=
if [ -z "$redis" ]; then
	need_package redis-check-rdb redis-tools
	redis=$work/redis-server
	ln -s "$(command -v redis-check-rdb)" "$redis"
fi
need_package redis-cli redis-tools
need_move

values=150 bytes=700000 ram=64
socket=$work/socket

cli()
{
	redis-cli -s "$socket" "$@"
}

answers()
{
	[ "$(cli ping 2>/dev/null)" = PONG ]
}

# write TEXT: all values, each begins with it.
write()
{
	awk -v text="$1" -v values=$values -v bytes=$bytes 'BEGIN {
		while (length(fill) < bytes)
			fill = fill == "" ? "some text, " : fill fill
		for (i = 1; i <= values; i++)
			print "set value:" i " \"" substr(text i ": " fill, \
				1, bytes) "\""
	}' | cli >"$tmp/out" || fail "redis-cli"
	[ "$(grep -c '^OK$' "$tmp/out")" -eq $values ] || fail "not all set"
}

no_child()
{
	cli info persistence | grep -q '^rdb_bgsave_in_progress:0'
}

saved()
{
	cli info persistence | grep -q '^rdb_last_bgsave_status:ok'
}

resident()
{
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$server/status"
}

# What is no tensor of ours: 64 MiB are enough for the server's own.
in_budget()
{
	cli debug digest >"$tmp/digest"
	[ "$(resident)" -lt $(((ram + 64) * 1024)) ]
}

horizon-run --ram ${ram}M --set min_size=256K --store "$store" \
	--report "$report" -- "$redis" --port 0 --unixsocket "$socket" \
	--save "" --appendonly no --enable-debug-command yes --dir "$work" \
	--daemonize no >"$tmp/log" 2>"$tmp/err" &
children=$!
wait_for answers
server=$(cli info server | tr -d '\r' | sed -n 's/^process_id://p')
write first
in_budget || fail "$(resident) KiB resident before any fork"
for text in second third; do
	before=$(cli debug digest)
	cli bgsave >/dev/null
	write $text
	wait_for no_child
	saved || fail "the snapshot failed"
	wait_for in_budget
done
echo "resident after two snapshots: $(resident) KiB, budget $ram MiB"
cli shutdown nosave >/dev/null 2>&1 || :
wait $children || fail "the server ended with $?"
children=
[ "$(member resident_bytes)" -le $((ram * 1048576)) ] ||
	fail "$(member resident_bytes) bytes resident in the end"
[ "$(member write_bytes)" -gt 0 ] || fail "nothing left RAM"
[ "$(member forks)" -ge 2 ] || fail "$(member forks) forks"
[ "$(member poisoned_blocks)" -eq 0 ] || fail "poisoned blocks"
echo "peak $(($(member peak_bytes) / 1048576)) MiB"

# The snapshot has what was there when it was begun.
"$redis" --port 0 --unixsocket "$socket" --dir "$work" --appendonly no \
	--enable-debug-command yes --daemonize no >"$tmp/log" 2>&1 &
children=$!
wait_for answers
[ "$(cli debug digest)" = "$before" ] || fail "another snapshot"
cli shutdown nosave >/dev/null 2>&1 || :
wait $children || fail "the second server ended with $?"
children=
