#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run-tiered.sh PROGRAM [ARG...]: without Horizon, then with a small budget.
# Both must succeed in time, and nothing may remain in the store's directory.
#   TIERED_SECONDS  time for each run (120)
#   TIERED_SET      more options of horizon-run
#   TIERED_PLAIN=0  no run without Horizon
seconds=${TIERED_SECONDS:-120}
store=$(mktemp -d "${TMPDIR:-/var/tmp}/tiered.XXXXXX") || exit 99
trap 'rm -rf "$store"' EXIT

judge()
{
	case $1 in
	0) return ;;
	77) exit 77 ;;
	124 | 137) echo "no end after $seconds s ($2): $prog" >&2 ;;
	*) echo "status $1 ($2): $prog" >&2 ;;
	esac
	exit 1
}

prog=$*
if [ "${TIERED_PLAIN:-1}" != 0 ]; then
	timeout -k 5 "$seconds" "$@"
	judge $? plain
fi
# shellcheck disable=SC2086
timeout -k 5 "$seconds" horizon-run --ram 64M --store "$store" \
	--store-size 1G --set min_size=256K --set min_map=1M $TIERED_SET \
	-- "$@"
judge $? tiered
left=$(ls -A "$store")
[ -z "$left" ] || {
	echo "left in the store's directory: $left" >&2
	exit 1
}
