#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Where files may not become as large as the segment, there is none; the
# program goes on, and one line says so.
. "${top_srcdir:-.}/tests/cuda/asked.sh"
(
	ulimit -f 1000 || exit 77
	LD_PRELOAD=$HORIZON_PRELOAD timeout 60 "$asked" limited "$driver"
) 2>"$tmp/err"
rc=$?
[ "$rc" -ne 77 ] || skip "no limit of the size of files"
[ "$rc" -eq 0 ] || fail "status $rc: $(cat "$tmp/err")"
[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "not one line: $(cat "$tmp/err")"
grep -q 'no shared segment' "$tmp/err" || fail "$(cat "$tmp/err")"
