#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Each device kernel against a reference in double precision.

. "${srcdir:-.}/cuda-env.sh"

exec "${KERNEL_CHECK:-./kernel-check}" ${GPT_MODULE:+"$GPT_MODULE"}
