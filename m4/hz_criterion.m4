dnl SPDX-License-Identifier: Apache-2.0
dnl HZ_CRITERION: the unit test framework; without it unit tests are left out
dnl with a notice.
AC_DEFUN([HZ_CRITERION], [
  PKG_CHECK_MODULES([CRITERION], [criterion],
    [hz_criterion=yes; hz_criterion_summary="Criterion `$PKG_CONFIG --modversion criterion`"],
    [hz_criterion=no; hz_criterion_summary="left out: install libcriterion-dev"])
  AM_CONDITIONAL([HAVE_CRITERION], [test $hz_criterion = yes])
])
