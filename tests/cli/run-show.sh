#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --show prints every knob once, name first, and where the value comes from.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
any_preload

run 0 horizon-run --show
silent_on err
sed -n 's/^HZ_KNOB(\([a-z_]*\),.*/\1/p' "$top_srcdir/lib/base/knobs.def" \
	>"$tmp/want"
[ -s "$tmp/want" ] || fail "no knob in knobs.def"
awk '{ print $1 }' "$tmp/out" | cmp -s - "$tmp/want" ||
	fail "not the knobs of knobs.def, in its order"
says out '^io_depth +16 +built-in$'
says out '^ram +80% +built-in, [0-9.]+ [KMGT]iB here$'
awk 'NF < 3 { exit 1 }' "$tmp/out" || fail "a line without value or source"

# Each source, the later one wins.
printf 'io_depth = 3\nread_ahead = 5\nio = threads\n' >"$tmp/conf"
HORIZON_CONF=$tmp/conf
HORIZON_READ_AHEAD=6
HORIZON_IO=uring
export HORIZON_CONF HORIZON_READ_AHEAD HORIZON_IO
run 0 horizon-run --show --set io=auto --ram 1G --store-size 2G --verify
says out "^io_depth +3 +$tmp/conf:1\$"
says out '^read_ahead +6 +HORIZON_READ_AHEAD$'
says out '^io +auto +--set$'
says out '^ram +1G +--ram$'
says out '^store_size +2G +--store-size$'
says out '^verify +1 +--verify$'
