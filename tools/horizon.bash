# SPDX-License-Identifier: Apache-2.0
#
# bash completion of horizon-run, horizon-stat and horizon-replay. The names come
# from the programs: --long-options, --show, --list.

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

# The names in the part of --list that is called so: policies, machines.
_horizon_replay_names()
{
	local name part=

	horizon-replay --list 2>/dev/null | while read -r name _; do
		case $name in
		policies: | machines:)
			part=$name
			;;
		*)
			if [[ $part == "$1:" ]]; then
				printf '%s\n' "$name"
			fi
			;;
		esac
	done
}

# The last word of a list NAME,NAME,...
_horizon_list()
{
	local cur=$1 words=$2 done=

	if [[ $cur == *,* ]]; then
		done=${cur%,*},
	fi
	compopt -o nospace 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -P "$done" -W "$words" -- "${cur##*,}")
}

_horizon_replay()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	case $prev in
	-p | --profile)
		mapfile -t COMPREPLY < <(
			compgen -W "$(_horizon_replay_names machines)" -- "$cur"
			compgen -f -- "$cur")
		return
		;;
	-P | --policy)
		_horizon_list "$cur" "$(_horizon_replay_names policies)"
		return
		;;
	--goal)
		mapfile -t COMPREPLY < <(compgen -W 'time bytes' -- "$cur")
		return
		;;
	--synth)
		compopt -o nospace 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -W 'gpt: uses:' -- "$cur")
		return
		;;
	--vram | --ram | --store-size | --steps | -n | --perturb | --eval | --seed)
		return
		;;
	esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(
			compgen -W "$(_horizon_options horizon-replay)" -- "$cur")
		return
	fi
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

complete -F _horizon_run horizon-run
complete -F _horizon_replay horizon-replay
complete -F _horizon_stat horizon-stat
