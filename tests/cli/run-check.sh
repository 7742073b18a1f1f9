#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --check: a table, a way out for each unfavourable line, one closing line
# that agrees with the status.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
. "$top_srcdir/tests/cli/check-functions.sh"
any_preload

check
while read -r item; do
	says out "^$item +(ok|poor|off) "
done <<EOF_ITEMS
kernel
preload library
/dev/userfaultfd
userfaultfd
UFFDIO_MOVE
io_uring
seccomp
huge pages
memory
memory limit
RAM budget
swap
NUMA
NUMA balancing
overcommit
max_map_count
locked memory
address space
data segment
open files
processes
file size
store
CUDA driver
EOF_ITEMS
# and no others
sed -n 's/^HZ_[A-Z]*("\([^"]*\)",.*/\1/p' "$top_srcdir/tools/run_check.def" \
	>"$tmp/items"
[ "$(wc -l <"$tmp/items")" -eq "$(grep -Ec '  (ok|poor|off) ' "$tmp/table")" ] ||
	fail "not the rows of run_check.def"
works=$status

# What the budget is of.
check --ram 128M
says out '^RAM budget +(ok|poor) +128 MiB: ram = 128M'
says mode 'ram=128MiB '
check --ram 50%
says out "^RAM budget +(ok|poor) .*: 50% of the (machine's memory|cgroup's limit)"

# Knobs that stop it.
check --set fault=off
[ "$status" -eq 1 ] || fail "fault=off works"
poor UFFDIO_MOVE off 'fault=auto'
check --set enable=0
[ "$status" -eq 1 ] || fail "enable=0 works"

# Limits, each with its remedy. The soft ones, so that they can go down.
limited()
{
	item=$1 remedy=$2
	shift 2
	# built with a sanitizer the tool itself needs terabytes
	(ulimit "$@" && horizon-run --version) >/dev/null 2>&1 || {
		echo "$name: ulimit $*: not tried, the tool does not start" >&2
		return
	}
	(ulimit "$@" && horizon-run --check) >"$tmp/table" 2>"$tmp/err" || :
	poor "$item" poor "$remedy"
}
limited 'open files' 'ulimit -n' -S -n 64
limited 'file size' 'ulimit -f' -S -f 1000000
limited 'address space' 'ulimit -v' -S -v 8000000
limited 'data segment' 'ulimit -d' -S -d 8000000

# Stores.
check --store "$tmp/absent/store"
[ "$status" -eq 1 ] || fail "a store that is not there works"
poor store off 'horizon-run --store'
for place in /proc /sys /proc/self/comm; do
	[ -e "$place" ] || continue
	check --store "$place"
	[ "$status" -eq 1 ] || fail "$place works"
	says out "^store +off +$place: is on (proc|sysfs), which stores nothing"
	run 125 horizon-run --store "$place" true
	one_line
	says err "store: $place: is on .*name a directory"
done
echo thesis >"$tmp/thesis"
check --store "$tmp/thesis"
[ "$status" -eq 1 ] || fail "somebody's file works"
says out '^store +off .*content that is not from Horizon'
poor store off 'store_overwrite=1'
run 125 horizon-run --store "$tmp/thesis" true
one_line
says err 'thesis: has content that is not from Horizon.*store_overwrite=1'
[ "$(cat "$tmp/thesis")" = thesis ] || fail "the file was written"
check --store "$tmp/thesis" --set store_overwrite=1
says out '^store +(ok|poor) '
: >"$tmp/empty"
check --store "$tmp/empty"
says out '^store +(ok|poor) '
[ ! -s "$tmp/empty" ] || fail "the probe wrote into the file"
mkdir "$tmp/store"
check --store "$tmp/store" --store-size 64M --ram 128M
poor store poor 'with more room|on (a|an) |ext4|docker|serves'
check --set io=threads --ram 128M --store "$tmp/store"
[ "$status" -eq "$works" ] || fail "threads work differently"
[ "$works" -ne 0 ] || says mode "io=threads ram=128MiB store=$tmp/store\$"
[ -z "$(ls -A "$tmp/store")" ] || fail "the probes left a file"
if [ -d /dev/shm ] && [ "$(stat -f -c %T /dev/shm)" = tmpfs ]; then
	check --store /dev/shm
	poor store poor 'tmpfs is RAM'
fi

# The driver is looked for, not loaded.
mkdir "$tmp/lib"
echo 'not a library' >"$tmp/lib/libcuda.so.1"
LD_LIBRARY_PATH=$tmp/lib check
says out "^CUDA driver +ok +$tmp/lib/libcuda.so.1, gpu = off"
check --set cuda_driver="$tmp/no-driver"
poor 'CUDA driver' poor 'cuda_driver=FILE'
