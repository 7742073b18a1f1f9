#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a memory cgroup 100 % is its limit, and --check says so.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/cli/check-functions.sh"
any_preload
[ "$(id -u)" -eq 0 ] || skip "a cgroup of its own needs root"

v1=/sys/fs/cgroup/memory
if [ -f $v1/memory.limit_in_bytes ]; then
	group=$v1/horizon-check-$$ limit_file=memory.limit_in_bytes version=1
elif grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
	group=/sys/fs/cgroup/horizon-check-$$ limit_file=memory.max version=2
else
	skip "no memory cgroup"
fi
mkdir "$group" 2>/dev/null || skip "cannot make a cgroup"

# The last process in it is gone a moment later than its parent notices.
remove_group()
{
	for i in 1 2 3 4 5 6 7 8 9 10; do
		rmdir "$group" 2>/dev/null && return
		sleep 0.2
	done
	echo "$name: $group is left" >&2
}
trap 'clean_up; remove_group' EXIT
[ -f "$group/$limit_file" ] || skip "the memory controller is not delegated"

# limited MIB OPTION...: --check in a group with that limit
limited()
{
	echo $(($1 << 20)) >"$group/$limit_file" || skip "cannot set a limit"
	shift
	# shellcheck disable=SC2016
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \
		horizon-run --check "$@" >"$tmp/table" 2>"$tmp/err" || :
	silent_on err
	cp "$tmp/table" "$tmp/out"
}

limited 512
says out "^memory limit +ok +512 MiB \\(cgroup v$version\\)"
says out "^RAM budget +ok +409\\.[0-9] MiB: 80% of the cgroup's limit\$"
says out '^mode: .* ram=409\.[0-9]MiB '
limited 512 --show
says out '^ram +80% +built-in, 409\.[0-9] MiB here$'
limited 512 --ram 100%
says out "^RAM budget +ok +448 MiB: 100% of the .*, less the headroom"
limited 512 --ram 100% --set headroom=200M
says out '^RAM budget +ok +312 MiB: 100% of the '
limited 512 --ram 2G
says out '^RAM budget +ok +448 MiB: ram = 2G, less the headroom'
limited 100
poor 'memory limit' poor 'docker run --memory'
poor 'RAM budget' poor 'memory limit'
