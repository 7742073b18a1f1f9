/* SPDX-License-Identifier: Apache-2.0 */
/* The counters for a test: a copy of them, and the line of JSON at exit. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "soft.h"
#include "softcuda.h"

void soft_raise(_Atomic uint64_t *at, uint64_t v)
{
	uint64_t seen = atomic_load_explicit(at, memory_order_relaxed);

	while (v > seen && !atomic_compare_exchange_weak(at, &seen, v))
		;
}

SOFT_EXPORT void softcuda_counters(struct softcuda_counters *out)
{
#define SOFT_GAUGE(name_, text_) out->name_ = atomic_load(&soft_counters.name_);
#define SOFT_COUNT(name_, text_) SOFT_GAUGE(name_, text_)
#include "counters.def"
#undef SOFT_GAUGE
#undef SOFT_COUNT
}

/* One write, so that the lines of processes that end together stay whole. */
static void report(void)
{
	char line[8192];
	int n, fd;

	n = snprintf(line, sizeof(line), "{\"pid\":%ld", (long)getpid());
#define SOFT_GAUGE(name_, text_)                                           \
	n += snprintf(line + n, sizeof(line) - (size_t)n, ",\"%s\":%llu", \
		      #name_,                                              \
		      (unsigned long long)atomic_load(&soft_counters.name_));
#define SOFT_COUNT(name_, text_) SOFT_GAUGE(name_, text_)
#include "counters.def"
#undef SOFT_GAUGE
#undef SOFT_COUNT
	n += snprintf(line + n, sizeof(line) - (size_t)n, "}\n");
	fd = open(soft_set.report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
		  0644);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		fprintf(stderr, "softcuda: SOFTCUDA_REPORT: %s: not written\n",
			soft_set.report);
	if (fd >= 0)
		close(fd);
}

__attribute__((destructor)) static void at_exit(void)
{
	if (soft_set.report && *soft_set.report)
		report();
}
