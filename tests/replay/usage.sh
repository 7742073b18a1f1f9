#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Options that are wrong are one line and status 2; each option has its
# paragraph in the page.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/replay/functions.sh"

# wrong REGEX ARGUMENT...
wrong()
{
	regex=$1
	shift
	horizon-replay "$@" >"$tmp/out" 2>"$tmp/err"
	[ $? -eq 2 ] || fail "$*: not status 2"
	[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "$*: not one line"
	grep -Eq -e "$regex" "$tmp/err" || fail "$*: not '$regex'"
}

wrong 'no trace'
wrong 'is not one of uvm' -P none x
wrong 'neither a file nor' -p none x
wrong 'is not one of time' --goal speed x
wrong 'not a size' --vram much x
wrong 'is not a number' --steps 0 x
wrong 'not a key' --synth gpt:wings=2
wrong 'neither gpt nor uses' --synth cnn
printf 'base g10\nwings 2\n' >"$tmp/machine"
wrong 'line 2: a key' -p "$tmp/machine" x

horizon-replay --long-options >"$tmp/options"
[ "$(wc -l <"$tmp/options")" -gt 10 ] || fail "no options"
while read -r option; do
	name=$(echo "${option#--}" | sed 's/-/\\\\-/g')
	grep -q "^\.B.*\\\\-\\\\-$name" "$top_srcdir/man/horizon-replay.1" ||
		fail "horizon-replay(1) lacks $option"
done <"$tmp/options"

printf 'base g10\nvram_gib 20\n' >"$tmp/machine"
replay BERT-256 -p "$tmp/machine"
holds "$(member fraction_of_ideal "$tmp/result") < 1" ||
	fail "the machine of the file is not used"
