dnl SPDX-License-Identifier: Apache-2.0
dnl HZ_CLP: the solver behind horizon-replay's lower bounds, through its C
dnl interface; without it the bound is a closed form.
AC_DEFUN([HZ_CLP], [
  hz_clp_summary="closed form: install coinor-libclp-dev"
  CLP_LIBS=
  AC_CHECK_HEADER([coin/Clp_C_Interface.h],
    [AC_CHECK_LIB([Clp], [Clp_newModel],
      [CLP_LIBS=-lClp
       hz_clp_summary="Clp"
       AC_DEFINE([HAVE_CLP], [1], [The Clp solver is there.])])])
  AC_SUBST([CLP_LIBS])
])
