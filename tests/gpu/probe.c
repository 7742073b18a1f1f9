/* SPDX-License-Identifier: Apache-2.0 */
/* What the probes of a real GPU share: facts, errors, context, clock. */
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

static CUcontext context;
static CUmodule module;

/* ---- facts ---- */

/* Probes have threads; one call of printf writes the whole line. */
#define write_fact(key, ...)                                   \
	do {                                                   \
		char name_[160], value_[2048];                 \
		va_list ap_;                                   \
		va_start(ap_, key);                            \
		vsnprintf(name_, sizeof(name_), key, ap_);     \
		va_end(ap_);                                   \
		snprintf(value_, sizeof(value_), __VA_ARGS__); \
		printf("%s\t%s\n", name_, value_);             \
		fflush(stdout);                                \
	} while (0)

void fact_num(double value, const char *key, ...)
{
	if (isfinite(value))
		write_fact(key, "%.6g", value);
	else
		write_fact(key, "null");
}

void fact_int(long long value, const char *key, ...)
{
	write_fact(key, "%lld", value);
}

void fact_bool(bool value, const char *key, ...)
{
	write_fact(key, "%s", value ? "true" : "false");
}

void fact_json(const char *value, const char *key, ...)
{
	write_fact(key, "%s", value);
}

void fact_str(const char *value, const char *key, ...)
{
	char text[1024];
	size_t n = 0;

	for (; *value && n < sizeof(text) - 2; value++) {
		if (*value == '"' || *value == '\\')
			text[n++] = '\\';
		text[n++] = (unsigned char)*value < ' ' ? ' ' : *value;
	}
	text[n] = '\0';
	write_fact(key, "\"%s\"", text);
}

void probe_need(int code, const char *call, const char *file, int line)
{
	const char *name = NULL;

	if (!code)
		return;
	if (code > 0)
		cuGetErrorName((CUresult)code, &name);
	fact_str(call, "failed_call");
	fact_int(code, "failed_code");
	fact_str(name ? name : "", "failed_name");
	fprintf(stderr, "%s:%d: %s: %d %s\n", file, line, call, code,
		name ? name : "");
	/* No destructors: the driver may be the one that hangs. */
	_exit(1);
}

/* ---- the device ---- */

void probe_open(void)
{
	CUdevice device;

	need(cuInit(0));
	need(cuDeviceGet(&device, 0));
	need(cuDevicePrimaryCtxRetain(&context, device));
	probe_enter();
}

void probe_enter(void)
{
	need(cuCtxSetCurrent(context));
}

CUfunction probe_kernel(const char *name)
{
	const char *path = getenv("PROBE_KERNELS");
	CUfunction f;

	if (!module) {
		need_true(path);
		need(cuModuleLoad(&module, path));
	}
	need(cuModuleGetFunction(&f, module, name));
	return f;
}

void probe_launch(CUfunction f, unsigned grid, unsigned block, CUstream s,
		  void **args)
{
	need(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, s, args, NULL));
}

size_t probe_free(void)
{
	size_t left, total;

	need(cuMemGetInfo(&left, &total));
	return left;
}

CUdeviceptr probe_managed(size_t bytes)
{
	CUdeviceptr p;

	need_true(bytes <= probe_free() / 2);
	need(cuMemAllocManaged(&p, bytes, CU_MEM_ATTACH_GLOBAL));
	return p;
}

CUmemLocation probe_gpu(void)
{
	return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
}

CUmemLocation probe_cpu(void)
{
	return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};
}

/* ---- the machine ---- */

double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

long long proc_kib(const char *path, const char *name)
{
	char line[256];
	long long value = -1;
	size_t n = strlen(name);
	FILE *f = fopen(path, "re");

	if (!f)
		return -1;
	while (value < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n))
			sscanf(line + n, "%lld", &value);
	fclose(f);
	return value;
}

double mapped_percent(const void *p, size_t bytes)
{
	enum { ENTRIES = 4096 };
	uint64_t entries[ENTRIES];
	size_t pages = bytes / 4096, seen = 0, mapped = 0;
	off_t at = (off_t)((uintptr_t)p / 4096 * sizeof(*entries));
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	while (seen < pages) {
		size_t want = pages - seen < ENTRIES ? pages - seen : ENTRIES;
		ssize_t n = pread(fd, entries, want * sizeof(*entries),
				  at + (off_t)(seen * sizeof(*entries)));

		if (n <= 0)
			break;
		n /= (ssize_t)sizeof(*entries);
		for (ssize_t i = 0; i < n; i++)
			mapped += entries[i] >> 63;
		seen += (size_t)n;
	}
	close(fd);
	return seen == pages ? 100.0 * (double)mapped / (double)pages : -1;
}
