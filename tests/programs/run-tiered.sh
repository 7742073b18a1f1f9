#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run-tiered.sh PROGRAM [ARG...]: without Horizon, with a budget that leaves it
# idle, and with a small one. All must succeed in time, and nothing may remain
# in the store's directory.
#   TIERED_SECONDS  time for each run (120)
#   TIERED_SET      more options of horizon-run
#   TIERED_RUNS     which of plain, idle and tiered (all)
seconds=${TIERED_SECONDS:-120}
store=$(mktemp -d "${TMPDIR:-/var/tmp}/tiered.XXXXXX") || exit 99
trap 'rm -rf "$store"' EXIT

# shellcheck disable=SC2086
run()
{
	timeout -k 5 "$seconds" horizon-run --store "$store" --store-size 1G \
		--set min_size=256K --set min_map=1M $TIERED_SET "$@"
}

for how in ${TIERED_RUNS:-plain idle tiered}; do
	case $how in
	plain) timeout -k 5 "$seconds" "$@" ;;
	# the program itself must not start the engine
	idle) TIERED_IDLE=1 run --ram 1G -- "$@" ;;
	tiered) run --ram 64M -- "$@" ;;
	esac
	status=$?
	case $status in
	0) ;;
	77) exit 77 ;;
	124 | 137) echo "no end after $seconds s ($how): $*" >&2 && exit 1 ;;
	*) echo "status $status ($how): $*" >&2 && exit 1 ;;
	esac
	left=$(ls -A "$store")
	[ -z "$left" ] || {
		echo "left in the store's directory ($how): $left" >&2
		exit 1
	}
done
