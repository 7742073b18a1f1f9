#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gen-cuda.sh [--check] [TOOLKIT]: what the shim must know of the driver API,
# from the headers and the stub library of a CUDA toolkit (/usr/local/cuda):
#   cuda_names.def  every exported name; the forwarders are made from it
#   cuda_sigs.h     the parameters of the functions in cuda_hooks.def
# With --check nothing is written: 1 if one of them is not what this toolkit
# says, or if a form of a hooked function is neither hooked nor excused.
set -eu
check=false
if [ "${1-}" = --check ]; then
	check=true
	shift
fi
toolkit=${1-/usr/local/cuda}
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C

stub=$toolkit/lib64/stubs/libcuda.so
[ -r "$stub" ] || stub=$toolkit/lib/stubs/libcuda.so
nm -D --defined-only "$stub" | awk '{ print $3 }' | grep '^cu[A-Z]' |
	sort -u >"$tmp/exported"
sed -n 's/^HZ_[A-Z_]*(\(cu[A-Za-z0-9_]*\),.*/\1/p' "$here/cuda_hooks.def" \
	>"$tmp/used"
sed -n 's/^HZ_HOOK[A-Z_]*(\(cu[A-Za-z0-9_]*\),.*/\1/p' \
	"$here/cuda_hooks.def" >"$tmp/hooked"

# A statement a line: the prototypes under their exported names.
echo '#include <cuda.h>' | ${CC:-cc} -E -P -D__CUDA_API_VERSION_INTERNAL \
	-I"$toolkit/include" - | tr -s '\n\t ' '   ' | tr ';' '\n' \
	>"$tmp/statements"

{
	cat <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every name that the driver library exports, in order; by gen-cuda.sh.
 */
END
	sed 's/.*/HZ_CU(&)/' "$tmp/exported"
} >"$tmp/cuda_names.def"

{
	cat <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters and arguments of the hooked functions, under their exported
 * names; by gen-cuda.sh. The types are in cuda_abi.h.
 */
/* clang-format off */
#ifndef HZ_CUDA_SIGS_H
#define HZ_CUDA_SIGS_H
END
	awk '
	NR == FNR { want[$1] = ++n; name[n] = $1; next }
	match($0, /CUresult *cu[A-Za-z0-9_]* *\(.*\)/) {
		text = substr($0, RSTART, RLENGTH)
		sub(/^CUresult */, "", text)
		at = index(text, "(")
		f = substr(text, 1, at - 1)
		sub(/ *$/, "", f)
		if (!(f in want))
			next
		list = substr(text, at + 1, length(text) - at - 1)
		sig[f] = list
		k = split(list, part, ",")
		args = ""
		for (i = 1; i <= k; i++) {
			p = part[i]
			sub(/ *(\[[^]]*\])* *$/, "", p)
			sub(/^.*[^A-Za-z0-9_]/, "", p)
			if (p == "void")
				p = ""
			args = args (i > 1 ? ", " : "") p
		}
		arg[f] = args
	}
	END {
		for (i = 1; i <= n; i++) {
			f = name[i]
			if (!(f in sig)) {
				print "no prototype of " f >"/dev/stderr"
				exit 1
			}
			print "#define HZ_SIG_" f " (" sig[f] ")"
			print "#define HZ_ARGS_" f " (" arg[f] ")"
		}
	}' "$tmp/used" "$tmp/statements"
	echo '#endif'
} >"$tmp/cuda_sigs.h"

# Every exported form of a hooked function is hooked, or excused in a comment
# "not hooked: NAME..." of cuda_hooks.def.
sed -n 's/^.*not hooked: \(.*[A-Za-z0-9_]\).*/\1/p' "$here/cuda_hooks.def" |
	tr ' ' '\n' | sort -u >"$tmp/excused"
awk '
function base(f) {
	sub(/_pt[sd][sz]$/, "", f)
	sub(/_v[0-9]+$/, "", f)
	return f
}
FILENAME ~ /hooked$/ { hooked[$1]; family[base($1)]; next }
FILENAME ~ /excused$/ { hooked[$1]; next }
(base($1) in family) && !($1 in hooked) { print "not hooked: " $1; bad = 1 }
END { exit bad }' "$tmp/hooked" "$tmp/excused" "$tmp/exported" >&2 || exit 1

for file in cuda_names.def cuda_sigs.h; do
	if $check; then
		cmp "$tmp/$file" "$here/$file" >&2 || exit 1
	else
		cp "$tmp/$file" "$here/$file"
	fi
done
