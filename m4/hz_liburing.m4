dnl SPDX-License-Identifier: Apache-2.0
dnl HZ_LIBURING: liburing, linked as an archive: a preloaded library must not
dnl drag a shared one into every process, and the archive calls no libc
dnl function that we interpose.
AC_DEFUN([HZ_LIBURING], [
  PKG_CHECK_MODULES([LIBURING], [liburing >= 2.2],
    [hz_liburing_version=`$PKG_CONFIG --modversion liburing`],
    [AC_MSG_ERROR([liburing not found: install liburing-dev])])
  AC_ARG_WITH([liburing-archive],
    [AS_HELP_STRING([--with-liburing-archive=FILE], [liburing.a to link])],
    [LIBURING_A=$withval], [
      hz_libdir=`$PKG_CONFIG --variable=libdir liburing`
      LIBURING_A=$hz_libdir/liburing.a])
  AC_MSG_CHECKING([for liburing.a])
  AS_IF([test -r "$LIBURING_A"], [AC_MSG_RESULT([$LIBURING_A])],
    [AC_MSG_ERROR([$LIBURING_A is missing: install liburing-dev or give
     --with-liburing-archive=FILE])])
  AC_SUBST([LIBURING_A])
])
