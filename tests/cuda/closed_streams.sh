#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A program that has closed its standard streams gets nothing of ours there.
. "${top_srcdir:-.}/tests/cuda/asked.sh"
asked closed
