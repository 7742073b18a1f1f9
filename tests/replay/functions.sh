# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the tests of horizon-replay, after ../cli/functions.sh.

data=$top_srcdir/tests/data/g10
headline="BERT-256 VIT-1280 Inception-1536 ResNet152-1280 SENet154-1024"
all="$headline BERT-512 VIT-512 Inception-512 ResNet152-256"

# member NAME FILE: the value in an object of one line
member()
{
	sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$2"
}

# holds EXPRESSION: arithmetic, with fractions
holds()
{
	awk "BEGIN { exit !($1) }"
}

# replay TRACE OPTION...: one result into $tmp/result
replay()
{
	trace=$1
	shift
	horizon-replay -J "$@" "$data/$trace.tsv" >"$tmp/result" \
		2>"$tmp/err" || fail "$trace $*: status $?"
	[ ! -s "$tmp/err" ] || grep -q 'without Clp' "$tmp/err" ||
		fail "$trace: noise"
}

# The published column: TRACE naive UVM, G10.
published()
{
	awk -v t="$1" -v c="$2" -F '|' '
		{ gsub(/ /, "") } $2 == t { print $(c) }' "$data/README.md"
}
