/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled where the toolkit is: the prototypes of abi_calls.h on the
 * toolkit's types, behind the toolkit's own prototypes of the same symbols.
 * One that differs does not compile. Only of toolkit 13: an older one lacks
 * types, a newer one may have new versions.
 */
#ifndef SOFT_TOOLKIT_TYPES
#error "compile this with -DSOFT_TOOLKIT_TYPES"
#endif
#include "cuda_abi.h"
#if CUDA_VERSION >= 13000 && CUDA_VERSION < 14000
#include "abi_calls.h"
#endif

/* What the other files of the drift test are linked with. */
extern const int drift_calls_compiled;
const int drift_calls_compiled = 1;
