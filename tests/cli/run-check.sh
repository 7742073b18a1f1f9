#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --check: a table, a way out for each unfavourable line, one closing line
# that agrees with the status.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
any_preload

# check: the status is 0 or 1, and the table is well formed.
check()
{
	status=0
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
	     !/  (ok|poor|off) +[^ ]/ { exit 1 }
	     /  (poor|off)  / { open = 1 }
	     END { if (open) exit 1 }' "$tmp/table" ||
		fail "a line without verdict, or no way out after poor or off"
}

check
for item in /dev/userfaultfd userfaultfd UFFDIO_MOVE io_uring 'huge pages' \
	memory 'memory limit' swap store 'locked memory' max_map_count; do
	says out "^$item +(ok|poor|off) "
done
works=$status

check --set fault=off
[ "$status" -eq 1 ] || fail "fault=off works"
check --store "$tmp/absent/store"
[ "$status" -eq 1 ] || fail "a store that is not there works"
says out '^store +off'
check --set enable=0
[ "$status" -eq 1 ] || fail "enable=0 works"
mkdir "$tmp/store"
check --set io=threads --ram 128M --store "$tmp/store"
[ "$status" -eq "$works" ] || fail "threads work differently"
[ "$works" -ne 0 ] || says mode "io=threads ram=128MiB store=$tmp/store\$"

[ -z "$(ls -A "$tmp/store")" ] || fail "the probes left a file"
