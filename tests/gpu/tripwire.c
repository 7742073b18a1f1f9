/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Item 7, the library to preload. Its SONAME is libcuda.so.1, so that every
 * cudart finds it; it needs the real driver by its absolute path
 * (TRIPWIRE_REAL), so that a lookup in it falls through to the driver for all
 * that it does not define itself. It replaces launches, and the pointers to
 * them that cuGetProcAddress gives. Kept apart from Horizon's shim, as the
 * referee must be.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tripwire.h"

EXPORT void trip_start(void);
EXPORT int trip_stop(const char *prefix);
EXPORT int trip_control(void *list, unsigned n);
/* The first ABI of the lookup: cuda.h gives its name to the second. */
EXPORT CUresult trip_lookup_1(const char *name, void **fn, int version,
			      cuuint64_t flags) __asm__("cuGetProcAddress");

/* Recursive: a launch may load a module, which launches. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static __thread bool inside; /* this thread is in a launch of ours */

/* All of it under the lock. */
static struct {
	bool active;
	struct trip_set captured; /* named by launches that were captured */
	unsigned captured_launches;
	unsigned launches, tested, unknown, with_map, only_by_map, missed;
	unsigned graphs, unsettled;
	size_t missed_bytes, armed;
} now;

#define KERNELS 64u
static struct {
	char name[200];
	unsigned count;
} guilty[KERNELS];

void *trip_real(const char *name)
{
	static void *driver;

	if (!driver)
		driver = dlopen(TRIPWIRE_REAL, RTLD_LAZY | RTLD_NOLOAD);
	return driver ? dlsym(driver, name) : NULL;
}

/* ---- a launch ---- */

static unsigned count_of(const struct trip_set *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < TRIP_BLOCKS / 64; i++)
		n += (unsigned)__builtin_popcountll(s->words[i]);
	return n;
}

static void blame(const char *kernel)
{
	unsigned i = 0;

	while (i < KERNELS - 1 && guilty[i].count &&
	       strncmp(guilty[i].name, kernel, sizeof(guilty[i].name) - 1))
		i++;
	snprintf(guilty[i].name, sizeof(guilty[i].name), "%s", kernel);
	guilty[i].count++;
}

static bool capturing(CUstream s)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return !cuStreamIsCapturing(s, &status) &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* What a launch was given; CALL makes it. */
struct launch {
	CUresult (*call)(const struct launch *);
	void *real;
	const CUlaunchConfig *config;
	CUfunction f;
	CUstream stream;
	CUgraphExec graph;
	void **params, **extra;
	unsigned grid[3], block[3], shared;
};

static CUresult tested(const struct launch *l, struct trip_names *names)
{
	struct trip_set armed, touched;
	unsigned missed;
	CUresult code, after;

	need(cuCtxSynchronize());
	now.unsettled += trip_arm(&names->all, &armed);
	code = l->call(l);
	after = cuCtxSynchronize();
	if (code || after) {
		fprintf(stderr, "tripwire: %s: %d %d\n", names->kernel, code,
			after);
		return code;
	}
	missed = trip_touched(&armed, &touched, &now.missed_bytes);
	now.tested++;
	now.armed += count_of(&armed);
	now.with_map += names->map;
	now.only_by_map += count_of(&names->by_map) > 0;
	if (missed) {
		now.missed++;
		blame(names->kernel);
	}
	return code;
}

static CUresult launched(struct launch *l)
{
	struct trip_names names = {.kernel = "graph", .known = true};
	CUresult code;

	if (inside || !l->real)
		return l->real ? l->call(l) : CUDA_ERROR_NOT_FOUND;
	pthread_mutex_lock(&lock);
	inside = true;
	if (l->f)
		trip_scan(l->f, l->params, l->extra, &names);
	else
		names.all = now.captured;
	if (l->f && capturing(l->stream)) {
		now.captured_launches++;
		for (size_t i = 0; i < TRIP_BLOCKS / 64; i++)
			now.captured.words[i] |= names.all.words[i];
		code = l->call(l);
	} else if (now.active && names.known) {
		now.launches++;
		now.graphs += !l->f;
		code = tested(l, &names);
	} else {
		now.launches += now.active;
		now.unknown += now.active;
		code = l->call(l);
	}
	inside = false;
	pthread_mutex_unlock(&lock);
	return code;
}

/* ---- the launches of the driver API, each in two families ---- */

typedef CUresult launch_fn(CUfunction, unsigned, unsigned, unsigned, unsigned,
			   unsigned, unsigned, unsigned, CUstream, void **,
			   void **);
typedef CUresult launch_ex_fn(const CUlaunchConfig *, CUfunction, void **,
			      void **);
typedef CUresult cooperative_fn(CUfunction, unsigned, unsigned, unsigned,
				unsigned, unsigned, unsigned, unsigned,
				CUstream, void **);
