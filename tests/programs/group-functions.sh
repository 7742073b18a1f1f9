# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced after sweep-functions.sh by those that need a memory cgroup of their
# own: need_group BYTES makes one of that limit and without swap, in_group
# COMMAND... runs in it.

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

v1=/sys/fs/cgroup/memory
make_group()
{
	if [ -f $v1/memory.limit_in_bytes ]; then
		own=$(sed -n 's/^[0-9]*:[^:]*memory[^:]*:\(.*\)/\1/p' \
			/proc/self/cgroup)
		group=$v1/horizon-test-$$
		back=$v1$own
		limit_file=memory.limit_in_bytes
	elif grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
		group=/sys/fs/cgroup/horizon-test-$$
		back=/sys/fs/cgroup
		limit_file=memory.max
	else
		skip "no memory cgroup"
	fi
	mkdir "$group" 2>/dev/null || skip "cannot make a cgroup"
	[ -d "$back" ] || back=${group%/*}
	defer remove_group
}

need_group()
{
	need_root "a cgroup of its own"
	make_group
	[ -f "$group/$limit_file" ] ||
		skip "the memory controller is not delegated"
	echo "$1" >"$group/$limit_file" || skip "cannot set a limit"
	if [ -f "$group/memory.swap.max" ]; then
		echo 0 >"$group/memory.swap.max"
	elif [ -f "$group/memory.swappiness" ]; then
		echo 0 >"$group/memory.swappiness"
	fi
}

in_group()
{
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh \
		"$group" "$@"
}
