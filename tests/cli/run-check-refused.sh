#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --check where system calls are refused: by a filter as containers have it,
# and for want of privileges. Each refusal has its own remedy.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/cli/check-functions.sh"
any_preload
refuse=$top_builddir/tests/programs/refuse
[ -x "$refuse" ] || skip "tests/programs/refuse is not built"

# refused WORD...: --check behind `refuse WORD...`
refused()
{
	status=0
	"$refuse" "$@" "$(command -v horizon-run)" --check \
		>"$tmp/table" 2>"$tmp/err" || status=$?
	[ "$status" -ne 77 ] || skip "$(cat "$tmp/err")"
	silent_on err
	cp "$tmp/table" "$tmp/out"
}

refused -s userfaultfd -s io_uring_setup
[ "$status" -eq 1 ] || fail "it works without userfaultfd"
says out '^userfaultfd +poor .*Operation not permitted'
poor io_uring poor 'seccomp='
says out '^seccomp +poor +a filter, and calls are refused'
poor seccomp poor 'docker run --security-opt seccomp='
poor UFFDIO_MOVE off 'lines above'
says out '^mode: fault=off io=off'

# A kernel without them, or a filter that says so.
refused -e ENOSYS -s userfaultfd -s io_uring_setup
poor userfaultfd poor 'docker run --security-opt seccomp='
says out '^io_uring +poor +Function not implemented; pread and pwrite'

# A filter that does no harm, where there is no other one.
check
if grep -q '^seccomp .*no filter' "$tmp/out"; then
	refused -s memfd_create
	says out '^seccomp +ok +a filter, which refuses nothing'
fi

if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$tmp"
	if "$refuse" -u test -x "$(command -v horizon-run)" &&
		! "$refuse" -u test -w /dev/userfaultfd &&
		[ "$(cat /proc/sys/vm/unprivileged_userfaultfd)" = 0 ]; then
		refused -u
		poor userfaultfd poor 'sysctl -w vm.unprivileged_userfaultfd=1'
		[ ! -e /dev/userfaultfd ] ||
			poor /dev/userfaultfd poor 'setfacl .*/dev/userfaultfd'
	fi
fi
