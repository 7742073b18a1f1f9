#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The preload libraries show these names and no others: the C library's that
# they stand in for, and one of them all of the CUDA driver's. They carry no
# version, or they would not stand in for the C library's. A program that looks
# for a driver must not find one in the library that is there for memory alone.
want='aligned_alloc calloc free madvise malloc malloc_usable_size memalign
mlock mlock2 mlockall mmap mmap64 mprotect mremap msync munlock munlockall
munmap posix_madvise posix_memalign pvalloc realloc reallocarray shmat valloc
vmsplice'

for tool in nm readelf; do
	command -v $tool >/dev/null || {
		echo "$tool: not found" >&2
		exit 77
	}
done

# check LIBRARY SONAME NAME...
check()
{
	library=$1 soname=$2
	shift 2
	have=$(nm -D --defined-only "$library" | sed 's/.* //' |
		grep -v '^horizon_' | sort | tr '\n' ' ') || exit 99
	names=$(echo "$@" | tr ' ' '\n' | sort | tr '\n' ' ')
	[ "$have" = "$names" ] || {
		echo "$library"
		printf 'exported: %s\nwanted:   %s\n' "$have" "$names"
		exit 1
	}
	readelf -d "$library" | grep -Fq "soname: [$soname]" || {
		echo "$library: the SONAME is not $soname"
		exit 1
	}
} >&2

# shellcheck disable=SC2046,SC2086 # lists of names
check "$HORIZON_PRELOAD" libhorizon-preload.so $want
# shellcheck disable=SC2046,SC2086
check "${HORIZON_PRELOAD%/*}/libhorizon-cuda.so" libcuda.so.1 $want \
	dlopen dlsym __longjmp_chk _longjmp longjmp siglongjmp \
	$(sed -n 's/^HZ_CU(\(.*\))$/\1/p' \
		"${top_srcdir:?}/shim/cuda_names.def")
