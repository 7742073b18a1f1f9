#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every bad input: status 125, exactly one line that names the place, and the
# command is not started.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
any_preload

# bad REGEX OPTION...
bad()
{
	pattern=$1
	shift
	run 125 horizon-run "$@" touch "$tmp/started"
	one_line
	says err '^horizon-run: '
	says err "$pattern"
	[ ! -e "$tmp/started" ] || fail "the command was started: $*"
}

bad "unknown knob 'rma'.*'ram'" --set rma=1G
bad "unknown knob 'store_sise'.*'store_size'" --set store_sise=1G
bad "'ram' is not NAME=VALUE" --set ram
bad "ram.*'12Q'" --ram 12Q
bad "ram.*'1G5'" --set ram=1G5
bad 'ram.*101%' --ram 101%
bad 'ram.*below the minimum.*64M' --ram 1M
bad 'store_size.*-1|store-size.*-1' --store-size -1
bad "io.*'urin'.*uring" --set io=urin
bad 'io_depth.*1000' --set io_depth=1000

: >"$tmp/file"
bad 'store.*No such file' --store "$tmp/absent/store"
bad 'store.*Not a directory' --store "$tmp/file/store"
bad 'store.*block device' --store /dev/null
bad 'store' --set store=

bad 'unknown option.*--help' --no-such-option
bad 'unknown option.*--help' -q
bad 'takes no argument' --verify=1
bad 'report.*No such file' --report "$tmp/absent/report"
bad 'report.*Is a directory' --report "$tmp"
for option in vram plan; do
	bad "^horizon-run: --$option: not in this release" --$option 1G
done

run 125 horizon-run
one_line
says err 'no command given'
run 125 horizon-run --ram
one_line
says err 'needs an argument'

# The same through the other sources, each named in the message.
run 125 env HORIZON_RAM=1X horizon-run true
one_line
says err "HORIZON_RAM.*'1X'"
run 125 env HORIZON_RMA=1G horizon-run true
one_line
says err "HORIZON_RMA.*'ram'"
printf '# a comment\nram = 1X\n' >"$tmp/conf"
run 125 env HORIZON_CONF="$tmp/conf" horizon-run true
one_line
says err "conf:2: ram.*'1X'"
run 125 env HORIZON_CONF="$tmp/absent" horizon-run true
one_line

# A library that is not there.
run 125 env HORIZON_PRELOAD="$tmp/absent.so" horizon-run true
one_line
says err 'HORIZON_PRELOAD.*absent\.so'
mkdir "$tmp/a b"
cp "$HORIZON_PRELOAD" "$tmp/a b/lib.so"
run 125 env HORIZON_PRELOAD="$tmp/a b/lib.so" horizon-run true
one_line
says err 'LD_PRELOAD'

# Odd, not wrong: a warning, and the command runs.
run 0 horizon-run --ram 4000T true
one_line
says err 'ram.*more than'

# What the owner may not write. Root may write anything, so try as nobody.
mkdir "$tmp/read-only"
chmod 555 "$tmp/read-only"
chmod 755 "$tmp"
if [ "$(id -u)" -ne 0 ]; then
	bad 'store.*Permission denied' --store "$tmp/read-only"
elif command -v setpriv >/dev/null &&
	setpriv --reuid=65534 --clear-groups \
		"$(command -v horizon-run)" --version >/dev/null 2>&1 &&
	setpriv --reuid=65534 --clear-groups test -r "$HORIZON_PRELOAD"; then
	run 125 setpriv --reuid=65534 --clear-groups horizon-run \
		--store "$tmp/read-only" true
	one_line
	says err 'store.*Permission denied'
fi
