dnl SPDX-License-Identifier: Apache-2.0
dnl HZ_JEMALLOC: the archive of position-independent jemalloc objects that the
dnl shim renames and links. --without-jemalloc sends small sizes to glibc.
AC_DEFUN([HZ_JEMALLOC], [
  AC_ARG_WITH([jemalloc],
    [AS_HELP_STRING([--with-jemalloc=ARCHIVE|no],
      [libjemalloc_pic.a for small allocations (default: search)])],
    [], [with_jemalloc=search])
  JEMALLOC_A=
  AS_CASE([$with_jemalloc],
    [no], [],
    [search|yes], [
      AC_MSG_CHECKING([for libjemalloc_pic.a])
      for hz_dir in `$CC -print-search-dirs | $SED -n 's/^libraries: =//p' |
                     tr : ' '`; do
        AS_IF([test -z "$JEMALLOC_A" && test -r "$hz_dir/libjemalloc_pic.a"],
          [JEMALLOC_A=`cd "$hz_dir" && pwd`/libjemalloc_pic.a])
      done
      AS_IF([test -n "$JEMALLOC_A"], [AC_MSG_RESULT([$JEMALLOC_A])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([libjemalloc_pic.a not found: install libjemalloc-dev,
          or give --with-jemalloc=ARCHIVE or --without-jemalloc])])],
    [JEMALLOC_A=$with_jemalloc
     AS_IF([test ! -r "$JEMALLOC_A"],
       [AC_MSG_ERROR([$JEMALLOC_A: no such archive])])])
  AS_IF([test -n "$JEMALLOC_A"],
    [hz_jemalloc_summary="jemalloc ($JEMALLOC_A)"
     AC_DEFINE([HAVE_JEMALLOC], [1], [Small allocations go to jemalloc.])],
    [hz_jemalloc_summary="the C library's"])
  AC_SUBST([JEMALLOC_A])
  AM_CONDITIONAL([HAVE_JEMALLOC], [test -n "$JEMALLOC_A"])
])
