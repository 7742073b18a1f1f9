#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fio writes and reads a file with O_DIRECT and checks what comes back, by way
# of buffers that are tiered and together larger than the budget: devices read
# and write memory that has just left RAM or is about to. With TEST_SHORT, one
# engine.
#
# Registered buffers are pinned for as long as fio runs: all of them stay, over
# the budget, and one line says so.
#   moves  bytes must have left RAM and come back
#   pins   nothing need
jobs()
{
	echo moves --ioengine=io_uring --iomem=malloc --rw=randrw
	[ -z "${TEST_SHORT-}" ] || return
	cat <<-'END'
	moves --ioengine=libaio --iomem=malloc --rw=randwrite
	moves --ioengine=libaio --iomem=mmap --rw=write
	moves --ioengine=psync --iomem=malloc --rw=randwrite --thread=1 --numjobs=2 --iodepth=1 --bs=48M --size=96M
	pins --ioengine=io_uring --iomem=malloc --rw=randwrite --fixedbufs=1 --registerfiles=1
	END
}

. "${top_srcdir:?}/tests/real/functions.sh"
need_package fio fio
need_move

file()
{
	# shellcheck disable=SC2086 # options
	run 0 timeout -k 5 120 horizon-run $small --store "$store" \
		--report "$report" -- \
		fio --name=file --directory="$work" --direct=1 --thread=1 \
		--size=96M --bs=2M --iodepth=64 --randseed=1 \
		--verify=crc32c --verify_fatal=1 --do_verify=1 \
		--verify_state_save=0 "$@"
	rm -f "$work"/file.*
	! grep -Ei 'verify: bad|error=|poison' "$tmp/out" "$tmp/err" ||
		fail "fio $*"
	grep -Eq 'err= 0' "$tmp/out" || fail "no result: fio $*"
}

# Only a refusal of the engine by the system, tried without Horizon.
works_plainly()
{
	fio --name=try --directory="$work" --direct=1 --thread=1 --size=4M \
		--bs=2M --rw=write "$1" >/dev/null 2>&1 &&
		rm -f "$work"/try.*
}

done_any=
jobs >"$tmp/jobs"
while read -r kind engine options <&3; do
	works_plainly "$engine" || {
		echo "skip $engine: fio does not run with it here"
		continue
	}
	# shellcheck disable=SC2086 # options
	file "$engine" $options
	case $kind in
	moves) must_have_moved "fio $engine $options" ;;
	pins) ;;
	esac
	# What devices use at one time may be more than the budget.
	! grep -v 'budget exceeded' "$tmp/err" || fail "fio $engine $options"
	echo "ok $engine $options: $(mib store.write_bytes) written," \
		"$(mib store.read_bytes) read, $(total evictions.busy) busy"
	done_any=1
done 3<"$tmp/jobs"
[ -n "$done_any" ] || skip "no engine of fio works with O_DIRECT here"
