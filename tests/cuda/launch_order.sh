#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What launches named counts for the memory that was there when they were made,
# to the last launch, though it is looked up later: launch_order.c says how often
# it named each tensor, horizon-stat must say the same.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
need_driver
command -v horizon-stat >/dev/null || skip "no horizon-stat"
mkfifo "$tmp/in"

# The tensors of the table, as the program prints them.
table()
{
	horizon-stat -T -J | tr '}' '\n' | sed -n \
		's/.*"address":"\(0x[0-9a-f]*\)".*"launches":\([0-9]*\).*/\1 \2/p' |
		grep -v ' 0$' | LC_ALL=C sort
}

LD_LIBRARY_PATH=$tmp/lib LD_PRELOAD=$HORIZON_PRELOAD \
	"$(program launch_order)" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
run=$!
exec 7>"$tmp/in"
is_ready 1200
grep '^0x' "$tmp/out" | grep -v ' 0$' | LC_ALL=C sort >"$tmp/want"
[ "$(wc -l <"$tmp/want")" -gt 1000 ] || fail "too few tensors were named"
# The table is written a moment later.
tries=100
until table >"$tmp/has" && cmp -s "$tmp/has" "$tmp/want"; do
	diff "$tmp/want" "$tmp/has" | head -n 20 >"$tmp/diff"
	once_more "other numbers of launches" "$tmp/diff"
done
exec 7>&-
wait "$run" || fail "the program failed: $(cat "$tmp/err")"
[ ! -s "$tmp/err" ] || fail "not silent: $(cat "$tmp/err")"
