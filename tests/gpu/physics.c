/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Item 2: where the bytes of managed memory are, physically, after each thing
 * that may move them. 4 GiB go to the GPU, to the CPU, back, are discarded, and
 * freed; after each, what the card and the host have in use.
 */
#include <stdio.h>
#include <string.h>

#include "probe.h"

#define BYTES (4 * GIB)

struct sight {
	double vram, ram, memcg; /* in use, MiB */
};

static struct sight at_start;

/* memory.current of this process's cgroup, MiB; below 0 if unknown. */
static double memcg_mib(void)
{
	char line[512], path[600];
	long long bytes = -1;
	FILE *f = fopen("/proc/self/cgroup", "re");

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::", 3)) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(path, sizeof(path),
				 "/sys/fs/cgroup%s/memory.current", line + 3);
			bytes = proc_kib(path, "");
		}
	fclose(f);
	return bytes < 0 ? -1 : (double)bytes / (double)MIB;
}

static struct sight look(void)
{
	size_t left, total;

	need(cuCtxSynchronize());
	need(cuMemGetInfo(&left, &total));
	return (struct sight){
		.vram = (double)(total - left) / (double)MIB,
		.ram = -(double)proc_kib("/proc/meminfo", "MemAvailable:") /
		       1024,
		.memcg = memcg_mib(),
	};
}

/* Differences to the start, in MiB. */
static struct sight say(const char *stage, CUdeviceptr p)
{
	struct sight s = look();

	s.vram -= at_start.vram;
	s.ram -= at_start.ram;
	fact_num(s.vram, "%s_vram_mib", stage);
	fact_num(s.ram, "%s_ram_mib", stage);
	if (s.memcg >= 0)
		fact_num(s.memcg - at_start.memcg, "%s_memcg_mib", stage);
	fact_num((double)proc_kib("/proc/self/smaps_rollup", "Rss:") / 1024,
		 "%s_rss_mib", stage);
	if (p)
		fact_num(mapped_percent((const void *)p, BYTES),
			 "%s_cpu_mapped_percent", stage);
	return s;
}

static void prefetch(CUdeviceptr p, CUmemLocation to, const char *stage)
{
	double start = now_s();

	need(cuMemPrefetchAsync(p, BYTES, to, 0, NULL));
	need(cuCtxSynchronize());
	fact_num((double)BYTES / (double)GIB / (now_s() - start), "%s_gib_s",
		 stage);
}

static void discard(CUdeviceptr p)
{
	size_t bytes = BYTES;
	CUstream s;
	double start;
	CUresult code;

	need(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	start = now_s();
	code = cuMemDiscardBatchAsync(&p, &bytes, 1, 0, s);
	fact_int(code, "discard_code");
	if (!code) {
		need(cuStreamSynchronize(s));
		fact_num((now_s() - start) * 1e3, "discard_ms");
	}
	need(cuStreamDestroy(s));
}

int main(void)
{
	CUdeviceptr p;
	struct sight cpu1, gpu2, gone;

	probe_open();
	at_start = look();
	fact_num((double)BYTES / (double)MIB, "size_mib");
	p = probe_managed(BYTES);
	say("alloc", p);
	prefetch(p, probe_gpu(), "gpu1");
	need(cuMemsetD8(p, 0x5a, BYTES));
	say("gpu1", p);
	prefetch(p, probe_cpu(), "cpu1");
	cpu1 = say("cpu1", p);
	prefetch(p, probe_gpu(), "gpu2");
	gpu2 = say("gpu2", p);
	discard(p);
	say("discard", p);
	/* What prefetching discarded bytes to the host costs in RAM. */
	prefetch(p, probe_cpu(), "cpu2");
	say("cpu2", p);
	need(cuMemFree(p));
	gone = say("free", 0);
	fact_num(cpu1.vram, "vram_kept_after_demotion_mib");
	fact_num(gpu2.ram, "ram_kept_after_promotion_mib");
	fact_num(gone.ram, "ram_kept_after_free_mib");
	return 0;
}
