dnl SPDX-License-Identifier: Apache-2.0
dnl HZ_XXHASH: xxhash.h, used inline.
AC_DEFUN([HZ_XXHASH], [
  AC_CHECK_HEADER([xxhash.h], [],
    [AC_MSG_ERROR([xxhash.h not found: install libxxhash-dev])])
])
