dnl SPDX-License-Identifier: Apache-2.0
dnl HZ_CUDA: --with-cuda[=DIR|yes|no], default: guess. Asked for and missing
dnl is an error. Sets HAVE_CUDA (headers), HAVE_NVCC (compiler).
AC_DEFUN([HZ_CUDA], [
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda@<:@=DIR|yes|no@:>@],
      [CUDA toolkit (default: use it if it is there)])],
    [], [with_cuda=guess])
  hz_have_cuda=no
  CUDA_CPPFLAGS=
  AS_IF([test "x$with_cuda" != xno], [
    AS_CASE([$with_cuda],
      [guess|yes], [
        AC_PATH_PROG([NVCC], [nvcc], [], [$PATH:/usr/local/cuda/bin])
        hz_cuda_dir=/usr/local/cuda
        AS_IF([test -n "$NVCC"],
          [hz_cuda_dir=`dirname "$NVCC"`; hz_cuda_dir=`dirname "$hz_cuda_dir"`])],
      [hz_cuda_dir=$with_cuda
       AC_PATH_PROG([NVCC], [nvcc], [], [$hz_cuda_dir/bin])])
    hz_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS -I$hz_cuda_dir/include"
    AC_CHECK_HEADER([cuda.h],
      [hz_have_cuda=yes; CUDA_CPPFLAGS="-I$hz_cuda_dir/include"])
    CPPFLAGS=$hz_save_CPPFLAGS
    AS_IF([test $hz_have_cuda = no && test "x$with_cuda" != xguess],
      [AC_MSG_ERROR([CUDA toolkit not found in $hz_cuda_dir: give
       --with-cuda=DIR with DIR/include/cuda.h, or --with-cuda=no])])
  ])
  AS_IF([test $hz_have_cuda = yes],
    [hz_cuda_summary="$hz_cuda_dir"],
    [hz_cuda_summary=no])
  AC_SUBST([CUDA_CPPFLAGS])
  AM_CONDITIONAL([HAVE_CUDA], [test $hz_have_cuda = yes])
  AM_CONDITIONAL([HAVE_NVCC], [test -n "$NVCC" && test $hz_have_cuda = yes])
])
