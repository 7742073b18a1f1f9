# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by the tests of the tools. A test stops at its first failure with
# status 1; 77 is a skip. $tmp is a directory that goes away.

name=$(basename "$0" .sh)
: "${top_srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${top_builddir:=$top_srcdir}"

# A test that hangs is ended, with all that it started. A sanitizer takes its
# time.
if [ -z "${horizon_test_limited:-}" ] && command -v timeout >/dev/null; then
	horizon_test_limited=1
	export horizon_test_limited
	seconds=300
	[ -z "${horizon_sanitized:-}" ] || seconds=3000
	exec timeout -k 10 $seconds "$0"
fi

fail()
{
	echo "$name: $*" >&2
	for file in out err; do
		if [ -s "$tmp/$file" ]; then
			sed "s/^/  $file: /" "$tmp/$file" >&2
		fi
	done
	exit 1
}

skip()
{
	echo "$name: skipped: $*" >&2
	exit 77
}

need()
{
	command -v "$1" >/dev/null 2>&1 || skip "no $1"
}

tmp=$(mktemp -d "${TMPDIR:-/tmp}/horizon-$name.XXXXXX") || exit 99
children=
clean_up()
{
	for pid in $children; do
		kill "$pid" 2>/dev/null || :
	done
	rm -rf "$tmp"
}
trap clean_up EXIT
trap 'exit 99' HUP INT TERM

# Only what a test sets is in force.
for variable in $(env | sed -n 's/^\(HORIZON_[A-Z_]*\)=.*/\1/p'); do
	if [ "$variable" != HORIZON_PRELOAD ]; then
		unset "$variable"
	fi
done
unset LD_PRELOAD LINES
XDG_CONFIG_HOME=$tmp/none
export XDG_CONFIG_HOME

need horizon-run

# The real library, or a skip. With a sanitizer in it, it cannot be loaded into
# programs that are built without; see tests/Makefile.am.
need_preload()
{
	[ -z "${horizon_sanitized:-}" ] ||
		skip "a sanitized library cannot be preloaded into $name's programs"
	[ -r "${HORIZON_PRELOAD:-}" ] ||
		skip "the preload library is not built (HORIZON_PRELOAD)"
}

# The real library, or a harmless one: for what does not depend on it.
any_preload()
{
	[ -z "${horizon_sanitized:-}" ] && [ -r "${HORIZON_PRELOAD:-}" ] &&
		return
	HORIZON_PRELOAD=$(ldd "$(command -v sh)" 2>/dev/null |
		sed -n 's/.*=> \(.*libc\.so[^ ]*\) .*/\1/p')
	[ -r "$HORIZON_PRELOAD" ] || skip "no library to preload"
	export HORIZON_PRELOAD
}

# run STATUS COMMAND...: its output is in $tmp/out and $tmp/err.
run()
{
	want=$1
	shift
	status=0
	"$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	[ "$status" -eq "$want" ] ||
		fail "status $status instead of $want: $*"
}

# One line on stderr, nothing on stdout.
one_line()
{
	[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "not one line on stderr"
	[ ! -s "$tmp/out" ] || fail "output on stdout"
}

# says FILE REGEX (extended)
says()
{
	grep -Eq -e "$2" "$tmp/$1" || fail "$1 lacks: $2"
}

silent_on()
{
	[ ! -s "$tmp/$1" ] || fail "$1 is not empty"
}

valid_json()
{
	if python3 -c '' 2>/dev/null; then
		python3 -m json.tool "$1" >/dev/null || fail "no JSON: $1"
	elif perl -MJSON::PP -e '' 2>/dev/null; then
		perl -MJSON::PP -0777 -ne 'decode_json($_)' "$1" ||
			fail "no JSON: $1"
	else
		skip "neither python3 nor perl with JSON::PP"
	fi
}

# wait_for COMMAND...: until it succeeds, for a minute at most.
wait_for()
{
	tries=600
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail "waited in vain for: $*"
		sleep 0.1
	done
}

# Start the stand-in of a tiered process, through the words given as a prefix
# (horizon-run ...). $fake is what was started; write lines to descriptor 7,
# close it to end it.
start_fake()
{
	program=$top_builddir/tests/cli/fake-process
	[ -x "$program" ] || skip "fake-process is not built"
	mkfifo "$tmp/fifo"
	: >"$tmp/fake.out"
	"$@" "$program" <"$tmp/fifo" >"$tmp/fake.out" 7>&- &
	fake=$!
	children="$children $fake"
	exec 7>"$tmp/fifo"
	wait_for grep -q ready "$tmp/fake.out"
}
