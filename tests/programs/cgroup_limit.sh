#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a memory cgroup without swap the limit is death. With the default --ram
# a program that uses twice the limit lives, also when another process of the
# group grows meanwhile.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_root "a cgroup of its own"
need_move

limit=$((256 << 20))
v1=/sys/fs/cgroup/memory
if [ -f $v1/memory.limit_in_bytes ]; then
	own=$(sed -n 's/^[0-9]*:[^:]*memory[^:]*:\(.*\)/\1/p' \
		/proc/self/cgroup)
	group=$v1/horizon-test-$$
	mkdir "$group" 2>/dev/null || skip "cannot make a cgroup"
	back=$v1$own
	limit_file=memory.limit_in_bytes
elif grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
	group=/sys/fs/cgroup/horizon-test-$$
	mkdir "$group" 2>/dev/null || skip "cannot make a cgroup"
	back=/sys/fs/cgroup
	limit_file=memory.max
else
	skip "no memory cgroup"
fi
[ -d "$back" ] || back=${group%/*}

# Processes that end leave the group by themselves, later than their parent
# notices.
remove_group()
{
	for pid in $(cat "$group/cgroup.procs"); do
		echo "$pid" >"$back/cgroup.procs" 2>/dev/null || :
	done
	for i in 1 2 3 4 5 6 7 8 9 10; do
		rmdir "$group" 2>/dev/null && return
		sleep 0.2
	done
	echo "$name: $group is left" >&2
}
defer remove_group
[ -f "$group/$limit_file" ] || skip "the memory controller is not delegated"
echo $limit >"$group/$limit_file" || skip "cannot set a limit"
if [ -f "$group/memory.swap.max" ]; then
	echo 0 >"$group/memory.swap.max"
elif [ -f "$group/memory.swappiness" ]; then
	echo 0 >"$group/memory.swappiness"
fi

# in_group COMMAND...
in_group()
{
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh \
		"$group" "$@"
}

args="-m 512 -t 3 -p 3"
# shellcheck disable=SC2086
plain $args
# shellcheck disable=SC2086
same 0 in_group horizon-run --store "$store" --report "$report" "$sweep" $args
[ "$(member fault)" = move ] || fail "no tiering in the group"
[ "$(member capacity_bytes)" -le $((limit - (64 << 20))) ] ||
	fail "a budget of $(member capacity_bytes)"

# Another process takes 64 MiB when the program is in the middle, keeps them,
# and lets them go.
hold=$tmp/hold
# shellcheck disable=SC2086
in_group horizon-run --store "$store" --report "$report" \
	"$sweep" $args -h "$hold" >"$tmp/out" 2>"$tmp/err" &
pid=$!
children="$children $pid"
wait_for test -e "$hold"
in_group "$sweep" -m 64 -t 1 -p 1 -h "$tmp/other" >/dev/null &
other=$!
children="$children $other"
wait_for test -e "$tmp/other"
rm "$hold"
status=0
wait "$pid" || status=$?
[ "$status" -eq 0 ] || fail "status $status beside a growing neighbour"
cmp -s "$tmp/plain" "$tmp/out" || fail "other output"
silent_on err
rm "$tmp/other"
wait "$other" || fail "the neighbour was killed"
