dnl SPDX-License-Identifier: Apache-2.0
dnl HZ_BSDTREE: the red-black trees of bsd/sys/tree.h, macros only; nothing of
dnl libbsd is linked.
AC_DEFUN([HZ_BSDTREE], [
  AC_CHECK_HEADER([bsd/sys/tree.h], [],
    [AC_MSG_ERROR([bsd/sys/tree.h not found: install libbsd-dev])])
])
