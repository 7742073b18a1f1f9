#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No bytes break the readers of traces: the corpus, and the same mutations of
# it in every run. `make fuzz` builds the targets for a fuzzer.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"

fuzz=$top_builddir/tests/fuzz
corpus=$top_srcdir/tests/fuzz/corpus

run 0 "$fuzz/fuzz-tsv" 2000 "$corpus"/*.tsv
says out '^[1-9][0-9]* mutations of [1-9]'

# A real trace, whole and a few of its events.
"$top_builddir/tests/replay/write-trace" >"$tmp/whole" || fail "no trace"
"$top_builddir/tests/replay/write-trace" 1 >"$tmp/short" || fail "no trace"
run 0 "$fuzz/fuzz-trace" 1000 "$tmp/short" "$tmp/whole"
says out '^2000 mutations of 2 files'
