# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the scripts that run one program of the distribution; on top of
# tests/programs/sweep-functions.sh. $work is an empty directory on a disk.

. "${top_srcdir:?}/tests/programs/sweep-functions.sh"

real=$top_srcdir/tests/real
work=$(mktemp -d "${TMPDIR:-/var/tmp}/horizon-$name.XXXXXX") || exit 99
defer rm -rf "$work"
# A budget as small as it can be, and everything that may be tiered is.
small='--ram 64M --set min_size=256K --set min_map=1M'

# need_package COMMAND PACKAGE
need_package()
{
	command -v "$1" >/dev/null 2>&1 ||
		skip "no $1: install the package $2"
}

# total NAME: of that number, of all processes in the report together.
total()
{
	awk -f "$real/flatten-json.awk" "$report" | awk -v name="$1" '
	{ sub(/^processes\[[0-9]+\]\./, "") }
	$1 == name { n += $2 }
	END { printf "%.0f\n", n }'
}

# Without this the comparisons would hold and mean nothing.
must_have_moved()
{
	[ "$(total store.write_bytes)" -gt 0 ] ||
		fail "$*: nothing was written to the store"
	[ "$(total store.read_bytes)" -gt 0 ] ||
		fail "$*: nothing was read from the store"
	[ "$(total store.errors)" -eq 0 ] || fail "$*: errors of the store"
}

mib()
{
	echo $(($(total "$1") / 1048576)) MiB
}
