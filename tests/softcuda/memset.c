/* SPDX-License-Identifier: Apache-2.0 */
/* The memset calls: three widths, one or two dimensions. */
#include "soft.h"

/* Also the synchronous ones do not make the host wait on device memory. */
static CUresult set(bool pt, CUstream handle, CUdeviceptr dst, size_t pitch,
		    uint32_t value, unsigned elem, size_t width, size_t height)
{
	struct soft_op op;
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res)
		res = soft_set_prepare(&op, dst, pitch, value, elem, width,
				       height);
	return res ? res : soft_submit(s, &op, NULL);
}

#define SETS(bits_, type_)                                                   \
	SOFT_DEFAULT_API(cuMemsetD##bits_##_v2,                              \
			 (CUdeviceptr dst, type_ v, size_t n), (dst, v, n))  \
	{                                                                    \
		return set(pt, NULL, dst, 0, v, bits_ / 8, n, 1);            \
	}                                                                    \
	SOFT_STREAM_API(cuMemsetD##bits_##Async,                             \
			(CUdeviceptr dst, type_ v, size_t n, CUstream s),    \
			(dst, v, n, s))                                      \
	{                                                                    \
		return set(pt, s, dst, 0, v, bits_ / 8, n, 1);               \
	}                                                                    \
	SOFT_DEFAULT_API(cuMemsetD2D##bits_##_v2,                            \
			 (CUdeviceptr dst, size_t pitch, type_ v,            \
			  size_t width, size_t height),                      \
			 (dst, pitch, v, width, height))                     \
	{                                                                    \
		return set(pt, NULL, dst, pitch, v, bits_ / 8, width,        \
			   height);                                          \
	}                                                                    \
	SOFT_STREAM_API(cuMemsetD2D##bits_##Async,                           \
			(CUdeviceptr dst, size_t pitch, type_ v,             \
			 size_t width, size_t height, CUstream s),           \
			(dst, pitch, v, width, height, s))                   \
	{                                                                    \
		return set(pt, s, dst, pitch, v, bits_ / 8, width, height);  \
	}

SETS(8, unsigned char)
SETS(16, unsigned short)
SETS(32, unsigned int)
