#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# While a module or a context is being destroyed, its kernels' handles may be
# those of other kernels already, which have fewer arguments.
. "${top_srcdir:-.}/tests/cuda/asked.sh"
asked handles