typedef CUresult graph_fn(CUgraphExec, CUstream);

static CUresult call_plain(const struct launch *l)
{
	return ((launch_fn *)l->real)(l->f, l->grid[0], l->grid[1], l->grid[2],
				      l->block[0], l->block[1], l->block[2],
				      l->shared, l->stream, l->params,
				      l->extra);
}

static CUresult call_ex(const struct launch *l)
{
	return ((launch_ex_fn *)l->real)(l->config, l->f, l->params, l->extra);
}

static CUresult call_cooperative(const struct launch *l)
{
	return ((cooperative_fn *)l->real)(
		l->f, l->grid[0], l->grid[1], l->grid[2], l->block[0],
		l->block[1], l->block[2], l->shared, l->stream, l->params);
}

static CUresult call_graph(const struct launch *l)
{
	return ((graph_fn *)l->real)(l->graph, l->stream);
}

#define LAUNCH(name)                                                          \
	EXPORT CUresult name(CUfunction f, unsigned gx, unsigned gy,          \
			     unsigned gz, unsigned bx, unsigned by,           \
			     unsigned bz, unsigned shared, CUstream s,        \
			     void **params, void **extra);                    \
	CUresult name(CUfunction f, unsigned gx, unsigned gy, unsigned gz,    \
		      unsigned bx, unsigned by, unsigned bz, unsigned shared, \
		      CUstream s, void **params, void **extra)                \
	{                                                                     \
		struct launch l = {.call = call_plain,                        \
				   .real = trip_real(#name),                  \
				   .f = f,                                    \
				   .stream = s,                               \
				   .params = params,                          \
				   .extra = extra,                            \
				   .grid = {gx, gy, gz},                      \
				   .block = {bx, by, bz},                     \
				   .shared = shared};                         \
		return launched(&l);                                          \
	}

#define LAUNCH_COOPERATIVE(name)                                              \
	EXPORT CUresult name(CUfunction f, unsigned gx, unsigned gy,          \
			     unsigned gz, unsigned bx, unsigned by,           \
			     unsigned bz, unsigned shared, CUstream s,        \
			     void **params);                                  \
	CUresult name(CUfunction f, unsigned gx, unsigned gy, unsigned gz,    \
		      unsigned bx, unsigned by, unsigned bz, unsigned shared, \
		      CUstream s, void **params)                              \
	{                                                                     \
		struct launch l = {.call = call_cooperative,                  \
				   .real = trip_real(#name),                  \
				   .f = f,                                    \
				   .stream = s,                               \
				   .params = params,                          \
				   .grid = {gx, gy, gz},                      \
				   .block = {bx, by, bz},                     \
				   .shared = shared};                         \
		return launched(&l);                                          \
	}

#define LAUNCH_EX(name)                                                  \
	EXPORT CUresult name(const CUlaunchConfig *config, CUfunction f, \
			     void **params, void **extra);               \
	CUresult name(const CUlaunchConfig *config, CUfunction f,        \
		      void **params, void **extra)                       \
	{                                                                \
		struct launch l = {.call = call_ex,                      \
				   .real = trip_real(#name),             \
				   .config = config,                     \
				   .f = f,                               \
				   .stream = config->hStream,            \
				   .params = params,                     \
				   .extra = extra};                      \
		return launched(&l);                                     \
	}

#define LAUNCH_GRAPH(name)                                   \
	EXPORT CUresult name(CUgraphExec graph, CUstream s); \
	CUresult name(CUgraphExec graph, CUstream s)         \
	{                                                    \
		struct launch l = {.call = call_graph,       \
				   .real = trip_real(#name), \
				   .graph = graph,           \
				   .stream = s};             \
		return launched(&l);                         \
	}

LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)
LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)
LAUNCH_GRAPH(cuGraphLaunch)
LAUNCH_GRAPH(cuGraphLaunch_ptsz)

/* ---- tensor maps ---- */

static CUresult saw_map(CUresult code, const CUtensorMap *map, void *address)
{
	if (!code) {
		pthread_mutex_lock(&lock);
		trip_saw_map(map, address);
		pthread_mutex_unlock(&lock);
	}
	return code;
}

#define REAL(name) ((__typeof__(name) *)trip_real(#name))

EXPORT CUresult cuTensorMapEncodeTiled(
	CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
	void *address, const cuuint64_t *dim, const cuuint64_t *strides,
	const cuuint32_t *box, const cuuint32_t *element,
	CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
	CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill oob)
{
	return saw_map(REAL(cuTensorMapEncodeTiled)(
			       map, type, rank, address, dim, strides, box,
			       element, interleave, swizzle, promotion, oob),
		       map, address);
}

EXPORT CUresult cuTensorMapEncodeIm2col(
	CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
	void *address, const cuuint64_t *dim, const cuuint64_t *strides,
	const int *lower, const int *upper, cuuint32_t channels,
	cuuint32_t pixels, const cuuint32_t *element,
	CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
	CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill oob)
{
	return saw_map(REAL(cuTensorMapEncodeIm2col)(
			       map, type, rank, address, dim, strides, lower,
			       upper, channels, pixels, element, interleave,
			       swizzle, promotion, oob),
		       map, address);
}

EXPORT CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
	return saw_map(REAL(cuTensorMapReplaceAddress)(map, address), map,
		       address);
}

/* ---- lookups ---- */

static const struct row {
	const char *name;
	void *hook;
} rows[] = {
#define ROW(name)                   \
	{                           \
#name, (void *)name \
	}
	ROW(cuLaunchKernel),
	ROW(cuLaunchKernel_ptsz),
	ROW(cuLaunchKernelEx),
	ROW(cuLaunchKernelEx_ptsz),
	ROW(cuLaunchCooperativeKernel),
	ROW(cuLaunchCooperativeKernel_ptsz),
	ROW(cuGraphLaunch),
	ROW(cuGraphLaunch_ptsz),
	ROW(cuTensorMapEncodeTiled),
	ROW(cuTensorMapEncodeIm2col),
	ROW(cuTensorMapReplaceAddress),
	ROW(cuGetProcAddress_v2),
	{"cuGetProcAddress", (void *)trip_lookup_1},
};

/* The pointer decides, not the name: versions and families differ. */
static void replace(void **fn)
{
	for (size_t i = 0; fn && *fn && i < sizeof(rows) / sizeof(*rows); i++)
		if (*fn == trip_real(rows[i].name)) {
			*fn = rows[i].hook;
			return;
		}
}

/* cuda.h gives this name to its cuGetProcAddress. */
EXPORT CUresult cuGetProcAddress_v2(const char *name, void **fn, int version,
				    cuuint64_t flags,
				    CUdriverProcAddressQueryResult *status)
{
	CUresult code =
		REAL(cuGetProcAddress_v2)(name, fn, version, flags, status);

	if (!code)
		replace(fn);
	return code;
}

CUresult trip_lookup_1(const char *name, void **fn, int version,
		       cuuint64_t flags)
{
	__typeof__(trip_lookup_1) *real = trip_real("cuGetProcAddress");
	CUresult code =
		real ? real(name, fn, version, flags) : CUDA_ERROR_NOT_FOUND;

	if (!code)
		replace(fn);
	return code;
}

/* ---- what the driving program calls ---- */

void trip_start(void)
{
	pthread_mutex_lock(&lock);
	now.active = true;
	pthread_mutex_unlock(&lock);
}

static void say_guilty(const char *prefix)
{
	for (unsigned i = 0; i < KERNELS && guilty[i].count; i++) {
		char json[256];

		snprintf(json, sizeof(json), "[%u,\"%.199s\"]", guilty[i].count,
			 guilty[i].name);
		fact_json(json, "%s_missed_by_%u", prefix, i);
	}
	memset(guilty, 0, sizeof(guilty));
}

/* Writes the facts; launches that were missed, or -1 if none was tested. */
int trip_stop(const char *prefix)
{
	int missed;

	pthread_mutex_lock(&lock);
	now.active = false;
	fact_int(now.launches, "%s_launches", prefix);
	fact_int(now.tested, "%s_launches_tested", prefix);
	fact_int(now.missed, "%s_launches_missed", prefix);
	if (now.tested)
		fact_num(100.0 * (now.tested - now.missed) / now.tested,
			 "%s_named_all_percent", prefix);
	fact_int(now.unknown, "%s_launches_unknown_arguments", prefix);
	fact_int(now.with_map, "%s_launches_with_tensor_map", prefix);
	fact_int(now.only_by_map, "%s_launches_named_only_by_map", prefix);
	fact_int((long long)(now.missed_bytes / KIB), "%s_missed_kib", prefix);
	if (now.tested)
		fact_num((double)now.armed / now.tested,
			 "%s_tensors_armed_a_launch", prefix);
	fact_int(now.unsettled, "%s_tensors_not_armed", prefix);
	fact_int(now.graphs, "%s_graph_launches", prefix);
	fact_int(now.captured_launches, "%s_captured_launches", prefix);
	trip_scan_facts(prefix);
	say_guilty(prefix);
	missed = now.tested ? (int)now.missed : -1;
	memset(&now, 0, sizeof(now));
	pthread_mutex_unlock(&lock);
	return missed;
}

/* A launch that reads N addresses from LIST, in memory: it must be missed. */
int trip_control(void *list, unsigned n)
{
	CUfunction f = probe_kernel("probe_hidden");
	void *args[] = {&list, &n};

	return (int)cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
}
