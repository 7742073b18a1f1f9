/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps: 128 opaque bytes with an address in them. The layout is this
 * driver's own and says nothing about a device's; it differs with every
 * argument, so that maps can be told apart by their bytes.
 */
#include <string.h>
#include "soft.h"

#define MARK 0x50f7c0da7e450001ull

static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
	return h * 0xff51afd7ed558ccdull;
}

static CUresult fill(CUtensorMap *map, unsigned type, unsigned rank, void *addr,
		     const cuuint64_t *dims, const cuuint64_t *strides,
		     uint64_t rest)
{
	cuuint64_t words[16] = {MARK, (uintptr_t)addr, type, rank};
	uint64_t h = rest;

	if (!map || (uintptr_t)map % 64 || !addr || (uintptr_t)addr % 16 ||
	    type > 15 || !rank || rank > 5 || !dims || (rank > 1 && !strides))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < rank; i++) {
		if (!dims[i] || dims[i] > (cuuint64_t)1 << 32)
			return CUDA_ERROR_INVALID_VALUE;
		words[4 + i] = dims[i];
		h = mix(h, dims[i]);
	}
	for (unsigned i = 0; i + 1 < rank; i++) {
		if (strides[i] % 16 || strides[i] >= (cuuint64_t)1 << 40)
			return CUDA_ERROR_INVALID_VALUE;
		words[9 + i] = strides[i];
		h = mix(h, strides[i]);
	}
	words[15] = h;
	memcpy(map, words, sizeof(words));
	return CUDA_SUCCESS;
}

SOFT_API(cuTensorMapEncodeTiled,
	 (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank,
	  void *addr, const cuuint64_t *dims, const cuuint64_t *strides,
	  const cuuint32_t *box, const cuuint32_t *steps,
	  CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
	  CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill_kind),
	 (map, type, rank, addr, dims, strides, box, steps, interleave, swizzle,
	  promotion, fill_kind))
{
	uint64_t h = mix(mix(interleave, swizzle), mix(promotion, fill_kind));

	if (!box || !steps)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < rank && i < 5; i++) {
		if (!box[i] || box[i] > 256 || !steps[i] || steps[i] > 8)
			return CUDA_ERROR_INVALID_VALUE;
		h = mix(mix(h, box[i]), steps[i]);
	}
	return fill(map, (unsigned)type, rank, addr, dims, strides, h);
}

SOFT_API(cuTensorMapEncodeIm2col,
	 (CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank,
	  void *addr, const cuuint64_t *dims, const cuuint64_t *strides,
	  const int *lower, const int *upper, cuuint32_t channels,
	  cuuint32_t pixels, const cuuint32_t *steps,
	  CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
	  CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill_kind),
	 (map, type, rank, addr, dims, strides, lower, upper, channels, pixels,
	  steps, interleave, swizzle, promotion, fill_kind))
{
	uint64_t h = mix(mix(channels, pixels), mix(interleave, swizzle));

	if (!lower || !upper || !steps || rank < 3)
		return CUDA_ERROR_INVALID_VALUE;
	return fill(map, (unsigned)type, rank, addr, dims, strides, h);
}

SOFT_API(cuTensorMapReplaceAddress, (CUtensorMap * map, void *addr),
	 (map, addr))
{
	cuuint64_t words[16];

	if (!map || !addr || (uintptr_t)addr % 16)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(words, map, sizeof(words));
	if (words[0] != MARK)
		return CUDA_ERROR_INVALID_VALUE;
	words[1] = (uintptr_t)addr;
	memcpy(map, words, sizeof(words));
	return CUDA_SUCCESS;
}
