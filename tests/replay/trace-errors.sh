#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A trace that is cut, wrong or missing is one line that says where.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

# refused FILE REGEX
refused()
{
	horizon-replay "$1" >"$tmp/out" 2>"$tmp/err" && fail "$1 is taken"
	[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "$1: not one line"
	grep -Eq "$2" "$tmp/err" || fail "$1: not '$2'"
}

refused "$tmp/none" 'No such file'
printf 'T\t0\t4096\t0\nK\t0\t10\t1\t\tx\n' >"$tmp/unknown"
refused "$tmp/unknown" 'line 2: a tensor that has no T line'
printf 'T\t0\t-1\t0\n' >"$tmp/negative"
refused "$tmp/negative" 'line 1: not a tensor'
printf 'hello\n' >"$tmp/text"
refused "$tmp/text" 'line 1: neither T nor K'
: >"$tmp/empty"
refused "$tmp/empty" 'no kernel'
printf 'HZTRACE\n\001\000\000\000\000\000\000\000HZCK\377' >"$tmp/cut"
refused "$tmp/cut" 'offset 16: cut short'
printf 'HZTRACE\n\011\000\000\000\000\000\000\000' >"$tmp/version"
refused "$tmp/version" 'offset 8: a version'
printf 'HZTRACE\n\001\000\000\000\000\000\000\000HZCK\001\000\000\000abcd\001' \
	>"$tmp/sum"
refused "$tmp/sum" 'offset 16: a checksum'
