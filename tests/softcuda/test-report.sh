#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The line of JSON at exit: one a process, with what was left behind; bad
# settings end a program instead of being ignored.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

SOFTCUDA_REPORT=$dir/report ./test-generation
SOFTCUDA_REPORT=$dir/report ./test-pool
[ "$(wc -l <"$dir/report")" -eq 2 ]
grep -q '^{"pid":[0-9]*,.*}$' "$dir/report"
# the first leaves its module, the second memory of no kind
sed -n 1p "$dir/report" | grep -q '"live_modules":1,'
sed -n 1p "$dir/report" | grep -q '"too_new_calls":1,'
sed -n 2p "$dir/report" | grep -q '"live_allocations":0,'

for bad in SOFTCUDA_VRAM=12X SOFTCUDA_VRAM= SOFTCUDA_LAG=x SOFTCUDA_DEVICES=99 \
	SOFTCUDA_CMA=2 SOFTCUDA_DISCARD=never; do
	rc=0
	env "$bad" ./test-graph 2>"$dir/err" || rc=$?
	case $bad in
	*=) [ "$rc" -eq 0 ] ;; # empty is not set
	*)
		[ "$rc" -eq 125 ]
		grep -q "${bad%%=*}" "$dir/err"
		;;
	esac
done
