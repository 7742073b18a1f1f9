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

page=$top_srcdir/man/horizon-replay.1
horizon-replay --help >"$tmp/help"
horizon-replay --long-options >"$tmp/options"
[ "$(wc -l <"$tmp/options")" -gt 10 ] || fail "no options"
while read -r option; do
	name=$(echo "${option#--}" | sed 's/-/\\\\-/g')
	grep -q "^\.B.*\\\\-\\\\-$name" "$page" ||
		fail "horizon-replay(1) lacks $option"
	grep -q -e "$option" "$tmp/help" || fail "--help lacks $option"
done <"$tmp/options"
sed -n 's/^\.BR* .*\\-\\-\([a-z\\-]*\).*/--\1/p' "$page" | sed 's/\\//g' |
	while read -r option; do
		grep -qx -e "$option" "$tmp/options" || echo "$option"
	done >"$tmp/unknown"
[ ! -s "$tmp/unknown" ] || fail "the page has $(cat "$tmp/unknown")"

# offered WORD...: what completion offers for the last word
offered()
{
	bash --norc -c '
		. "$1" || exit 99
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_horizon_replay
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$top_srcdir/tools/horizon.bash" horizon-replay "$@" \
		>"$tmp/out" 2>"$tmp/err" || fail "completion failed: $*"
	silent_on err
}

if command -v bash >/dev/null; then
	offered --
	sort "$tmp/out" >"$tmp/offered"
	sort "$tmp/options" | cmp -s - "$tmp/offered" ||
		fail "not all options are offered"
	offered --policy lru,or
	says out '^lru,oracle$'
	offered --profile rtx4
	says out '^rtx4090$'
	offered --goal b
	says out '^bytes$'
fi

printf 'base g10\nvram_gib 20\n' >"$tmp/machine"
replay BERT-256 -p "$tmp/machine"
holds "$(member fraction_of_ideal "$tmp/result") < 1" ||
	fail "the machine of the file is not used"
