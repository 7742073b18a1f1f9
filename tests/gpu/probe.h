/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the probes of a real GPU share. A probe writes facts, one a line on
 * stdout, as soon as each is known: the key, a tab, a JSON value. run.sh makes
 * one object of them, so that a probe which is cut short still tells.
 */
#ifndef HZ_GPU_PROBE_H
#define HZ_GPU_PROBE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

#define FACT_FORMAT __attribute__((format(printf, 2, 3)))

/* The value first, then the key, which may be a format. */
void fact_num(double value, const char *key, ...) FACT_FORMAT;
void fact_int(long long value, const char *key, ...) FACT_FORMAT;
void fact_bool(bool value, const char *key, ...) FACT_FORMAT;
void fact_str(const char *value, const char *key, ...) FACT_FORMAT;
/* VALUE is JSON already. */
void fact_json(const char *value, const char *key, ...) FACT_FORMAT;

/* A call that must work: else its facts are written and the probe ends. */
#define need(call) probe_need((int)(call), #call, __FILE__, __LINE__)
void probe_need(int code, const char *call, const char *file, int line);
/* The same for what is no driver call. */
#define need_true(condition) \
	probe_need((condition) ? 0 : -1, #condition, __FILE__, __LINE__)

/* The primary context of device 0, current in this thread. */
void probe_open(void);
/* The same context in another thread of the probe. */
void probe_enter(void);
/* A kernel of the module file $PROBE_KERNELS. */
CUfunction probe_kernel(const char *name);
void probe_launch(CUfunction f, unsigned grid, unsigned block, CUstream s,
		  void **args);
/* Managed memory, never more than half of what is free. */
CUdeviceptr probe_managed(size_t bytes);
CUmemLocation probe_gpu(void);
CUmemLocation probe_cpu(void);
/* Bytes of the card that are free, as the driver says. */
size_t probe_free(void);

double now_s(void);
/* Sorts VALUES. */
double median(double *values, size_t n);
/* One line of a /proc file: the number behind NAME, or -1. */
long long proc_kib(const char *path, const char *name);
/* Share of [p, p + bytes) that is mapped for the CPU, in percent; < 0: no. */
double mapped_percent(const void *p, size_t bytes);

#endif
