#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every option, knob and counter is documented, and the pages render.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
need groff

source_page()
{
	if [ -e "$top_builddir/man/$1" ]; then
		echo "$top_builddir/man/$1"
	else
		echo "$top_srcdir/man/$1"
	fi
}

for page in horizon.7 horizon-run.1 horizon-stat.1 horizon.conf.5 \
	horizon-stats.5 horizon-replay.1 horizon-trace.5; do
	file=$(source_page "$page")
	[ -r "$file" ] || skip "$page is not built, run make first"
	groff -man -ww -z -Tutf8 "$file" 2>"$tmp/err"
	silent_on err
	# plain text on one line, for the searches below
	groff -man -Tascii -P-cbou "$file" 2>/dev/null | tr -s ' \n' '  ' \
		>"$tmp/$page"
	grep -q '@[A-Za-z]*@' "$tmp/$page" && fail "$page has a raw @NAME@"
done

for tool in horizon-run horizon-stat horizon-replay; do
	"$tool" --help >"$tmp/help"
	"$tool" --long-options >"$tmp/options"
	[ "$(wc -l <"$tmp/options")" -gt 5 ] || fail "$tool lists no options"
	while read -r option; do
		grep -q -e "^  .*$option\( \|\$\)" "$tmp/help" ||
			fail "$tool --help lacks $option"
		# as the page sets it: behind a short one, or first
		grep -q -e "[ ,]${option}[ ,.=]" "$tmp/$tool.1" ||
			fail "$tool(1) lacks $option"
	done <"$tmp/options"
	# and no option in the page that the tool does not know
	sed -n 's/^\.\(BR\|BI\|B\) .*\\-\\-\([a-z\\-]*\).*/--\2/p' \
		"$(source_page "$tool.1")" | sed 's/\\//g' | sort -u |
		while read -r option; do
			case $option in
			--vram | --plan | --) continue ;;
			esac
			grep -qx -e "$option" "$tmp/options" || echo "$option"
		done >"$tmp/unknown"
	[ ! -s "$tmp/unknown" ] ||
		fail "$tool(1) has unknown options: $(cat "$tmp/unknown")"
done

sed -n 's/^HZ_KNOB(\([a-z_]*\),.*/\1/p' "$top_srcdir/lib/base/knobs.def" \
	>"$tmp/knobs"
[ -s "$tmp/knobs" ] || fail "no knobs"
while read -r knob; do
	grep -q "^\.B $knob\$" "$(source_page horizon.conf.5)" ||
		fail "horizon.conf(5) lacks $knob"
done <"$tmp/knobs"

sed -n 's/^HZ_STAT(.*"\(.*\)",$/\1/p' "$top_srcdir/lib/base/stats.def" \
	>"$tmp/counters"
[ "$(wc -l <"$tmp/counters")" -gt 30 ] || fail "no counters"
while read -r counter; do
	grep -Fq " $counter " "$tmp/horizon-stats.5" ||
		fail "horizon-stats(5) lacks $counter"
done <"$tmp/counters"

# Columns of horizon-stat.
horizon-stat -o '?' 2>&1 | sed 's/.*not in //' | tr ' ' '\n' >"$tmp/columns"
[ "$(wc -l <"$tmp/columns")" -gt 10 ] || fail "no columns"
while read -r column; do
	grep -Fq " $column " "$tmp/horizon-stat.1" ||
		fail "horizon-stat(1) lacks the column $column"
done <"$tmp/columns"
