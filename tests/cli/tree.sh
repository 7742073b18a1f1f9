#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The house rules that can be read off the sources: includes go down only,
# files stay small, the library neither exits nor prints nor reads getenv.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
cd "$top_srcdir" || exit 99

# sources FOLDER: its C files
sources()
{
	find "$1" -name '*.[ch]' -o -name '*.def' -type f | sort
}

# may_include FOLDER REGEX: every quoted include in FOLDER is of its own
# folder (no slash) or matches.
may_include()
{
	folder=$1
	files=$(sources "$folder")
	[ -n "$files" ] || fail "no sources in $folder"
	for file in $files; do
		sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\(.*\)".*/\1/p' "$file" |
			while read -r header; do
				[ -e "$folder/$header" ] && continue
				echo "$header" | grep -Eqx "$2" ||
					echo "$file: $header"
			done
	done >"$tmp/wrong"
	[ ! -s "$tmp/wrong" ] ||
		fail "includes upward: $(tr '\n' ';' <"$tmp/wrong")"
}

kernels=$(cd kernels && ls -- *.h | tr '\n' '|' | sed 's/|$//; s/\./\\./g')
may_include lib/base 'base/.*|config\.h'
may_include lib/policy '(base|policy)/.*|config\.h'
may_include lib/backend "(base|backend)/.*|config\\.h|$kernels"
may_include lib/engine "(base|policy|backend|engine)/.*|config\\.h|$kernels"
may_include shim 'base/.*|engine/(arena|gpu)\.h|config\.h|horizon\.h'
may_include tools \
	'base/.*|engine/arena\.h|backend/(fault|store_guard)\.h|policy/(tensor_plan|period|trace_file|gpu_map)\.h|config\.h|horizon\.h'

for folder in kernels lib shim tools tests man; do
	find "$folder" \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' \
		-o -name '*.cu' \) -type f -exec awk '
		END { if (NR > 700) print FILENAME ": " NR " lines" }' {} \;
done >"$tmp/long"
[ ! -s "$tmp/long" ] || fail "too long: $(cat "$tmp/long")"

# Comments may name these; code may not. One exception: a forked child that
# could not read its parent's memory must not go on.
word='(^|[^A-Za-z0-9_>.])'
for file in $(sources lib | grep '\.c$'); do
	sed -e 's:/\*.*\*/::' -e '/^[ \t]*\*/d' -e '/^[ \t]*\/\*/d' "$file" |
		grep -nE "$word(_?exit|v?printf|puts|putchar|v?fprintf|(secure_)?getenv) *\(" |
		sed "s:^:$file: "
done | grep -v '^lib/engine/fork\.c.*[^A-Za-z]_exit(' >"$tmp/calls"
[ ! -s "$tmp/calls" ] || fail "in the library: $(cat "$tmp/calls")"

# Every source says its licence.
for folder in kernels lib shim tools tests man; do
	find "$folder" \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' \
		-o -name '*.[157]' -o -name '*.in' \) \
		-type f ! -name '*.pc.in' ! -name Makefile.in
done | while read -r file; do
	head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
		echo "$file"
done >"$tmp/bare"
[ ! -s "$tmp/bare" ] || fail "no licence line: $(tr '\n' ' ' <"$tmp/bare")"
