#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A capture whose stream or context is destroyed is over; one that is believed
# to be open costs other streams no knowledge of their kernels.
. "${top_srcdir:-.}/tests/cuda/asked.sh"
asked captures believed
