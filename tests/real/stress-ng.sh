#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# stress-ng checks the memory that it works on, under a budget of 64 MiB: clean
# is status 0 and no complaint, not even one about its counters. A stressor
# ends by its own count of operations. With TEST_SHORT, two of them; with
# TEST_LONG also one that takes most of the machine's memory.
#
# Not here: --brk. It writes below the first break, where there is memory only
# if the C library's malloc has put it there; with any other allocator it ends
# with SIGSEGV.
#
#   moves  bytes must have left RAM
#   stays  nothing need leave RAM: files, shared maps, locked memory
stressors()
{
	cat <<-'END'
	moves --vm 2 --vm-method all --vm-bytes 256M --vm-ops 100
	moves --mremap 1 --mremap-bytes 96M --mremap-ops 3
	END
	[ -z "${TEST_SHORT-}" ] || return
	cat <<-'END'
	moves --malloc 1 --malloc-bytes 8M --malloc-ops 200
	moves --bigheap 1 --bigheap-growth 4M --bigheap-ops 100
	moves --vm-rw 1 --vm-rw-bytes 128M --vm-rw-ops 2
	moves --memrate 1 --memrate-bytes 96M --memrate-ops 1
	stays --vm-splice 1 --vm-splice-bytes 128M --vm-splice-ops 100
	stays --pagemove 1 --pagemove-bytes 8M --pagemove-ops 1
	stays --madvise 1 --madvise-ops 5
	stays --mlock 1 --mlock-ops 500
	stays --fork 2 --fork-ops 300
	END
	[ -n "${TEST_LONG-}" ] || return
	echo stays --mmapfork 1 --mmapfork-ops 1
}

. "${top_srcdir:?}/tests/real/functions.sh"
need_package stress-ng stress-ng
need_move

stress()
{
	# shellcheck disable=SC2086 # options
	run 0 timeout -k 5 120 horizon-run $small --store "$store" \
		--report "$report" -- \
		stress-ng --temp-path "$work" --verify -v "$@"
	cat "$tmp/out" >>"$tmp/err"
	! grep -Ei 'fail|warn:|error:|child died|poison' "$tmp/err" \
		>"$tmp/out" || fail "stress-ng $*"
	grep -q 'successful run completed' "$tmp/err" ||
		fail "no end: stress-ng $*"
}

# A here-document, not a pipe: fail() must end the script.
stressors >"$tmp/stressors"
while read -r moves options <&3; do
	# shellcheck disable=SC2086 # options
	stress $options
	[ "$moves" = stays ] ||
		[ "$(total 'moves[0].bytes')" -gt 0 ] ||
		fail "nothing left RAM: stress-ng $options"
	echo "ok $options: $(mib 'moves[0].bytes') left RAM," \
		"$(mib 'moves[1].bytes') came back"
done 3<"$tmp/stressors"
