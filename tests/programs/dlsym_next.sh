#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# malloc by dlsym, and other libraries that wrap it before and after ours.
prog=$top_builddir/tests/programs/dlsym_next
wrap=$top_builddir/tests/programs/.libs/libwrap.so
status=0

try()
{
	env "$@" "$prog" || {
		echo "failed ($?): $*" >&2
		status=1
	}
}

try LD_PRELOAD=
try LD_PRELOAD="$wrap"
for set in LD_BIND_NOW= LD_BIND_NOW=1 HORIZON_ENABLE=0; do
	try $set LD_PRELOAD="$HORIZON_PRELOAD"
	try $set LD_PRELOAD="$HORIZON_PRELOAD $wrap"
	try $set LD_PRELOAD="$wrap $HORIZON_PRELOAD"
done
exit $status
