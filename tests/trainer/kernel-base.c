/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops for any CPU, four lanes wide.
 */
#define TILE_ROWS 6
#define KERNEL    kernel_base
#define NAME      "base"
#include "kernel-body.h"
