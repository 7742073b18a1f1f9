#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Without huge pages frames are small pages: blocks move all the same, the
# program computes the same, and one line says what would make it faster.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move
small=$programs/no_huge_pages
"$small" true || skip "huge pages cannot be turned off for a process"

args="-m 128 -t 2 -p 2"
lines=1
# shellcheck disable=SC2086
plain $args
for io in uring threads; do
	# shellcheck disable=SC2086
	same 0 horizon-run --ram 64M --store "$store" --set io=$io --verify \
		--report "$report" "$small" "$sweep" $args
	[ "$(member fault)" = move ] || fail "$io: no tiering"
	[ "$(member write_bytes)" -gt 0 ] || fail "$io: nothing was written"
	[ "$(member poisoned_blocks)" -eq 0 ] || fail "$io: blocks were lost"
	says err '^horizon: frames: huge pages are off here: .*echo madvise'
done

run 0 "$small" horizon-run --check --store "$store" ||
	fail "--check takes it for broken"
says out '^huge pages +poor +off for this process; frames are 4 KiB pages'
says out '^ +try: .*PR_SET_THP_DISABLE'
