/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled twice, once on our types and once on the toolkit's: sizes, offsets
 * and values as a table, for test-drift.c to compare.
 */
#include "cuda_abi.h"
#include <stddef.h>
#include <stdint.h>
#include "drift.h"

#ifdef SOFT_TOOLKIT_TYPES
#define TABLE drift_theirs
#define COUNT drift_n_theirs
#else
#define TABLE drift_ours
#define COUNT drift_n_ours
#endif

#define SIZE(type_)	     {#type_, (long long)sizeof(type_)},
#define FIELD(type_, field_) {#type_ "." #field_, offsetof(type_, field_)},

#if defined(CUDA_VERSION) && (CUDA_VERSION < 13000 || CUDA_VERSION >= 14000)
const struct drift_row TABLE[1];
const unsigned COUNT = 0; /* another toolkit: nothing to compare */
#else
const struct drift_row TABLE[] = {
#define SOFT_ERROR(name_, value_, text_) {#name_, name_},
#include "errors.def"
#undef SOFT_ERROR
#define SOFT_VALUE(name_, value_) {#name_, name_},
#include "abi_values.def"
#undef SOFT_VALUE
	{"CU_STREAM_LEGACY", (long long)(intptr_t)CU_STREAM_LEGACY},
	{"CU_STREAM_PER_THREAD", (long long)(intptr_t)CU_STREAM_PER_THREAD},
	{"CU_LAUNCH_PARAM_END", (long long)(intptr_t)CU_LAUNCH_PARAM_END},
	{"CU_LAUNCH_PARAM_BUFFER_POINTER",
	 (long long)(intptr_t)CU_LAUNCH_PARAM_BUFFER_POINTER},
	{"CU_LAUNCH_PARAM_BUFFER_SIZE",
	 (long long)(intptr_t)CU_LAUNCH_PARAM_BUFFER_SIZE},
	{"CU_DEVICE_CPU", CU_DEVICE_CPU},
	{"CU_DEVICE_INVALID", CU_DEVICE_INVALID},
#include "drift.def"
};
const unsigned COUNT = sizeof(TABLE) / sizeof(TABLE[0]);
#endif
