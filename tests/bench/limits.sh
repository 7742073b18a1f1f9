# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# A memory cgroup and a swap file, for the scripts that measure under a limit;
# sourced by them. $tag names what is made, $swap_file is the file's name and
# $swap_mib its size. Who sources it calls swap_off and groups_off at its end.

groups=''

# fastText on text of words: all but -input, -output and -bucket. One thread:
# the model is the same, byte for byte, each time.
fasttext_options='-thread 1 -minCount 1 -epoch 1 -dim 100 -verbose 0'

swap_off()
{
	[ -e "$swap_file" ] || return 0
	swapoff "$swap_file" 2>/dev/null
	rm -f "$swap_file"
}

swap_on()
{
	dd if=/dev/zero of="$swap_file" bs=2M count=$((swap_mib / 2)) \
		oflag=direct status=none && chmod 600 "$swap_file" &&
		mkswap "$swap_file" >/dev/null &&
		swapon -p 32000 "$swap_file"
}

# v1, v2, or why there is none.
cgroup_kind()
{
	if [ "$(id -u)" -ne 0 ]; then
		echo "not root"
	elif [ -w /sys/fs/cgroup/memory/memory.limit_in_bytes ]; then
		echo v1
	elif grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null
	then
		echo v2
	else
		echo "no memory controller"
	fi
}
kind=$(cgroup_kind)

# cgroup NAME BYTES SWAP: make one; its directory in $cg.
cgroup()
{
	case $kind in
	v1)
		cg=/sys/fs/cgroup/memory/$tag-$1
		mkdir "$cg" || return
		echo "$2" >"$cg/memory.limit_in_bytes" || return
		[ "$3" = swap ] || [ ! -w "$cg/memory.memsw.limit_in_bytes" ] ||
			echo "$2" >"$cg/memory.memsw.limit_in_bytes"
		;;
	v2)
		echo +memory 2>/dev/null >/sys/fs/cgroup/cgroup.subtree_control
		cg=/sys/fs/cgroup/$tag-$1
		mkdir "$cg" && echo "$2" >"$cg/memory.max" || return
		[ "$3" = swap ] || echo 0 >"$cg/memory.swap.max"
		;;
	esac
	groups="$groups $cg"
}

groups_off()
{
	for cg in $groups; do
		rmdir "$cg" 2>/dev/null
	done
	groups=''
}

# Ticks that all processors worked so far.
busy_ticks()
{
	awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat
}
