#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --ram is what the kernel counts, not what we believe: four times the budget
# is swept by several threads, and /proc is looked at all the while. What is
# freed goes back to the machine.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move

mib=1048576
for ram in 64 128; do
	args="-m $((ram * 4)) -t 4 -p 3"
	# shellcheck disable=SC2086
	plain $args
	# shellcheck disable=SC2086
	run 0 horizon-run --ram ${ram}M --store "$store" --report "$report" \
		--set decay_ms=200 "$sweep" $args -w -f 48
	silent_on err
	sed -n 1p "$tmp/out" | cmp -s - "$tmp/plain" || fail "other output"
	peak=$(sed -n 's/^peak \([0-9]*\) KiB/\1/p' "$tmp/out")
	[ "$peak" -gt $((ram * 512)) ] || fail "peak $peak KiB: no sweep"
	[ "$peak" -lt $(((ram + 64) * 1024)) ] ||
		fail "$peak KiB resident with --ram ${ram}M"
	for line in capacity_bytes resident_bytes peak_bytes; do
		[ "$(member $line)" -le $((ram * mib)) ] ||
			fail "$line is $(member $line) with --ram ${ram}M"
	done
	difference=$((peak * 1024 - $(member peak_bytes)))
	[ "$difference" -gt $((-32 * mib)) ] &&
		[ "$difference" -lt $((32 * mib)) ] ||
		fail "peak: $peak KiB in /proc, $(member peak_bytes) reported"
	[ "$(member over_budget)" -eq 0 ] || fail "over the budget"
	[ "$(member write_bytes)" -gt 0 ] || fail "nothing was written"
done
[ -z "$(ls -A "$store")" ] || fail "something was left in the store"
