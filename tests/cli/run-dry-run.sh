#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --dry-run prints what would be set, fit for a shell, and runs nothing.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
any_preload
library=$(readlink -f "$HORIZON_PRELOAD")

run 0 horizon-run --dry-run touch "$tmp/started"
silent_on err
[ ! -e "$tmp/started" ] || fail "the command was started"
[ "$(wc -l <"$tmp/out")" -eq 2 ] || fail "not two lines"
[ "$(head -n 1 "$tmp/out")" = "LD_PRELOAD=$library" ] ||
	fail "LD_PRELOAD is not the library"

# One variable for each knob set by an option, none for the others.
run 0 horizon-run -n --ram 1G --store /tmp --set io_depth=4 --verify true
says out '^HORIZON_RAM=1G$'
says out '^HORIZON_STORE=/tmp$'
says out '^HORIZON_IO_DEPTH=4$'
says out '^HORIZON_VERIFY=1$'
[ "$(grep -c '^HORIZON_' "$tmp/out")" -eq 4 ] || fail "not four variables"

# In front of what is there, and not twice.
run 0 env LD_PRELOAD=libm.so.6 horizon-run -n true
grep -Fxq "LD_PRELOAD=$library:libm.so.6" "$tmp/out" || fail "not prepended"
for old in "libm.so.6:$library" "$library libm.so.6"; do
	run 0 env LD_PRELOAD="$old" horizon-run -n true
	[ "$(grep -o libhorizon-preload "$tmp/out" | wc -l)" -le 1 ] &&
		[ "$(grep -Fo "$library" "$tmp/out" | wc -l)" -eq 1 ] ||
		fail "the library is listed twice"
done
run 0 env LD_PRELOAD= horizon-run -n true
grep -Fxq "LD_PRELOAD=$library" "$tmp/out" || fail "an empty value was kept"

# The shell reads the words back as they were given.
run 0 horizon-run -n --set 'only=a b' -- printf '<%s>' 'a b' "it's" '' '$x' '*'
says out "^HORIZON_ONLY='a b'\$"
printf '<a b><it'\''s><><$x><*>' >"$tmp/want"
sh -c "$(tail -n 1 "$tmp/out")" >"$tmp/got"
cmp -s "$tmp/want" "$tmp/got" || fail "the command is not quoted for a shell"

# What is printed is what is set.
run 0 horizon-run --ram 1G env
says out "^LD_PRELOAD=$library\$"
says out '^HORIZON_RAM=1G$'

# A relative store is made absolute: the command may go elsewhere.
mkdir "$tmp/store"
cd "$tmp" || exit 99
run 0 horizon-run -n --store store true
says out "^HORIZON_STORE=$tmp/store\$"
