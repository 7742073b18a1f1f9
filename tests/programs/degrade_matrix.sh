#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whatever is refused, the program computes the same and exits the same, says
# no more than two lines, and the report has the mode and the reason.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/sweep-functions.sh"
need_move

size="-m 160 -t 3 -p 2"
# shellcheck disable=SC2086
plain $size
chmod 755 "$tmp" "$store"

# cell NAME FAULT IO REASON WORD...: `horizon-run ... WORD... sweep`; $before
# stands in front of horizon-run, $options follow it.
before=
options=
done_cells=0
cell()
{
	cell=$1 want_fault=$2 want_io=$3 reason=$4
	shift 4
	rm -f "$report"
	status=0
	# shellcheck disable=SC2086
	$before horizon-run --ram 64M --store "$store" $options \
		--report "$report" "$@" "$sweep" $size \
		>"$tmp/out" 2>"$tmp/err" || status=$?
	if [ "$status" -eq 77 ]; then
		echo "$name: $cell: skipped: $(cat "$tmp/err")" >&2
		return
	fi
	[ "$status" -eq 0 ] || fail "$cell: status $status"
	cmp -s "$tmp/plain" "$tmp/out" || fail "$cell: other output"
	count=$(wc -l <"$tmp/err")
	[ "$count" -le 2 ] || fail "$cell: $count lines on stderr"
	valid_json "$report"
	[ "$(member fault)" = "$want_fault" ] ||
		fail "$cell: fault is $(member fault), not $want_fault"
	[ "$(member io)" = "$want_io" ] ||
		fail "$cell: io is $(member io), not $want_io"
	if [ -z "$reason" ]; then
		[ -z "$(member reason)" ] ||
			fail "$cell: a reason: $(member reason)"
	else
		member reason | grep -q "$reason" ||
			fail "$cell: the reason is '$(member reason)'"
	fi
	if [ "$want_fault" = off ] && [ -n "$spoken" ]; then
		grep -q '^horizon: ' "$tmp/err" || fail "$cell: not a word"
	fi
	done_cells=$((done_cells + 1))
}
spoken=1

cell nothing move uring ""

# ---- system calls, as a container's profile refuses them ----
for error in EPERM ENOSYS; do
	cell "userfaultfd $error" off off "userfaultfd" \
		"$refuse" -e $error -s userfaultfd
	cell "io_uring $error" move threads "" \
		"$refuse" -e $error -s io_uring_setup
	cell "both $error" off off "userfaultfd" \
		"$refuse" -e $error -s userfaultfd -s io_uring_setup
	cell "close_range $error" off off "Linux 5.9" \
		"$refuse" -e $error -s close_range
	cell "populate $error" move uring "" "$refuse" -e $error -s populate
	cell "collapse, pagemap_scan $error" move uring "" \
		"$refuse" -e $error -s collapse -s pagemap_scan
	spoken=
	cell "pidfd_getfd and userfaultfd $error" off off "userfaultfd" \
		"$refuse" -e $error -s pidfd_getfd -s userfaultfd
	spoken=1
	cell "memfd_create $error" move uring "" \
		"$refuse" -e $error -s memfd_create
done

# ---- knobs that insist ----
options="--set io=uring"
cell "io=uring refused" off off "io=auto" "$refuse" -s io_uring_setup
options=

# ---- limits ----
# A program that fits into its address space without Horizon fits with it.
for mib in 300 600 1024 4096; do
	cell "RLIMIT_AS $mib M" off off "RLIMIT_AS" \
		"$refuse" -l AS=$((mib << 20))
	plain -m $((mib / 4 * 3)) -p 1
	lines=2
	same 0 horizon-run --ram 64M --store "$store" \
		"$refuse" -l AS=$((mib << 20)) "$sweep" -m $((mib / 4 * 3)) -p 1
	# shellcheck disable=SC2086
	plain $size
done
cell "RLIMIT_MEMLOCK 0" move uring "" "$refuse" -l MEMLOCK=0
cell "RLIMIT_NOFILE 8" off off "RLIMIT_NOFILE" "$refuse" -l NOFILE=8
cell "RLIMIT_FSIZE 1M" off off "store" "$refuse" -l FSIZE=1048576
cell "RLIMIT_FSIZE 32M" move uring "" "$refuse" -l FSIZE=33554432

# ---- not root ----
if [ "$(id -u)" -eq 0 ] && "$refuse" -u test -x "$sweep" &&
	"$refuse" -u test -x "$(command -v horizon-run)" &&
	"$refuse" -u test -r "$HORIZON_PRELOAD"; then
	chmod 1777 "$tmp" "$store"
	before="$refuse -u"
	if [ "$(cat /proc/sys/vm/unprivileged_userfaultfd)" = 0 ] &&
		! "$refuse" -u test -w /dev/userfaultfd; then
		cell "nobody" off off "unprivileged_userfaultfd"
	else
		cell "nobody" move uring ""
	fi
	cell "no threads" off off "RLIMIT_NPROC" "$refuse" -l NPROC=0
	before=
	chmod 755 "$tmp"
else
	echo "$name: not as another user: skipped" >&2
fi

# ---- no /proc: horizon-run has it, the command has not ----
# The job's segment is found through /proc: its report knows nothing, and the
# program counts for itself.
if "$refuse" -P true 2>/dev/null; then
	lines=2
	# shellcheck disable=SC2086
	same 0 horizon-run --ram 64M --store "$store" --report "$report" \
		"$refuse" -P "$sweep" $size
	# shellcheck disable=SC2086
	same 0 "$refuse" -P env LD_PRELOAD="$HORIZON_PRELOAD" \
		HORIZON_STORE="$store" "$sweep" $size
fi

# ---- stores; horizon-run refuses some of them by itself ----
[ -w /dev/shm ] && cell "tmpfs" move uring "" env HORIZON_STORE=/dev/shm
cell "a new file" move uring "" \
	env HORIZON_STORE="$store/new.store" HORIZON_STORE_SIZE=512M
[ -f "$store/new.store" ] || fail "the named store was removed"
cell "an old file" move uring "" env HORIZON_STORE="$store/new.store"
spoken=1
for bad in "$store/missing/deep" /proc /dev/null /dev/tty; do
	cell "store $bad" off off "store" env HORIZON_STORE="$bad"
done
if [ "$(id -u)" -eq 0 ] && mkdir "$store/ro" &&
	mount -t tmpfs -o ro none "$store/ro" 2>/dev/null; then
	defer umount "$store/ro"
	cell "read-only" off off "store" env HORIZON_STORE="$store/ro"
fi

echo "$name: $done_cells cells"
