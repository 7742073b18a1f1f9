/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded under the trainer: whenever it flushes its output, which it does
 * after each step, what Horizon counts of the device's memory is compared with
 * what the software driver has, to the byte. One line at the end says how often,
 * and how many objects the driver still has.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "softcuda.h"

static unsigned steps, differ;

static struct softcuda_counters soft(void)
{
	static void (*read)(struct softcuda_counters *);
	struct softcuda_counters c = {0};
	void *driver = dlopen(getenv("SOFTCUDA_SELF"), RTLD_NOW);

	if (!read && driver)
		read = (void (*)(struct softcuda_counters *))dlsym(
			driver, "softcuda_counters");
	if (!read) {
		fputs("each_step: no software driver\n", stderr);
		abort();
	}
	read(&c);
	return c;
}

static uint64_t ours(const char *name)
{
	int (*counter)(const char *, uint64_t *) =
		(int (*)(const char *, uint64_t *))dlsym(RTLD_DEFAULT,
							 "horizon_counter");
	uint64_t n = 0;

	if (!counter || counter(name, &n)) {
		fprintf(stderr, "each_step: no counter %s\n", name);
		abort();
	}
	return n;
}

static void compare(const char *what, uint64_t mine, uint64_t driver)
{
	if (mine == driver)
		return;
	differ++;
	fprintf(stderr, "each_step: %s: %" PRIu64 " bytes, the driver %" PRIu64
			"\n", what, mine, driver);
}

__attribute__((visibility("default"))) int fflush(FILE *f)
{
	int (*next)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fflush");
	struct softcuda_counters c;

	if (f == stdout) {
		steps++;
		c = soft();
		compare("native", ours("vram_resident"), c.device_bytes);
		compare("managed", ours("gpu_managed"), c.managed_bytes);
		if (!c.device_bytes && !c.managed_bytes)
			differ++; /* a step without memory */
	}
	return next(f);
}

/* The trainer has given back what it took when it leaves main(). */
__attribute__((destructor)) static void end(void)
{
	struct softcuda_counters c = soft();

	fprintf(stderr, "each_step: %u compared, %u differ, %" PRIu64
			" allocations and %" PRIu64 " bytes left\n",
		steps, differ, c.live_allocations,
		c.device_bytes + c.managed_bytes);
}
