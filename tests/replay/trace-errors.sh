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
	[ ! -s "$tmp/out" ] || fail "$1: a table of nothing"
	grep -Eq "$2" "$tmp/err" || fail "$1: not '$2'"
}

refused "$tmp/none" 'No such file'
refused "$tmp" 'Is a directory'
printf 'T\t0\t4096\t0\nK\t0\t10\t1\t\tx\n' >"$tmp/unknown"
refused "$tmp/unknown" 'line 2: a tensor that has no T line'
printf 'T\t0\t1\t0\n\nT\t0\t1\t0\n' >"$tmp/twice"
refused "$tmp/twice" 'line 3: a tensor that has a T line already'
printf 'T\t0\t4096\t0\nK\t0\t10\t0,\t\tx\n' >"$tmp/comma"
refused "$tmp/comma" 'line 2: not a list of tensors'
printf 'T\t0\t4096\t0\nK\t0\t10\t\t,0\tx\n' >"$tmp/comma"
refused "$tmp/comma" 'line 2: not a list of tensors'
printf 'T\t0\t40\00096\t0\n' >"$tmp/nul"
refused "$tmp/nul" 'line 1: a NUL byte'
printf 'T\t0\t-1\t0\n' >"$tmp/negative"
refused "$tmp/negative" 'line 1: not a tensor'
printf 'hello\n' >"$tmp/text"
refused "$tmp/text" 'line 1: neither T nor K'
: >"$tmp/empty"
refused "$tmp/empty" 'no kernel'
printf 'HZTRACE\n\001\000\000\000\000\000\000\000HZCK\377' >"$tmp/cut"
refused "$tmp/cut" 'offset 16: cut short'
printf 'HZTRA' >"$tmp/magic"
refused "$tmp/magic" 'offset 5: cut short'
printf 'HZTRACE\n' >"$tmp/magic"
refused "$tmp/magic" 'offset 8: cut short'
printf 'HZTRACE\n\011\000\000\000\000\000\000\000' >"$tmp/version"
refused "$tmp/version" 'offset 8: a version'
printf 'HZTRACE\n\001\000\000\000\000\000\000\000HZCK\001\000\000\000abcd\001' \
	>"$tmp/sum"
refused "$tmp/sum" 'offset 16: a checksum'

# An object a line and nothing else, also where another trace is refused; a
# trace may come through a pipe.
printf 'T\t0\t4096\t1\nK\t0\t10\t0\t\tx\n' >"$tmp/good"
cat "$tmp/good" | horizon-replay -J "$tmp/text" /dev/stdin >"$tmp/out" \
	2>"$tmp/err" && fail "a bad trace is forgotten"
[ "$(wc -l <"$tmp/out")" -eq 1 ] || fail "not one line"
valid_json "$tmp/out"
horizon-replay "$tmp/text" "$tmp/good" >"$tmp/out" 2>"$tmp/err" &&
	fail "a bad trace is forgotten"
[ "$(wc -l <"$tmp/out")" -eq 2 ] || fail "not a header and a row"
