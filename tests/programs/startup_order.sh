#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program starts, whatever else stands in front of the C library: hooks of
# files, clock, environment and the mmap family that allocate and lock, in
# front of ours and behind; an auditor of the loader; no environment at all; a
# library that is loaded late. A hang at the start is a failure.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
need_preload

programs=$top_builddir/tests/programs
prog=$programs/startup
others=$programs/.libs/libothers.so
audit=$programs/.libs/libaudit.so
store=${HORIZON_TEST_STORE:-/var/tmp}

"$prog" >"$tmp/plain" || fail "the program does not run"

# starts VARIABLE=VALUE...: in an environment of these alone
starts()
{
	status=0
	timeout -k 5 60 env -i "$@" "$prog" >"$tmp/out" 2>"$tmp/err" ||
		status=$?
	[ "$status" -eq 0 ] || fail "status $status: $*"
	cmp -s "$tmp/plain" "$tmp/out" || fail "other output: $*"
	silent_on err
}

# With an auditor the loader lays out the memory of threads before it sees
# what is preloaded, and wants to be told to leave room.
room=GLIBC_TUNABLES=glibc.rtld.optional_static_tls=8192

for bind in LD_BIND_NOW= LD_BIND_NOW=1; do
	starts $bind LD_PRELOAD="$others"
	starts $bind LD_PRELOAD="$HORIZON_PRELOAD"
	for ram in 64M 1G; do
		set -- $bind HORIZON_STORE="$store" HORIZON_RAM=$ram
		starts "$@" LD_PRELOAD="$HORIZON_PRELOAD $others"
		starts "$@" LD_PRELOAD="$others $HORIZON_PRELOAD"
		starts "$@" $room LD_AUDIT="$audit" LD_PRELOAD="$HORIZON_PRELOAD"
		starts "$@" $room LD_AUDIT="$audit" \
			LD_PRELOAD="$others $HORIZON_PRELOAD"
	done
done

# Loaded late: it works, or the loader says why not.
status=0
timeout -k 5 60 "$prog" -d "$HORIZON_PRELOAD" >"$tmp/out" 2>"$tmp/err" ||
	status=$?
[ "$status" -eq 0 ] || fail "status $status with the library loaded late"
cmp -s "$tmp/plain" "$tmp/out" || fail "other output, loaded late"
[ ! -s "$tmp/err" ] || says err 'TLS|cannot open|undefined symbol'
