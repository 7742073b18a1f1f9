#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A private redis-server: values of many sizes, a snapshot by fork while
# another database and the values themselves are written to, then a second
# server from the snapshot. Prints the digest of the data before, after the
# writes, and from the snapshot, which is that of before.
set -u

sock=./redis.sock
server=
# The tools' package holds the server too, under another name.
redis=$(command -v redis-server) || {
	redis=./redis-server
	ln -s "$(command -v redis-check-rdb)" $redis
}

cli()
{
	redis-cli -s $sock "$@"
}

start()
{
	"$redis" --port 0 --unixsocket $sock --save "" --appendonly no \
		--enable-debug-command yes --dbfilename dump.rdb --dir . \
		--logfile server.log --daemonize no &
	server=$!
	for _ in $(seq 600); do
		[ "$(cli ping 2>/dev/null)" = PONG ] && return
		sleep 0.1
	done
	echo "redis-server does not answer"
	tail server.log
	exit 1
}

stop()
{
	cli shutdown nosave >/dev/null 2>&1
	wait $server
	echo "server ended with $?"
}

commands()
{
	perl -e '
	sub set {
		print "*3\r\n", map { "\$" . length($_) . "\r\n$_\r\n" }
			"SET", @_;
	}
	set("small:$_", "v$_." x ($_ % 40 + 1)) for 1 .. 20000;
	set("big:$_", substr("$_," x 350000, 0, 700000)) for 1 .. 160;'
}

# In the middle of each big value, so that the child's copy differs.
overwrite()
{
	perl -e '
	print "*4\r\n", map { "\$" . length($_) . "\r\n$_\r\n" }
		"SETRANGE", "big:$_", 350000, "while it was saved $_"
		for 1 .. 160;'
}

snapshot()
{
	redis-benchmark -s $sock --dbnum 1 -t set,lpush -n 20000 -r 1000 -q \
		>/dev/null 2>&1 &
	local load=$!

	cli bgsave
	overwrite | cli --pipe | tail -n 1
	for _ in $(seq 1200); do
		[ "$(cli info persistence | tr -d '\r' |
			sed -n 's/^rdb_bgsave_in_progress://p')" = 0 ] && break
		sleep 0.1
	done
	wait $load
	cli info persistence | tr -d '\r' | grep '^rdb_last_bgsave_status'
}

trap 'kill $server 2>/dev/null' EXIT
start
commands | cli --pipe | tail -n 1
for i in 3 77 150; do
	cli setrange "big:$i" 350000 "changed$i"
done
cli debug digest
snapshot
cli -n 1 flushdb
cli debug digest
stop
start
cli -n 1 flushdb >/dev/null
cli dbsize
cli debug digest
cli getrange big:77 349990 350020
stop
rm -f server.log dump.rdb redis-server
