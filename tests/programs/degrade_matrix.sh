#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whatever is refused, the program computes the same and exits the same, says
# no more than two lines, and the report has the mode and the reason. See
# degrade_stores.sh for what can be wrong with a store.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/programs/degrade-functions.sh"

cell nothing move uring ""

# ---- system calls, as a container's profile refuses them ----
errors="EPERM ENOSYS"
[ -z "${TEST_SHORT:-}" ] || errors=EPERM
for error in $errors; do
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
	cell "io_uring_enter $error" move threads "" \
		"$refuse" -e $error -s io_uring_enter
	cell "fallocate $error" move uring "" "$refuse" -e $error -s fallocate
	cell "UFFDIO_REGISTER $error" off off "userfaultfd" \
		"$refuse" -e $error -s uffd_register
done

# ---- kernels without UFFDIO_MOVE: one that says so, one that does not ----
cell "before Linux 6.8" off off "Linux 6.8" "$refuse" -e EINVAL -s uffd_features
for error in EINVAL ENOSYS EPERM; do
	cell "UFFDIO_MOVE $error" off off "userfaultfd" \
		"$refuse" -e $error -s uffd_move
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
counted full over_budget

# ---- not root ----
if [ "$(id -u)" -eq 0 ] && "$refuse" -u test -x "$sweep" &&
	"$refuse" -u test -x "$(command -v horizon-run)" &&
	"$refuse" -u test -r "$HORIZON_PRELOAD"; then
	chmod 1777 "$tmp" "$store"
	before="$refuse -u"
	if [ "$(cat /proc/sys/vm/unprivileged_userfaultfd)" = 0 ] &&
		! "$refuse" -u test -w /dev/userfaultfd; then
		nobody=off nobody_io=off nobody_reason=unprivileged_userfaultfd
	else
		nobody=move nobody_io=uring nobody_reason=
	fi
	cell "nobody" "$nobody" "$nobody_io" "$nobody_reason"
	cell "no threads" off off "RLIMIT_NPROC" "$refuse" -l NPROC=0
	cell "nobody, RLIMIT_MEMLOCK 0" "$nobody" "$nobody_io" "$nobody_reason" \
		"$refuse" -l MEMLOCK=0
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

echo "$name: $done_cells cells"
