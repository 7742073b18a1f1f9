#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copies of pages that left fill the headroom below a cgroup's limit: they save
# reads, the kernel takes them back when somebody needs memory, and what it has
# taken is read from the store. Pages that are read on a guess come there, too.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/group-functions.sh"
need_move
need_group $((176 << 20))

# scattered OPTION...: in the order $order.
order=random
scattered()
{
	in_group horizon-run --store "$store" --report "$report" --ram 100% \
		"$@" -- "$programs/leftovers" $order >"$tmp/out" 2>"$tmp/err"
}

scattered || fail "status $?: $(tail -n 1 "$tmp/err")"
saved=$(member left_faults)
[ "$saved" -gt 1000 ] || fail "only $saved reads were saved"

# Of pages with one row eight take the memory of one: each is read once.
order=rows
scattered || fail "status $?: $(tail -n 1 "$tmp/err")"
saved=$(member left_faults)
reads=$(member faults)
[ "$saved" -gt $((2 * reads)) ] ||
	fail "$saved reads of packed pages were saved, $reads were not"

order=again
scattered || fail "status $?: $(tail -n 1 "$tmp/err")"
guessed=$(member guessed_reads)
[ "$guessed" -gt 2000 ] || fail "only $guessed pages were guessed"
order=random

scattered --set headroom=8M || fail "status $?: $(tail -n 1 "$tmp/err")"
[ "$(member left_faults)" -eq 0 ] || fail "copies without a headroom for them"
[ "$(member guessed_reads)" -eq 0 ] || fail "guesses without a place for them"

# A neighbour takes all that the budget leaves, again and again.
scattered &
pid=$!
children="$children $pid"
turns=0
while kill -0 $pid 2>/dev/null && [ $turns -lt 200 ]; do
	in_group "$sweep" -m 48 -t 1 -p 1 >/dev/null ||
		fail "the neighbour was killed"
	turns=$((turns + 1))
done
status=0
wait "$pid" || status=$?
[ "$status" -eq 0 ] || fail "status $status beside a neighbour"
silent_on err
[ "$(member poisoned_blocks)" -eq 0 ] || fail "content was lost"
