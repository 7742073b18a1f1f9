#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# make lint: shellcheck over the scripts, cppcheck over the C files; each only
# where it is installed.
set -u
cd "${top_srcdir:?}" || exit 1
rc=0

if command -v shellcheck >/dev/null; then
	echo "shellcheck"
	# Variables come from make's environment and from sourced files.
	find tools tests .ci -type f \( -name '*.sh' -o -path .ci/run \) \
		-exec shellcheck -x -S warning -e SC2034,SC2154 {} + || rc=1
	[ ! -e tools/horizon.bash ] ||
		shellcheck -s bash -S warning tools/horizon.bash || rc=1
else
	echo "shellcheck is not installed: scripts not looked at"
fi

if command -v cppcheck >/dev/null; then
	echo "cppcheck"
	# Left out: what it mistakes in macros and mmap, and gcc sees.
	cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr \
		--enable=warning,portability \
		--suppress=missingInclude --suppress=unknownMacro \
		--suppress=internalAstError --suppress=uninitvar \
		--suppress=ctuuninitvar --suppress=ctunullpointer \
		--suppress=nullPointerRedundantCheck \
		-I lib -I kernels lib shim tools kernels tests/trainer \
		tests/bench || rc=1
else
	echo "cppcheck is not installed: C files not looked at"
fi
exit $rc
