#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completion offers every long option, the knobs and the command's words.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
need bash
any_preload

# complete FUNCTION WORD...: what is offered for the last word.
complete_words()
{
	bash --norc -c '
		. "$1" || exit 99
		shift
		function=$1
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		"$function" || exit 98
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$top_srcdir/tools/horizon.bash" "$@" \
		>"$tmp/out" 2>"$tmp/err" || fail "completion failed: $*"
	silent_on err
}

for tool in run stat replay; do
	complete_words _horizon_$tool horizon-$tool --
	sort "$tmp/out" >"$tmp/offered"
	horizon-$tool --long-options | sort >"$tmp/options"
	[ -s "$tmp/options" ] || fail "horizon-$tool lists no options"
	cmp -s "$tmp/offered" "$tmp/options" ||
		fail "horizon-$tool: not all options are offered"
done

complete_words _horizon_run horizon-run --set io_
says out '^io_depth=$'
says out '^io_threads=$'
[ "$(wc -l <"$tmp/out")" -eq 2 ] || fail "not the two knobs"

mkdir "$tmp/a-directory"
complete_words _horizon_run horizon-run --store "$tmp/a-d"
says out "^$tmp/a-directory\$"

# The command's own words are not ours, with or without --.
complete_words _horizon_run horizon-run --ram 1G tru
says out '^true$'
complete_words _horizon_run horizon-run --set ram=1G ls --
! grep -q -e '--report' "$tmp/out" || fail "our options after the command"
complete_words _horizon_run horizon-run -- ls "$tmp/a-d"
says out "^$tmp/a-directory\$"
complete_words _horizon_run horizon-run --set ram = 1G --rep
says out '^--report$'

complete_words _horizon_stat horizon-stat --format o
says out '^openmetrics$'
if [ -x "$top_builddir/tests/cli/fake-process" ]; then
	start_fake
	complete_words _horizon_stat horizon-stat --pid "$fake"
	says out "^$fake\$"
	exec 7>&-
fi
