#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --check on machines that are not here: in a mount namespace other files lie
# over those of the kernel.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/cli/check-functions.sh"
any_preload
need unshare
need mount
unshare -m true 2>/dev/null ||
	skip "no mount namespace of its own (that takes root)"

# What lies where: lines of "FILE PLACE".
: >"$tmp/mounts"

# put PLACE TEXT: a file of the kernel says TEXT in the next on().
put()
{
	[ -e "$1" ] || return 1
	file=$tmp/$(echo "$1" | tr / _)
	echo "$2" >"$file"
	echo "$file $1" >>"$tmp/mounts"
}

# on OPTION...: --check there; the machine is the usual one afterwards.
on()
{
	# shellcheck disable=SC2016
	unshare -m sh -c '
		mount --make-rprivate / || exit 99
		while read -r file place; do
			mount --bind "$file" "$place" || exit 99
		done <"$0"
		exec horizon-run --check "$@"' "$tmp/mounts" "$@" \
		>"$tmp/table" 2>"$tmp/err" && status=0 || status=$?
	[ "$status" -ne 99 ] || skip "cannot mount: $(cat "$tmp/err")"
	silent_on err
	cp "$tmp/table" "$tmp/out"
	: >"$tmp/mounts"
}

thp=/sys/kernel/mm/transparent_hugepage
if put $thp/enabled 'always madvise [never]'; then
	on
	says out '^huge pages +poor +never; frames are 4 KiB pages: it works'
	poor 'huge pages' poor "^ +try: echo madvise .*$thp/enabled\$"
	put $thp/enabled '[always] madvise never'
	put $thp/defrag 'always defer defer+madvise [madvise] never'
	on
	says out '^huge pages +ok +always, defrag madvise$'
	put $thp/enabled 'always [madvise] never'
	put $thp/defrag 'always defer defer+madvise madvise [never]'
	on
	says out '^huge pages +poor +madvise, defrag never'
	poor 'huge pages' poor 'echo defer.madvise .*defrag$'
	file=$tmp/none
	mkdir "$file"
	echo "$file $thp" >>"$tmp/mounts"
	on
	says out '^huge pages +poor +not in this kernel; frames are 4 KiB'
	poor 'huge pages' poor 'CONFIG_TRANSPARENT_HUGEPAGE'
fi

if put /proc/sys/vm/overcommit_memory 2; then
	on
	poor overcommit poor 'sysctl -w vm.overcommit_memory=0'
fi
if put /proc/sys/vm/max_map_count 1000; then
	on
	poor max_map_count poor 'sysctl -w vm.max_map_count=65530'
fi

if put /proc/meminfo 'MemTotal: 8388608 kB
SwapTotal: 1048576 kB'; then
	on --ram 50%
	says out '^memory +ok +8 GiB'
	says out '^swap +poor +1 GiB'
	poor swap poor 'swapoff'
fi

# Two nodes with processors, one of memory alone.
nodes=/sys/devices/system/node
balancing=/proc/sys/kernel/numa_balancing
if [ -d $nodes ]; then
	mkdir "$tmp/nodes"
	echo 0-2 >"$tmp/nodes/online"
	echo 0-1 >"$tmp/nodes/has_cpu"
	echo 0-2 >"$tmp/nodes/has_memory"
	for node in 0 1 2; do
		mkdir "$tmp/nodes/node$node"
		echo 10 21 31 >"$tmp/nodes/node$node/distance"
	done
	echo "$tmp/nodes $nodes" >>"$tmp/mounts"
	put $balancing 1 && balanced=1
	on --set numa=local
	says out '^NUMA +ok +3 nodes \(1 without processors\).*numa = local$'
	# what only libnuma reads
	for lib in /usr/lib/*/libnuma.so.1 /usr/lib64/libnuma.so.1; do
		[ ! -e "$lib" ] ||
			says out '^NUMA .*, distance up to [23]1, numa'
	done
	[ -z "${balanced:-}" ] ||
		poor 'NUMA balancing' poor 'kernel.numa_balancing=0'
	# with one node it is nobody's business
	if put $balancing 1; then
		mkdir "$tmp/node"
		echo 0 >"$tmp/node/online"
		echo "$tmp/node $nodes" >>"$tmp/mounts"
		on
		says out '^NUMA +ok +1 node'
		says out '^NUMA balancing +ok +on'
	fi
fi

# A store in memory, and one on an overlay.
mkdir "$tmp/lower" "$tmp/upper" "$tmp/work" "$tmp/merged"
# shellcheck disable=SC2016
if unshare -m sh -c '
	mount -t overlay overlay -o \
	"lowerdir=$0/lower,upperdir=$0/upper,workdir=$0/work" "$0/merged" &&
	{ horizon-run --check --store "$0/merged" >"$0/table"; :; }' \
	"$tmp" 2>/dev/null; then
	poor store poor 'docker run -v'
	[ -z "$(ls -A "$tmp/upper")" ] || fail "left in the overlay"
fi
# shellcheck disable=SC2016
if unshare -m sh -c 'mount -t tmpfs none "$0/merged" &&
	{ horizon-run --check --store "$0/merged" >"$0/table"; :; }' \
	"$tmp" 2>/dev/null; then
	poor store poor 'tmpfs is RAM'
fi
