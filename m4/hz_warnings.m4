dnl SPDX-License-Identifier: Apache-2.0
dnl HZ_WARNINGS: --enable-werror, --enable-debug, warning flags.
AC_DEFUN([HZ_WARNINGS], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [turn warnings into errors])])
  AC_ARG_ENABLE([debug],
    [AS_HELP_STRING([--enable-debug], [check lock ranks and invariants])])
  AS_IF([test "x$enable_debug" = xyes],
    [AC_DEFINE([HZ_DEBUG], [1], [Check lock ranks and invariants.])])
  HZ_CFLAGS="-std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wstrict-prototypes \
-Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wno-unused-parameter \
-fvisibility=hidden -fno-common"
  AS_IF([test "x$enable_werror" = xyes], [HZ_CFLAGS="$HZ_CFLAGS -Werror"])
  AC_SUBST([HZ_CFLAGS])
])
