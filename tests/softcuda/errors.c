/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sentences of the results. */
#include "soft.h"

static const struct {
	CUresult value;
	const char *name, *text;
} errors[] = {
#define SOFT_ERROR(name_, value_, text_) {name_, #name_, text_},
#include "errors.def"
#undef SOFT_ERROR
};

SOFT_API(cuGetErrorName, (CUresult error, const char **out), (error, out))
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = NULL;
	for (unsigned i = 0; i < soft_len(errors); i++)
		if (errors[i].value == error)
			*out = errors[i].name;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SOFT_API(cuGetErrorString, (CUresult error, const char **out), (error, out))
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = NULL;
	for (unsigned i = 0; i < soft_len(errors); i++)
		if (errors[i].value == error)
			*out = errors[i].text;
	return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
