#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Ten minutes on a real GPU: what Unified Memory, discard, virtual memory
# management, captures and launches really do, and whether the shim is alive.
#
# usage: run.sh [ITEM...]     (all: 0 1 2 3 4 5 6 7 8 9)
#
# One JSON object an item on stdout, as soon as the item is done; progress on
# stderr. Each item has a time limit, and one that is cut short says what it
# knew. Nothing fills the card, and no clock or mode of it is changed.
#
# HORIZON_PRELOAD  path of libhorizon-cuda.so; items 1, 7 and 8 run without
#                  it too and say "shim": null
# HORIZON_GPU      what the shim is to do in those items (observe)
# HORIZON_RUN      path of horizon-run, for the report in item 7
# HORIZON_TRIPWIRE 0: item 7 does only that
# PROBE_KERNELS    kernels for the probes, instead of those compiled here
#
# Needs nvcc, a C compiler, and python3 (with torch for items 1, 5, 7 and 8).
# Exit status: 0 all items ran, 1 one did not, 77 no GPU.

here=$(cd "$(dirname "$0")" && pwd) || exit 99

# number name limit_in_seconds
items='0 facts 15
1 alive 60
2 physics 30
3 prefetch 40
4 capture 20
5 managed_speed 55
6 vmm 40
7 pointer_coverage 120
8 overhead 60
9 discard 30'

say()
{
	echo "gpu: $*" >&2
}

skip()
{
	say "$*: skipped"
	exit 77
}

# One object of the facts on stdin. object NUMBER NAME STATUS SECONDS
object()
{
	awk -F '\t' -v item="$1" -v name="$2" -v status="$3" -v seconds="$4" '
		NF == 2 && $2 != "" {
			if (!($1 in value))
				order[++n] = $1
			value[$1] = $2
		}
		END {
			printf "{\"item\":%s,\"name\":\"%s\"", item, name
			printf ",\"status\":\"%s\",\"seconds\":%s", status, \
				seconds
			for (i = 1; i <= n; i++)
				printf ",\"%s\":%s", order[i], value[order[i]]
			print "}"
		}'
}

# Path of the real driver, as the loader finds it.
find_driver()
{
	python3 -c '
import ctypes
ctypes.CDLL("libcuda.so.1")
print(next(line.split(None, 5)[5].strip() for line in open("/proc/self/maps")
           if "libcuda.so" in line))' 2>/dev/null
}

have_gpu()
{
	python3 -c '
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
count = ctypes.c_int()
bad = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
raise SystemExit(bool(bad or count.value < 1))' 2>/dev/null
}

find_tools()
{
	nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) ||
		skip "no nvcc"
	cc=$(command -v "${CC:-cc}" || command -v gcc) || skip "no C compiler"
	cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
	include=$cuda/include
	[ -r "$include/cuda.h" ] || skip "no $include/cuda.h"
	arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader \
		2>/dev/null | sed -n '1s/\.//p')
	arch=sm_${arch:-90}
	export nvcc cc cuda include
}

# build NAME COMMAND...: in the background; what fails leaves a file.
build()
{
	what=$1
	shift
	{
		"$@" >"$work/$what.log" 2>&1 || {
			say "$what does not compile:"
			sed 's/^/  /' "$work/$what.log" >&2
			: >"$work/$what.failed"
		}
	} &
}

# shellcheck disable=SC2317 # called by build
compile()
{
	"$cc" -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter \
		-I"$include" -Wl,--allow-shlib-undefined "$@"
}

build_all()
{
	for probe in facts physics prefetch capture vmm overhead discard; do
		build "$probe" compile "$here/$probe.c" "$here/probe.c" \
			-o "$work/$probe" "$real" -ldl -lpthread -lm
	done
	build libmanaged compile -fPIC -shared -fvisibility=hidden \
		"$here/managed.c" "$here/probe.c" -o "$work/libmanaged.so" \
		"$real" -lm
	# A stand-in whose SONAME is the path of the driver: who links to it
	# needs the driver by that path.
	: >"$work/empty.c"
	"$cc" -shared -fPIC "$work/empty.c" -o "$work/standin.so" \
		-Wl,-soname,"$real"
	build libtripwire compile -fPIC -shared -fvisibility=hidden \
		-DTRIPWIRE_REAL="\"$real\"" "$here/tripwire.c" \
		"$here/tripwire_arena.c" "$here/tripwire_scan.c" \
		"$here/probe.c" -o "$work/libtripwire.so" \
		-Wl,-soname,libcuda.so.1 -Wl,--no-as-needed "$work/standin.so" \
		-ldl -lpthread -lm
	for kind in static shared; do
		build "alive_$kind" "$nvcc" -cudart "$kind" -arch="$arch" \
			"$here/alive.cu" -o "$work/alive_$kind" -ldl
	done
	if [ -z "${PROBE_KERNELS:-}" ]; then
		PROBE_KERNELS=$work/kernels.fatbin
		build kernels "$nvcc" -fatbin -arch="$arch" \
			"$here/kernels.cu" -o "$PROBE_KERNELS"
	fi
	export PROBE_KERNELS
	# Reads torch once, so that no item pays for a cold disk.
	{ python3 -c 'import torch' >"$work/torch.log" 2>&1 || :; } &
	sed -n 's/.*CUDAAPI \(cu[A-Z][A-Za-z0-9_]*\)(.*/\1/p' \
		"$include/cuda.h" | sort -u >"$work/names"
	wait
}

# run_item NUMBER NAME LIMIT
run_item()
{
	say "item $1 ($2), at most $3 s"
	begin=$(date +%s)
	timeout -k 5 "$3" sh "$here/items.sh" "$1" \
		>"$work/facts.$1" </dev/null
	status=$?
	seconds=$(($(date +%s) - begin))
	case $status in
	0) word=ok ;;
	124 | 137) word="cut after $3 s" ;;
	*) word="failed, exit $status" ;;
	esac
	object "$1" "$2" "$word" "$seconds" <"$work/facts.$1"
	[ "$status" -eq 0 ]
}

for item in "$@"; do
	echo "$items" | grep -q "^$item " || {
		echo "usage: run.sh [ITEM...], an ITEM being 0 to 9" >&2
		exit 2
	}
done
command -v python3 >/dev/null || skip "no python3"
have_gpu || skip "no GPU"
find_tools
real=$(find_driver)
work=$(mktemp -d "${TMPDIR:-/tmp}/horizon-gpu.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 99' HUP INT TERM
# Compiled files of python stay out of the source.
PYTHONPYCACHEPREFIX=$work/pycache
PYTHONUNBUFFERED=1
TORCHINDUCTOR_CACHE_DIR=$work/inductor
TRITON_CACHE_DIR=$work/triton
export work real PYTHONPYCACHEPREFIX PYTHONUNBUFFERED
export TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR
say "compiling for $arch"
build_all

[ $# -gt 0 ] || set -- 0 1 2 3 4 5 6 7 8 9
result=0
for wanted in "$@"; do
	# The list is short: one line of it is looked up an item.
	line=$(echo "$items" | grep "^$wanted ")
	# shellcheck disable=SC2086 # three words
	run_item $line || result=1
done
exit $result
