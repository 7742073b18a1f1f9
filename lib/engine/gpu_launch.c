/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches: what hooks tell, and in which way it is counted.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include "base/os.h"
#include "base/stats.h"
#include "engine/gpu_int.h"
#include "policy/trace_file.h"

const int8_t *hz_gpu_addresses(void)
{
	return hz_gpu.map.near;
}

/* ---- kernels by name ---- */

uint32_t hz_gpu_kernel(const char *name)
{
	struct hz_gpu *g = &hz_gpu;
	char cut[HZ_GPU_KERNEL_NAME] = {0};

	memcpy(cut, name, strnlen(name, sizeof(cut) - 1));
	HZ_GPU_SECTION(HZ_GPU_KERNEL_NONE);
	for (uint32_t k = 1; k < g->kernels; k++)
		if (!memcmp(g->kernel[k], cut, sizeof(cut)))
			return k;
	if (g->kernels == HZ_GPU_KERNELS)
		return HZ_GPU_KERNEL_NONE;
	memcpy(g->kernel[g->kernels], cut, sizeof(cut));
	hz_stat_gauge(HZ_STAT_gpu_kernels, HZ_STAT_gpu_kernels, g->kernels);
	return g->kernels++;
}

/* Four lanes, so that a word costs a fraction of a multiplication. */
uint64_t hz_gpu_hash(const uint64_t *word, uint32_t n, uint64_t seed)
{
	const uint64_t k = 0x9e3779b97f4a7c15ull;
	uint64_t a = seed + k, b = seed ^ k, c = seed - k, d = n, h;
	uint32_t i = 0;

	for (; i + 4 <= n; i += 4) {
		a = (a ^ word[i]) * k;
		b = (b ^ word[i + 1]) * k;
		c = (c ^ word[i + 2]) * k;
		d = (d ^ word[i + 3]) * k;
		a ^= a >> 32;
		b ^= b >> 31;
		c ^= c >> 33;
		d ^= d >> 30;
	}
	for (; i < n; i++)
		a = ((a ^ word[i]) * k) ^ (a >> 29);
	h = (a ^ (b << 17 | b >> 47)) * k;
	h ^= (c ^ (d << 23 | d >> 41)) * k;
	return h ^ h >> 32;
}

/* ---- launches ---- */

/* Is what launches name looked up later? A trace wants it in turn. */
static bool is_later(const struct hz_gpu *g)
{
	return hz_likely(__atomic_load_n(&g->later_on, __ATOMIC_ACQUIRE)) &&
	       hz_likely(!hz_gpu_recording);
}

static enum hz_gpu_told tell(const struct hz_gpu_named *x)
{
	HZ_GPU_LAUNCH(HZ_GPU_TOLD);

	return hz_gpu_tell(&hz_gpu, x);
}

/* Room is made until the launch is told. */
static void tell_anyway(struct hz_gpu *g, const struct hz_gpu_named *x)
{
	for (;;) {
		enum hz_gpu_told told;

		hz_gpu_hold(g);
		told = hz_gpu_tell(g, x);
		hz_gpu_release(g);
		if (told == HZ_GPU_NO_ROOM)
			hz_gpu_make_room(g, x->n);
		else if (told == HZ_GPU_NO_SETS)
			hz_gpu_forget_sets(g);
		else
			return;
	}
}

static void record(struct hz_gpu *g, const struct hz_gpu_named *x, bool first)
{
	uint32_t kernel = x->kernel;

	if (!first)
		kernel = HZ_TF_MORE;
	else if (kernel == HZ_GPU_KERNEL_NONE)
		kernel = HZ_GPU_TRACE_KERNEL;
	hz_gpu_record_launch(g, kernel, x->word, x->n, x->now);
}

/* With the map's lock: there is no room in the ring or for another set, or it
 * has to be looked up now. */
static __attribute__((noinline)) void tell_slowly(const struct hz_gpu_named *x,
						  bool first)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_GPU_SECTION();

	tell_anyway(g, x);
	if (is_later(g))
		return;
	hz_gpu_drain(g);
	if (hz_gpu_recording)
		record(g, x, first);
	if (x->now > g->refreshed + HZ_GPU_REFRESH_NS)
		hz_gpu_rows_write(g, x->now);
}

void hz_gpu_launch(uint32_t kernel, const uint64_t *word, uint32_t n,
		   bool first, const struct hz_gpu_key *key)
{
	struct hz_gpu_named x = {
		.key = key, .word = word, .kernel = kernel, .n = n};
	struct hz_gpu_key own;

	if (first)
		hz_stat_add(HZ_STAT_gpu_launches, 1);
	if (!key->some) {
		own.a = hz_gpu_hash(word, n, 0);
		own.b = hz_gpu_hash(word, n, own.a | 1);
		x.key = &own;
	}
	hz_gpu_tell_soon(&x);
	x.now = hz_os.now();
	if (hz_unlikely(!is_later(&hz_gpu) || tell(&x) != HZ_GPU_TOLD))
		tell_slowly(&x, first);
}

void hz_gpu_launch_unknown(uint32_t kernel)
{
	struct hz_gpu *g = &hz_gpu;

	hz_stat_add(HZ_STAT_gpu_launches, 1);
	hz_stat_add(HZ_STAT_gpu_unknown, 1);
	if (hz_likely(!hz_gpu_recording))
		return;
	HZ_GPU_SECTION();
	record(g, &(struct hz_gpu_named){.kernel = kernel, .now = hz_os.now()},
	       true);
}

/* ---- descriptors that hide an address ---- */

/* A new one overwrites an old one with the same place in the table: the
 * launch that carries the old one then names a tensor less. */
static struct hz_gpu_descriptor *descriptor_at(struct hz_gpu *g,
					       const uint64_t *bytes,
					       uint64_t *hash)
{
	*hash = hz_gpu_hash(bytes, 16, 0);
	return &g->descriptor[*hash % HZ_GPU_DESCRIPTORS];
}

void hz_gpu_tensor_map(const void *descriptor, uint64_t addr)
{
	struct hz_gpu *g = &hz_gpu;
	struct hz_gpu_descriptor *d;
	uint64_t bytes[16], hash;

	memcpy(bytes, descriptor, sizeof(bytes));
	HZ_GPU_LAUNCH();
	d = descriptor_at(g, bytes, &hash);
	d->hash = hash;
	d->addr = addr;
	memcpy(d->bytes, bytes, sizeof(bytes));
	__atomic_store_n(&g->descriptors, g->descriptors + 1, __ATOMIC_RELAXED);
}

uint64_t hz_gpu_tensor_map_at(const void *descriptor)
{
	struct hz_gpu *g = &hz_gpu;
	const struct hz_gpu_descriptor *d;
	uint64_t bytes[16], hash;

	memcpy(bytes, descriptor, sizeof(bytes));
	HZ_GPU_LAUNCH(0);
	d = descriptor_at(g, bytes, &hash);
	return d->hash == hash && !memcmp(d->bytes, bytes, sizeof(bytes))
		       ? d->addr
		       : 0;
}

bool hz_gpu_tensor_maps(void)
{
	return __atomic_load_n(&hz_gpu.descriptors, __ATOMIC_RELAXED) != 0;
}
