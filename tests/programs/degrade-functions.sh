# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the scripts that run `sweep` where something is refused or fails;
# on top of sweep-functions.sh.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move

size="-m 160 -t 3 -p 2"
# shellcheck disable=SC2086
plain $size
chmod 755 "$tmp" "$store"

# cell NAME FAULT IO REASON WORD...: `horizon-run ... WORD... sweep`; $before
# stands in front of horizon-run, $options follow it.
before=
options=
done_cells=0
cell()
{
	cell=$1 want_fault=$2 want_io=$3 reason=$4
	shift 4
	ran=
	rm -f "$report"
	status=0
	# shellcheck disable=SC2086
	$before horizon-run --ram 64M --store "$store" $options \
		--report "$report" "$@" "$sweep" $size \
		>"$tmp/out" 2>"$tmp/err" || status=$?
	if [ "$status" -eq 77 ]; then
		echo "$name: $cell: skipped: $(cat "$tmp/err")" >&2
		return
	fi
	[ "$status" -eq 0 ] || fail "$cell: status $status"
	cmp -s "$tmp/plain" "$tmp/out" || fail "$cell: other output"
	count=$(wc -l <"$tmp/err")
	[ "$count" -le 2 ] || fail "$cell: $count lines on stderr"
	valid_json "$report"
	[ "$(member fault)" = "$want_fault" ] ||
		fail "$cell: fault is $(member fault), not $want_fault"
	[ "$(member io)" = "$want_io" ] ||
		fail "$cell: io is $(member io), not $want_io"
	if [ -z "$reason" ]; then
		[ -z "$(member reason)" ] ||
			fail "$cell: a reason: $(member reason)"
	else
		member reason | grep -q "$reason" ||
			fail "$cell: the reason is '$(member reason)'"
	fi
	if [ "$want_fault" = off ] && [ -n "$spoken" ]; then
		grep -q '^horizon: ' "$tmp/err" || fail "$cell: not a word"
	fi
	done_cells=$((done_cells + 1))
	ran=1
}
spoken=1

# counted MEMBER...: the last cell did what it is there for.
counted()
{
	[ -n "$ran" ] || return 0
	for member in "$@"; do
		[ "$(member "$member")" -gt 0 ] || fail "$cell: no $member"
	done
}

# said REGEX: and told about it.
said()
{
	[ -z "$ran" ] || grep -q -e "$1" "$tmp/err" ||
		fail "$cell: not a word of '$1'"
}

