#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# HORIZON_ENABLE=0, the knob `only`, and settings that make no sense, in a
# program that is merely preloaded: it runs, and is told at most a line each.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"

args="-m 160 -t 2 -p 2"
# shellcheck disable=SC2086
plain $args

# preloaded VARIABLE=VALUE...: a sweep
preloaded()
{
	# shellcheck disable=SC2086
	same 0 env LD_PRELOAD="$HORIZON_PRELOAD" HORIZON_STORE="$store" \
		HORIZON_RAM=64M "$@" "$sweep" $args
}

# reported VARIABLE=VALUE...: the same under horizon-run
reported()
{
	# shellcheck disable=SC2086
	same 0 env "$@" horizon-run --ram 64M --store "$store" \
		--report "$report" "$sweep" $args
}

lines=0
preloaded HORIZON_ENABLE=0
reported HORIZON_ENABLE=0
[ "$(member fault)" = off ] || fail "enable=0 is not off"
[ "$(member reason)" = "the knob enable is 0" ] || fail "no reason"
reported HORIZON_FAULT=off
[ "$(member fault)" = off ] || fail "fault=off is not off"
member reason | grep -q fault || fail "no reason for fault=off"
preloaded HORIZON_ONLY=other,another
reported HORIZON_ONLY=other,another
[ "$(member fault)" = off ] || fail "only does not exclude"
preloaded HORIZON_ONLY=other,sweep

# One line names what is wrong; the others are in force.
lines=1
for bad in RAM=lots RAM=1 IO=carrier-pigeon IO_DEPTH=0 DIRECT=perhaps \
	MIN_SIZE=-1 NO_SUCH_KNOB=1 READ_AHEAD=65 STORE_SIZE=12Q; do
	preloaded HORIZON_"$bad"
	[ -s "$tmp/err" ] || fail "not a word about $bad"
	says err "^horizon: .*${bad%%=*}"
done

# With nothing to read settings from.
lines=0
# shellcheck disable=SC2086
same 0 env -i LD_PRELOAD="$HORIZON_PRELOAD" "$sweep" $args
