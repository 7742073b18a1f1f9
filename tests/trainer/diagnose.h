/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says in one line what went wrong in a step: a loss or a gradient that is
 * not finite, or a gradient far larger than those before it.
 */
#ifndef DIAGNOSE_H
#define DIAGNOSE_H

#include "device.h"

/* After the step that r->step is now. -EDOM where loss or norm is not finite,
 * unless told to --keep-going. */
int diagnose(struct run *, const struct device *, const struct result *);

#endif
