# SPDX-License-Identifier: Apache-2.0
#
# bash completion of horizon-run and horizon-stat. The names come from the
# programs: --long-options, --show.

_horizon_options()
{
	"$1" --long-options 2>/dev/null
}

# Knob names as --set takes them: "ram=".
_horizon_knobs()
{
	horizon-run --show 2>/dev/null | while read -r name _; do
		printf '%s=\n' "$name"
	done
}

# Processes with an engine thread.
_horizon_pids()
{
	local comm name

	for comm in /proc/[0-9]*/task/[0-9]*/comm; do
		{ read -r name <"$comm"; } 2>/dev/null || continue
		case $name in
		hz-*)
			comm=${comm#/proc/}
			printf '%s\n' "${comm%%/*}"
			;;
		esac
	done
}

# Where the command stands among the words of horizon-run; empty while the
# cursor is before it.
_horizon_command_at()
{
	local i

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)
			echo $((i + 1))
			return
			;;
		--ram | --store | --store-size | --report | --set | -r | -s)
			# NAME=VALUE may be cut at '=' into three words
			((i++))
			if [[ ${COMP_WORDS[i]} == '=' ]]; then
				((i++))
			fi
			if [[ ${COMP_WORDS[i + 1]} == '=' ]]; then
				((i += 2))
			fi
			;;
		-*) ;;
		*)
			echo "$i"
			return
			;;
		esac
	done
}

_horizon_run_command()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "$2")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
	fi
}

_horizon_run()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local at

	COMPREPLY=()
	at=$(_horizon_command_at)
	if [[ -n $at ]]; then
		_horizon_run_command "$at" "$cur"
		return
	fi
	case $prev in
	--set | -s)
		compopt -o nospace 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -W "$(_horizon_knobs)" -- "$cur")
		return
		;;
	--store | --report | -r)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--ram | --store-size)
		return
		;;
	esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(
			compgen -W "$(_horizon_options horizon-run)" -- "$cur")
		return
	fi
	_horizon_run_command "$COMP_CWORD" "$cur"
}

_horizon_stat()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local words=

	COMPREPLY=()
	case $prev in
	-p | --pid)
		words=$(_horizon_pids)
		;;
	--format)
		words='table json csv prom openmetrics'
		;;
	-S | --unit)
		words='k K m M g G'
		;;
	-o | --columns)
		return
		;;
	*)
		if [[ $cur == -* ]]; then
			words=$(_horizon_options horizon-stat)
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _horizon_run horizon-run
complete -F _horizon_stat horizon-stat
