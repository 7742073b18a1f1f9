/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays, and the objects that stand for memory in a kernel's arguments.
 *
 * The driver tells nobody how much memory an array takes: only one that gets
 * its memory later may be asked for, by cuArrayGetMemoryRequirements, and that
 * one has none. So the bytes are those of its elements, as for other memory
 * they are what was asked for, without what the driver adds to fit its tiles.
 *
 * Arrays that come from elsewhere (external memory, graphics) are not in the
 * map: their memory is counted where it was made.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/util.h"
#include "cuda_hooks.h"

enum per { CHANNEL, PIXEL, BLOCK };

static const struct format {
	uint8_t first, last, bits;
	enum per per;
} formats[] = {
#define HZ_FORMAT(first_, last_, bits_, per_) {first_, last_, bits_, per_},
#include "cuda_formats.def"
#undef HZ_FORMAT
};

static const struct format *format_of(int value)
{
	for (size_t i = 0; i < hz_array_len(formats); i++)
		if (value >= formats[i].first && value <= formats[i].last)
			return &formats[i];
	return NULL;
}

static size_t at_level(size_t extent, unsigned level)
{
	return hz_max(extent >> level, (size_t)1);
}

/* Layers stay as many on every level. */
static size_t depth_at(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned level)
{
	if (d->Flags & (CU_ARRAY_LAYERED | CU_ARRAY_CUBEMAP))
		level = 0;
	return at_level(d->Depth, level);
}

static uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d,
			    const struct format *f, unsigned level)
{
	uint64_t w = at_level(d->Width, level), h = at_level(d->Height, level);
	uint64_t bits = f->bits;

	if (f->per == CHANNEL)
		bits *= d->NumChannels;
	if (f->per == BLOCK) {
		w = hz_align_up(w, 4);
		h = hz_align_up(h, 4);
	}
	return hz_align_up(w * h * bits, 8) / 8 * depth_at(d, level);
}

/* More than there can be are not made. */
static unsigned levels_of(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned asked)
{
	size_t longest = hz_max(d->Width, d->Height);
	unsigned n = 1;

	if (!(d->Flags & (CU_ARRAY_LAYERED | CU_ARRAY_CUBEMAP)))
		longest = hz_max(longest, d->Depth);
	while (n < asked && longest >> n)
		n++;
	return n;
}

void hz_cu_array_3d(const void *array, const CUDA_ARRAY3D_DESCRIPTOR *d,
		    unsigned levels)
{
	const struct format *f = format_of(d->Format);
	uint64_t bytes = 0;

	if (d->Flags & (CU_ARRAY_SPARSE | CU_ARRAY_DEFERRED))
		return;
	levels = levels_of(d, levels);
	for (unsigned i = 0; f && i < levels; i++)
		bytes += level_bytes(d, f, i);
	hz_cu_alloc(HZ_ARRAY(array), bytes, HZ_GPU_ARRAY);
}

/* What descriptors of all kinds have; the first ones with smaller numbers. */
#define COMMON(d_)                                          \
	.Width = (d_)->Width, .Height = (d_)->Height,       \
	.Format = (d_)->Format, .NumChannels = (d_)->NumChannels

void hz_cu_array(CUarray a, const CUDA_ARRAY_DESCRIPTOR *d)
{
	const CUDA_ARRAY3D_DESCRIPTOR full = {COMMON(d)};

	hz_cu_array_3d(a, &full, 1);
}

void hz_cu_array_v1(CUarray a, const CUDA_ARRAY_DESCRIPTOR_v1 *d)
{
	const CUDA_ARRAY3D_DESCRIPTOR full = {COMMON(d)};

	hz_cu_array_3d(a, &full, 1);
}

void hz_cu_array_3d_v1(CUarray a, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d)
{
	const CUDA_ARRAY3D_DESCRIPTOR full = {COMMON(d), .Depth = d->Depth,
					      .Flags = d->Flags};

	hz_cu_array_3d(a, &full, 1);
}

void hz_cu_bound(const CUDA_RESOURCE_DESC *d)
{
	switch (d->resType) {
	case CU_RESOURCE_ARRAY:
		hz_gpu_bound(HZ_ARRAY(d->res.array));
		break;
	case CU_RESOURCE_MIPMAP:
		hz_gpu_bound(HZ_ARRAY(d->res.mipmap));
		break;
	case CU_RESOURCE_LINEAR:
	case CU_RESOURCE_PITCH2D:
		hz_gpu_bound(d->res.devPtr);
		break;
	}
}
