#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stores of every kind: a disk with sectors of 4 KiB, with a file system and
# without, an overlay, a file system that is really full.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_root "loop devices"
need_move
need losetup
need mkfs.ext4

args="-m 192 -t 3 -p 2"
# shellcheck disable=SC2086
plain $args

image=$store/image
dd if=/dev/zero of="$image" bs=1M seek=640 count=0 2>/dev/null
loop=$(losetup -f --show -b 4096 "$image" 2>/dev/null) ||
	skip "no loop device with 4 KiB sectors"
defer losetup -d "$loop"

# on STORE OPTION...
on()
{
	place=$1
	shift
	# shellcheck disable=SC2086
	same 0 horizon-run --ram 64M --store "$place" --report "$report" \
		"$@" "$sweep" $args
	[ "$(member fault)" = move ] || fail "$place: no tiering"
	[ "$(member write_bytes)" -gt 0 ] || fail "$place: nothing written"
	[ "$(member errors)" -eq 0 ] || fail "$place: errors"
}

# The device itself, whole.
on "$loop"
on "$loop" --set io=threads
on "$loop" --set register_files=1
[ "$(member io)" = uring ] || fail "no io_uring on the device"

# In use already: the second is told so and runs without.
hold=$tmp/hold
# shellcheck disable=SC2086
horizon-run --ram 64M --store "$loop" "$sweep" $args -h "$hold" \
	>"$tmp/first" 2>&1 &
first=$!
children="$children $first"
wait_for test -e "$hold"
lines=2
# shellcheck disable=SC2086
same 0 env HORIZON_STORE="$loop" horizon-run --ram 64M \
	--report "$report" "$sweep" $args
[ "$(member fault)" = off ] || fail "two programs on one device"
says err 'in use'
rm "$hold"
wait "$first" || fail "the first program on the device failed"
cmp -s "$tmp/plain" "$tmp/first" || fail "the first one has other output"
lines=0

# A file system with sectors of 4 KiB.
mkdir "$store/ext4"
# The kernel lets go of the device a moment after the program's end.
wait_for sh -c 'mkfs.ext4 -q -b 4096 "$1" 2>/dev/null' sh "$loop"
mount "$loop" "$store/ext4" 2>/dev/null || skip "cannot mount ext4"
defer umount "$store/ext4"
on "$store/ext4"
on "$store/ext4" --set direct=0

# An overlay over it.
mkdir "$store/ext4/upper" "$store/ext4/work" "$store/lower" "$store/merged"
if mount -t overlay overlay -o \
	"lowerdir=$store/lower,upperdir=$store/ext4/upper,workdir=$store/ext4/work" \
	"$store/merged" 2>/dev/null; then
	defer umount "$store/merged"
	on "$store/merged"
	[ -z "$(ls -A "$store/merged")" ] || fail "left in the overlay"
else
	echo "$name: no overlay" >&2
fi

# It fills up while the program runs: sizes were promised, space is not there.
# The space of the stores before comes back a moment after their end.
room_mib()
{
	echo $(($(df -k --output=avail "$store/ext4" | tail -1) / 1024))
}
empty()
{
	sync
	[ "$(room_mib)" -gt 500 ]
}
wait_for empty
dd if=/dev/zero of="$store/ext4/ballast" bs=1M count=$(($(room_mib) - 60)) \
	2>/dev/null
lines=2
# shellcheck disable=SC2086
same 0 horizon-run --ram 64M --store "$store/ext4" --store-size 400M \
	--report "$report" "$sweep" $args
says err 'no space left'
[ "$(member full)" -gt 0 ] || fail "ENOSPC is not counted"
[ "$(member poisoned_blocks)" -eq 0 ] || fail "blocks were lost"
