#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No bytes break the readers of knobs and sizes: the corpus, and the same
# mutations of it in every run. `make fuzz` builds the targets for a fuzzer.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"

fuzz=$top_builddir/tests/fuzz
corpus=$top_srcdir/tests/fuzz/corpus
many=2000
[ -z "${TEST_SHORT:-}" ] || many=500

# An environment is the same with a NUL at the end of each line.
sed -e '/=/!d' -e 's/ *= */=/' "$corpus/knobs.conf" | tr '\n' '\0' >"$tmp/env"
run 0 "$fuzz/fuzz-knobs" "$many" "$corpus/knobs.conf" "$tmp/env"
says out '^[1-9][0-9]* mutations of 2 files'

run 0 "$fuzz/fuzz-sizes" "$many" "$corpus/sizes.txt"
says out '^[1-9][0-9]* mutations of 1 files'
