#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The preload library shows these names and no others; and they carry no
# version, or they would not stand in for the C library's.
want='aligned_alloc calloc free madvise malloc malloc_usable_size memalign
mlock mlock2 mlockall mmap mmap64 mprotect mremap msync munlock munlockall
munmap posix_madvise posix_memalign pvalloc realloc reallocarray shmat valloc
vmsplice'

command -v nm >/dev/null || {
	echo 'nm: not found' >&2
	exit 77
}
have=$(nm -D --defined-only "$HORIZON_PRELOAD" | sed 's/.* //' |
	grep -v '^horizon_' | sort | tr '\n' ' ') || exit 99
want=$(echo $want | tr ' ' '\n' | sort | tr '\n' ' ')
[ "$have" = "$want" ] || {
	printf 'exported: %s\nwanted:   %s\n' "$have" "$want" >&2
	exit 1
}
