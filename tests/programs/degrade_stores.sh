#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stores of every kind, and what goes wrong with them: the program computes the
# same, and the report has the mode and the reason; see degrade_matrix.sh.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/degrade-functions.sh"

# ---- stores; horizon-run refuses some of them by itself ----
[ -w /dev/shm ] && cell "tmpfs" move uring "" env HORIZON_STORE=/dev/shm
cell "a new file" move uring "" \
	env HORIZON_STORE="$store/new.store" HORIZON_STORE_SIZE=512M
[ -f "$store/new.store" ] || fail "the named store was removed"
cell "an old file" move uring "" env HORIZON_STORE="$store/new.store"
for bad in "$store/missing/deep" /proc /dev/null /dev/tty; do
	cell "store $bad" off off "store" env HORIZON_STORE="$bad"
done
if [ "$(id -u)" -eq 0 ] && mkdir "$store/ro" &&
	mount -t tmpfs -o ro none "$store/ro" 2>/dev/null; then
	defer umount "$store/ro"
	cell "read-only" off off "store" env HORIZON_STORE="$store/ro"
fi

# ---- no O_DIRECT ----
cell "no O_DIRECT" move uring "" "$refuse" -e EINVAL -s direct
said "O_DIRECT is off"
options="--set io=threads"
cell "no O_DIRECT, threads" move threads "" "$refuse" -e EINVAL -s direct
said "O_DIRECT is off"
options="--set direct=0"
cell "direct=0" move uring ""
options=

# ---- full ----
options="--store-size 32M"
cell "a small store" move uring ""
counted full over_budget
options="--set write_cap=16M"
cell "a cap on writes" move uring ""
counted over_budget
options="--store-size 512M"
if [ "$(id -u)" -eq 0 ] && mkdir "$store/small" &&
	mount -t tmpfs -o size=48m none "$store/small" 2>/dev/null; then
	defer umount "$store/small"
	cell "a full file system" move uring "" env HORIZON_STORE="$store/small"
	counted full over_budget
fi
options=

# ---- a disk with sectors of 4 KiB, as it is and under a file system ----
if [ "$(id -u)" -eq 0 ] && command -v losetup >/dev/null &&
	truncate -s 400M "$store/image" &&
	loop=$(losetup -f --show -b 4096 "$store/image" 2>/dev/null); then
	defer losetup -d "$loop"
	cell "4 KiB sectors" move uring "" env HORIZON_STORE="$loop"
	counted write_bytes
	mkdir "$store/ext4"
	if command -v mkfs.ext4 >/dev/null &&
		wait_for mkfs.ext4 -q -F -b 4096 "$loop" 2>/dev/null &&
		mount "$loop" "$store/ext4" 2>/dev/null; then
		defer umount "$store/ext4"
		options="--set io=threads"
		cell "4 KiB sectors, ext4" move threads "" \
			env HORIZON_STORE="$store/ext4"
		counted write_bytes
		options=
	fi
else
	echo "$name: no loop device with 4 KiB sectors: skipped" >&2
fi

# ---- errors of the device, and transfers that end early ----
faulty=$programs/.libs/libfaulty.so
if [ -r "$faulty" ]; then
	# HOW FAULTS
	while read -r how faults; do
		before="env HORIZON_PRELOAD=$faulty STORE_HOW=$how"
		before="$before STORE_FAULTS=$faults"
		options="--verify"
		cell "$how $faults" move uring ""
		counted write_bytes
		case $faults in
		*error*) counted errors ;;
		esac
		[ "$(member poisoned_blocks)" -eq 0 ] ||
			fail "$cell: blocks were lost"
	done <<-END
		threads read-error=7
		uring read-error=23,reorder=1,delay-us=300
		threads write-error=5
		uring full=20,delay-us=200
		pieces
		pieces read-error=11,write-error=13,reorder=1
	END
	before=
	options=
else
	echo "$name: no faulty store: it is linked as a shared library" >&2
fi

echo "$name: $done_cells cells"
