# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the scripts that run `sweep` under horizon-run; on top of
# tests/cli/functions.sh. $store is a directory on a disk that goes away,
# $report the JSON file of the last run.

. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
need_preload

programs=$top_builddir/tests/programs
sweep=$programs/sweep
refuse=$programs/refuse
report=$tmp/report.json

# What must be undone, last first: one shell command a line.
undo=
defer()
{
	undo="$*
$undo"
}

clean_up_all()
{
	clean_up
	eval "$undo"
}
trap clean_up_all EXIT

store=$(mktemp -d "${HORIZON_TEST_STORE:-/var/tmp}/horizon-$name.XXXXXX") ||
	exit 99
defer rm -rf "$store"

need_root()
{
	[ "$(id -u)" -eq 0 ] || skip "$* needs root"
}

# Can anything be tiered here? Other modes are judged by their own tests.
need_move()
{
	horizon-run --ram 64M --store "$store" --report "$report" \
		"$sweep" -m 96 -p 1 >/dev/null 2>&1 || :
	[ "$(member fault)" = move ] ||
		skip "no tiering here: $(member reason)"
}

# The first member of that name in the report, as text.
member()
{
	sed -n -e "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" \
		-e "s/^ *\"$1\": \([0-9.]*\),\{0,1\}\$/\1/p" "$report" |
		sed 1q
}

# What `sweep ARGUMENT...` prints without Horizon.
plain()
{
	"$sweep" "$@" >"$tmp/plain" 2>/dev/null ||
		fail "the program does not run without Horizon"
}

# same STATUS COMMAND...: the status, the output of plain(), and no more than
# $lines lines on standard error.
lines=0
same()
{
	run "$@"
	cmp -s "$tmp/plain" "$tmp/out" || fail "other output than without"
	[ "$(wc -l <"$tmp/err")" -le "$lines" ] ||
		fail "more than $lines lines on stderr"
}
