#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Each forwarder of the library has an entry in its table of frames, and begins
# with the mark of a place that indirect jumps may reach.
. "${top_srcdir:-.}/tests/cuda/functions.sh"
for tool in readelf nm objdump; do
	command -v "$tool" >/dev/null || skip "no $tool"
done
nm -D --defined-only "$HORIZON_PRELOAD" |
	awk '$3 ~ /^(cu[A-Z]|dlopen$|dlsym$)/ { print $1, $3 }' >"$tmp/stubs"
[ "$(wc -l <"$tmp/stubs")" -gt 600 ] || fail "too few forwarders"
readelf --debug-dump=frames "$HORIZON_PRELOAD" 2>/dev/null |
	sed -n 's/.* FDE .*pc=\([0-9a-f]*\)\.\..*/\1/p' >"$tmp/frames"
awk 'NR == FNR { has[$1]; next }
!($1 in has) { print "no frame: " $2; bad = 1 }
END { exit bad }' "$tmp/frames" "$tmp/stubs" >&2 || fail "frames are missing"

case $(uname -m) in
x86_64) mark=endbr64 ;;
aarch64) mark='bti' ;;
*) skip "another processor" ;;
esac
objdump -d --no-show-raw-insn "$HORIZON_PRELOAD" |
	awk -v mark="$mark" '
	NR == FNR { want[$2]; next }
	/^[0-9a-f]+ <.*>:$/ {
		name = substr($2, 2, length($2) - 3)
		first = 1
		next
	}
	first {
		first = 0
		base = name
		sub(/^lazy_/, "", base)
		if (!(base in want))
			next
		seen[name]
		if (index($0, mark) == 0) {
			print "no mark: " name
			bad = 1
		}
	}
	END {
		for (name in want)
			if (!(name in seen)) {
				print "not found: " name
				bad = 1
			}
		exit bad
	}' "$tmp/stubs" - >&2 || fail "marks are missing"
