#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The preload library shows these names and no others: the C library's that it
# stands in for, and all of the CUDA driver's. They carry no version, or they
# would not stand in for the C library's.
want='aligned_alloc calloc dlopen free madvise malloc malloc_usable_size memalign
mlock mlock2 mlockall mmap mmap64 mprotect mremap msync munlock munlockall
munmap posix_madvise posix_memalign pvalloc realloc reallocarray shmat valloc
vmsplice'

command -v nm >/dev/null || {
	echo 'nm: not found' >&2
	exit 77
}
have=$(nm -D --defined-only "$HORIZON_PRELOAD" | sed 's/.* //' |
	grep -v '^horizon_' | sort | tr '\n' ' ') || exit 99
want="$want $(sed -n 's/^HZ_CU(\(.*\))$/\1/p' \
	"${top_srcdir:?}/shim/cuda_names.def")"
want=$(echo $want | tr ' ' '\n' | sort | tr '\n' ' ')
[ "$have" = "$want" ] || {
	printf 'exported: %s\nwanted:   %s\n' "$have" "$want" >&2
	exit 1
}
