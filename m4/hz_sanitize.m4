dnl SPDX-License-Identifier: Apache-2.0
dnl HZ_SANITIZE: --enable-sanitize=LIST puts -fsanitize=LIST into the flags.
AC_DEFUN([HZ_SANITIZE], [
  AC_ARG_ENABLE([sanitize],
    [AS_HELP_STRING([--enable-sanitize=LIST],
      [build with -fsanitize=LIST (address,undefined or thread); the preload
       library is then built but not tested, see tests/])],
    [], [enable_sanitize=no])
  AS_IF([test "x$enable_sanitize" != xno],
    [CFLAGS="$CFLAGS -fsanitize=$enable_sanitize -fno-omit-frame-pointer"
     LDFLAGS="$LDFLAGS -fsanitize=$enable_sanitize"])
  AM_CONDITIONAL([SANITIZE], [test "x$enable_sanitize" != xno])
])
