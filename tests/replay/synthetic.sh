#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A step from shapes, the page and the plan that come of it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

spec=gpt:layers=8,hidden=2048,seq=1024,batch=32,place=gpu
horizon-replay -J --synth $spec --profile rtx4090 --vram 6G \
	--html "$tmp/page" --write-plan "$tmp/plan" >"$tmp/out" 2>"$tmp/err" ||
	fail "status $?"
tokens=$(member tokens_per_second "$tmp/out")
holds "$tokens > 0" || fail "no tokens"
moved=$(member bytes_moved "$tmp/out")
holds "$moved > 0" || fail "nothing had to be moved"

grep -q '</html>' "$tmp/page" || fail "the page is not whole"
grep -q '<rect' "$tmp/page" || fail "the page has no picture"
grep -Eq 'src=|href=|url\(' "$tmp/page" && fail "the page needs another file"
for class in resident offloadable; do
	grep -q "	$class	" "$tmp/plan" || fail "the plan has no $class"
done

horizon-replay -J --synth $spec --profile h200 >"$tmp/plain"
horizon-replay -J --synth $spec,recompute=1 --profile h200 >"$tmp/again"
plain=$(member ideal_seconds "$tmp/plain")
again=$(member ideal_seconds "$tmp/again")
holds "$again > 1.1 * $plain && $again < 1.5 * $plain" ||
	fail "recompute: $plain, $again"
live=$(member live_peak_bytes "$tmp/plain")
less=$(member live_peak_bytes "$tmp/again")
holds "$less < $live" || fail "recompute keeps as much"

# The host's own states that RAM does not hold are the store's traffic, and
# what it takes longer than the link is a stall.
spec=gpt:layers=8,hidden=2048,seq=1024,batch=32,place=cpu
horizon-replay -J --synth $spec --profile rtx4090 --ram 4G >"$tmp/store" ||
	fail "place=cpu: status $?"
horizon-replay -J --synth $spec --profile rtx4090 --ram 60G >"$tmp/ram" ||
	fail "place=cpu: status $?"
for member in store_read_bytes store_write_bytes stall_seconds; do
	less=$(member $member "$tmp/ram")
	more=$(member $member "$tmp/store")
	holds "$less == 0 && $more > 0" || fail "$member: $less, $more"
done
ideal=$(member ideal_seconds "$tmp/ram")
same=$(member ideal_seconds "$tmp/store")
holds "($ideal - $same) ^ 2 < 1e-12" || fail "ideal: $ideal, $same"
