#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ordinary.sh GROUP [PROGRAM]: run the programs of ordinary.list plainly and
# under horizon-run with little RAM; every difference is a failure. With
# TEST_SHORT set, the first program of the group only.
set -u

group=$1
only=${2-}
src=${top_srcdir:?}/tests/real
work=$(mktemp -d "${TMPDIR:-/var/tmp}/horizon-ordinary.XXXXXX") || exit 99
in=$work/in
export src in LC_ALL=C TZ=UTC0 PYTHONDONTWRITEBYTECODE=1
trap 'rm -rf "$work"' EXIT
mkdir "$in"

same=0 different=0 absent=0

report_values()
{
	awk -f "$src/flatten-json.awk" "$1"
}

# Without tiering the comparison would hold and mean nothing.
need_tiering()
{
	local mode

	if [ -n "${horizon_sanitized-}" ]; then
		echo "a sanitized library cannot be preloaded into these programs"
		exit 77
	fi
	mode=$(horizon-run --check | sed -n 's/^mode: .*fault=\([a-z]*\).*/\1/p')
	case $mode in
	off)
		echo "no tiering on this machine: horizon-run --check says why"
		exit 77
		;;
	'')
		echo "horizon-run --check names no fault mode"
		exit 1
		;;
	esac
}

# once VARIANT [WRAPPER...]: into $work/VARIANT.{stdout,stderr,status,files}.
# Both variants see the same directory name.
once()
{
	local to=$work/$1

	shift
	mkdir "$work/run"
	(cd "$work/run" && exec timeout -k 10 300 "$@" bash -c "$code") \
		>"$to.stdout" 2>"$to.stderr" </dev/null
	echo $? >"$to.status"
	(cd "$work/run" && find . -type f -print0 | sort -z |
		xargs -0 -r sha256sum) >"$to.files"
	rm -rf "$work/run"
}

# Bytes that left RAM, all processes together, in MiB.
moved()
{
	report_values "$work/report.json" | awk '
	/^(processes\[[0-9]+\]\.)?moves\[[0-9]+\]\.from / { out = $2 == "ram" }
	/^(processes\[[0-9]+\]\.)?moves\[[0-9]+\]\.bytes / && out { n += $2 }
	END { printf "%d\n", n / 1048576 }'
}

# 0 if both variants agree; else says where they differ.
compare()
{
	local what

	for what in status stdout files; do
		cmp -s "$work/plain.$what" "$work/horizon.$what" && continue
		echo "not ok $program: $what differs"
		diff "$work/plain.$what" "$work/horizon.$what" | head -n 20
		echo "--- stderr under horizon-run:"
		tail -n 20 "$work/horizon.stderr"
		return 1
	done
}

missing()
{
	local command

	for command in $needs; do
		command -v "$command" >/dev/null || echo "$command"
	done
}

try()
{
	local gone out began=$SECONDS

	gone=$(missing)
	if [ -n "$gone" ]; then
		echo "skip $program: no ${gone//$'\n'/ }"
		absent=$((absent + 1))
		return
	fi
	once plain
	rm -f "$work/report.json"
	once horizon horizon-run --ram "$ram" --set min_size=256K \
		--set min_map=1M --report "$work/report.json" --
	if ! compare; then
		different=$((different + 1))
		return
	fi
	out=$(moved)
	if [ "$moves" = yes ] && [ "$out" -le 0 ]; then
		echo "not ok $program: nothing left RAM, $ram was enough"
		different=$((different + 1))
		return
	fi
	grep '^horizon: ' "$work/horizon.stderr" | sort | uniq -c | head -n 5
	echo "ok $program: status $(cat "$work/plain.status")," \
		"$out MiB left RAM, $((SECONDS - began)) s"
	same=$((same + 1))
}

wanted()
{
	[ -n "$program" ] && [ "$at" = "$group" ] || return
	[ -z "${TEST_SHORT-}" ] || [ $((same + different)) -eq 0 ] ||
		return
	case $only in
	'' | "$program") ;;
	*) return 1 ;;
	esac
}

finish_program()
{
	! wanted || try
	program='' needs='' ram=64M moves=no code=''
}

make_inputs()
{
	(cd "$in" && eval "$1") && return
	echo "cannot make the inputs: $1"
	exit 99
}

need_tiering
at='' program=''
finish_program
while IFS=' ' read -r key rest <&3; do
	case $key in
	'' | '#'*) ;;
	group) finish_program; at=$rest ;;
	inputs) [ "$at" != "$group" ] || make_inputs "$rest" ;;
	program) finish_program; program=$rest ;;
	needs) needs=$rest ;;
	ram) ram=$rest ;;
	moves) moves=yes ;;
	run) code+=$rest$'\n' ;;
	*) echo "ordinary.list: unknown word $key"; exit 99 ;;
	esac
done 3<"$src/ordinary.list"
finish_program

echo "$group: $same the same, $different different, $absent not installed"
[ $different -eq 0 ] || exit 1
[ $same -gt 0 ] || exit 77
