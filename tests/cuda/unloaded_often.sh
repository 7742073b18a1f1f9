#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Modules come and go all the time: kernels that stay are known at no cost of
# memory, and the driver is asked about one once a load.
. "${top_srcdir:-.}/tests/cuda/asked.sh"
asked kernels places used_up
