/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Item 9: what discard is. Do writes that follow it count (by kernel, by
 * memset, with and without a prefetch), what is read after it, what it costs,
 * and how much host memory a discarded block takes. Nothing here fills the
 * card, so blocks move by prefetch and by the CPU's touch, not by eviction.
 */
#define _GNU_SOURCE
#include <string.h>

#include "probe.h"

#define BYTES (256 * MIB)
#define WORDS (BYTES / sizeof(unsigned))
#define OLD   0x11111111u
#define NEW   0x22222222u

static CUfunction fill, differ;
static CUdeviceptr count;
static CUstream stream;

static void put_words(CUdeviceptr p, unsigned value)
{
	unsigned long n = WORDS;
	void *args[] = {&p, &n, &value};

	probe_launch(fill, 264, 512, stream, args);
	need(cuStreamSynchronize(stream));
}

/* Percent of words that are VALUE, as the GPU reads them. */
static double gpu_percent(CUdeviceptr p, unsigned value)
{
	unsigned long n = WORDS;
	unsigned long long result;
	void *args[] = {&p, &n, &value, &count};

	need(cuMemsetD8Async(count, 0, sizeof(result), stream));
	probe_launch(differ, 264, 512, stream, args);
	need(cuMemcpyDtoHAsync(&result, count, sizeof(result), stream));
	need(cuStreamSynchronize(stream));
	return 100.0 - 100.0 * (double)result / (double)WORDS;
}

/* The same by the CPU, one word in every KiB: the bytes come to the host. */
static double cpu_percent(CUdeviceptr p, unsigned value)
{
	const unsigned *words = (const unsigned *)p;
	size_t same = 0, seen = 0;

	for (size_t i = 0; i < WORDS; i += 256, seen++)
		same += words[i] == value;
	return 100.0 * (double)same / (double)seen;
}

/* ---- the two ways to discard ---- */

enum flavour { DISCARD, DISCARD_PREFETCH, FLAVOURS };

static const char *const flavour_name[] = {"discard", "discard_prefetch"};

static CUresult give_up(CUdeviceptr p, enum flavour f)
{
	CUmemLocation where = probe_gpu();
	size_t bytes = BYTES, first = 0;
	CUresult code;

	if (f == DISCARD)
		code = cuMemDiscardBatchAsync(&p, &bytes, 1, 0, stream);
	else
		code = cuMemDiscardAndPrefetchBatchAsync(&p, &bytes, 1, &where,
							 &first, 1, 0, stream);
	if (!code)
		need(cuStreamSynchronize(stream));
	return code;
}

static void place(CUdeviceptr p, CUmemLocation where)
{
	need(cuMemPrefetchAsync(p, BYTES, where, 0, stream));
	need(cuStreamSynchronize(stream));
}

/* On the GPU, full of OLD, then discarded. */
static CUdeviceptr discarded(enum flavour f, CUresult *code)
{
	CUdeviceptr p = probe_managed(BYTES);

	place(p, probe_gpu());
	put_words(p, OLD);
	*code = give_up(p, f);
	return p;
}

/* ---- what the bytes are afterwards ---- */

enum write { BY_NOBODY, BY_KERNEL, BY_MEMSET, WRITES };

static const char *const write_name[] = {"unwritten", "kernel", "memset"};

enum move { BY_CPU_TOUCH, BY_PREFETCH, STAY, MOVES };

static const char *const move_name[] = {"cpu_touch", "to_cpu_and_back", "stay"};

static void write_new(CUdeviceptr p, enum write w)
{
	if (w == BY_KERNEL)
		put_words(p, NEW);
	if (w == BY_MEMSET) {
		need(cuMemsetD32Async(p, NEW, WORDS, stream));
		need(cuStreamSynchronize(stream));
	}
}

static void one_case(enum flavour f, enum write w, enum move m)
{
	CUresult code;
	CUdeviceptr p = discarded(f, &code);
	double new_, old, zero;

	if (code) {
		need(cuMemFree(p));
		return;
	}
	write_new(p, w);
	if (m == BY_PREFETCH) {
		place(p, probe_cpu());
		place(p, probe_gpu());
	}
	new_ = m == BY_CPU_TOUCH ? cpu_percent(p, NEW) : gpu_percent(p, NEW);
	old = m == BY_CPU_TOUCH ? cpu_percent(p, OLD) : gpu_percent(p, OLD);
	zero = m == BY_CPU_TOUCH ? cpu_percent(p, 0) : gpu_percent(p, 0);
	if (w != BY_NOBODY)
		fact_num(new_, "%s_%s_%s_new_percent", flavour_name[f],
			 write_name[w], move_name[m]);
	fact_num(old, "%s_%s_%s_old_percent", flavour_name[f], write_name[w],
		 move_name[m]);
	fact_num(zero, "%s_%s_%s_zero_percent", flavour_name[f], write_name[w],
		 move_name[m]);
	need(cuMemFree(p));
}

/* ---- costs ---- */

static double ram_mib(void)
{
	return (double)proc_kib("/proc/meminfo", "MemAvailable:") / 1024;
}

static void costs(enum flavour f)
{
	CUdeviceptr p = probe_managed(BYTES);
	double start, ram, left;
	CUresult code;

	place(p, probe_gpu());
	put_words(p, OLD);
	left = (double)probe_free();
	start = now_s();
	code = give_up(p, f);
	fact_int(code, "%s_code", flavour_name[f]);
	if (!code) {
		fact_num((now_s() - start) * 1e3 * (double)GIB / (double)BYTES,
			 "%s_ms_per_gib", flavour_name[f]);
		fact_num(((double)probe_free() - left) / (double)MIB,
			 "%s_256m_vram_returned_mib", flavour_name[f]);
		ram = ram_mib();
		start = now_s();
		place(p, probe_cpu());
		fact_num((now_s() - start) * 1e3, "%s_256m_then_to_cpu_ms",
			 flavour_name[f]);
		fact_num(ram - ram_mib(), "%s_256m_then_to_cpu_ram_mib",
			 flavour_name[f]);
	}
	need(cuMemFree(p));
}

static void undiscarded(void)
{
	CUdeviceptr p = probe_managed(BYTES);
	double start;

	place(p, probe_gpu());
	put_words(p, OLD);
	start = now_s();
	place(p, probe_cpu());
	fact_num((now_s() - start) * 1e3, "undiscarded_256m_to_cpu_ms");
	need(cuMemFree(p));
}

int main(void)
{
	probe_open();
	fill = probe_kernel("probe_fill");
	differ = probe_kernel("probe_differ");
	need(cuMemAlloc(&count, sizeof(unsigned long long)));
	need(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	undiscarded();
	for (enum flavour f = DISCARD; f < FLAVOURS; f++) {
		costs(f);
		for (enum write w = BY_NOBODY; w < WRITES; w++)
			for (enum move m = BY_CPU_TOUCH; m < MOVES; m++)
				one_case(f, w, m);
	}
	return 0;
}
