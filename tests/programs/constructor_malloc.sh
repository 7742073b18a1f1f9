#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Memory that a constructor allocated, whichever constructor comes first, with
# lazy binding and without, with Horizon on and off.
prog=$top_builddir/tests/programs/constructor_malloc
lib=$top_builddir/tests/programs/.libs/libctor.so
status=0

try()
{
	env "$@" || {
		echo "failed ($?): $*" >&2
		status=1
	}
}

try LD_PRELOAD="$lib" "$prog"
for set in LD_BIND_NOW= LD_BIND_NOW=1 HORIZON_ENABLE=0; do
	try $set LD_PRELOAD="$HORIZON_PRELOAD $lib" "$prog"
	try $set LD_PRELOAD="$lib $HORIZON_PRELOAD" "$prog"
	try $set LD_PRELOAD="$HORIZON_PRELOAD" "$prog" "$lib"
done
exit $status
