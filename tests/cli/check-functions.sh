# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the tests of --check, on top of functions.sh.

# check OPTION...: the status is 0 or 1, and the table is well formed.
check()
{
	status=0
	# shellcheck disable=SC2154 # of functions.sh
	horizon-run --check "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	silent_on err
	tail -n 1 "$tmp/out" >"$tmp/mode"
	pattern='^mode: fault=(move|off) io=(uring|threads|off) ram=[^ ]+ store='
	says mode "$pattern"
	case $status in
	0) says mode 'fault=move' ;;
	1) says mode 'fault=off io=off' ;;
	*) fail "status $status" ;;
	esac
	sed '$d' "$tmp/out" >"$tmp/table"
	awk '/^ +try: ./ { if (!open) exit 1; open = 0; next }
	     open { exit 1 }
	     !/^................  (ok|poor|off)  *[^ ]/ { exit 1 }
	     /^................  (poor|off) / { open = 1 }
	     END { if (open) exit 1 }' "$tmp/table" ||
		fail "a line without verdict, or no way out after poor or off"
}

# poor ITEM VERDICT REGEX: that line of $tmp/table is unfavourable, and what
# it says one should try matches.
poor()
{
	awk -v item="$1" -v verdict="$2" -v want="$3" '
		found { ok = $1 == "try:" && $0 ~ want; exit }
		index($0, item "  ") == 1 {
			rest = substr($0, 19)
			if (index(rest, verdict) == 1) found = 1
		}
		END { exit !ok }' "$tmp/table" ||
		fail "$1 is not $2 with '$3': $(grep -A 1 "^$1 " "$tmp/table")"
}
