/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timed WHAT: launches behind a preload library that records a trace, so that
 * one in 64 of them is timed; see trace_times.sh. What the library asks of the
 * driver for that is counted in the driver.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "driver.h"
#include "softcuda.h"

#define NON_BLOCKING 1
/* So many launches in a row have at least one whose turn it is. */
#define TURN 65

static CUdeviceptr memory;
static void *params[] = {&memory};
static CUfunction slow, quick;

static CUstream stream(void)
{
	CUresult (*create)(CUstream *, unsigned) =
		driver_get("cuStreamCreate", 2000, 0);
	CUstream s;

	ok(create(&s, NON_BLOCKING));
	return s;
}

static void start(void)
{
	driver_start();
	ok(SYM(cuMemAlloc_v2)(&memory, 4096));
	slow = driver_kernel("slow");
	quick = driver_kernel("quick");
}

static void end(void)
{
	ok(SYM(cuMemFree_v2)(memory));
	driver_end();
}

static struct softcuda_counters counters(void)
{
	static void *soft;
	void (*read)(struct softcuda_counters *);
	struct softcuda_counters c;

	if (!soft)
		soft = dlopen(getenv("SOFTCUDA_SELF"), RTLD_NOW);
	expect(soft);
	*(void **)&read = dlsym(soft, "softcuda_counters");
	read(&c);
	return c;
}

static uint64_t records(void)
{
	return soft_calls("cuEventRecord");
}

static uint64_t own_records(void)
{
	return soft_calls("cuEventRecord_ptsz");
}

/* All that there is for timing; the program itself makes no event. */
static uint64_t asked(void)
{
	return records() + own_records() + soft_calls("cuEventCreate") +
	       soft_calls("cuEventQuery") + soft_calls("cuEventElapsedTime") +
	       soft_calls("cuEventDestroy_v2");
}

static void launch(CUstream s, int n)
{
	for (int i = 0; i < n; i++)
		driver_launch(quick, s, params);
}

/* ---- two kernels ---- */

/* quick is the first kernel, slow the second. 8 turns, one of them slow's; and
 * half a second in which the device has nothing to do. */
static void names(void)
{
	const struct timespec idle = {.tv_nsec = 500000000};
	CUstream s = stream();

	for (int i = 0; i < 8 * TURN; i++)
		driver_launch(i % 16 == 1 ? slow : quick, s, params);
	ok(SYM(cuStreamSynchronize)(s));
	nanosleep(&idle, NULL);
	launch(s, TURN);
	ok(SYM(cuCtxSynchronize)());
}

/* ---- every form of a launch, and the stream of its events ---- */

static CUgraphExec graph(CUstream s)
{
	CUgraph g;
	CUgraphExec exec;

	ok(SYM(cuStreamBeginCapture_v2)(s, 0));
	driver_launch(quick, s, params);
	ok(SYM(cuStreamEndCapture)(s, &g));
	ok(SYM(cuGraphInstantiateWithFlags)(&exec, g, 0));
	return exec;
}

static const char *form;
static uint64_t before, own_before;

static void begin(const char *what)
{
	form = what;
	before = records();
	own_before = own_records();
}

/* So many events went to the one and to the other function. */
static void timed(bool theirs, bool own)
{
	uint64_t n = records() - before, m = own_records() - own_before;

	if ((n >= 2) != theirs || (m >= 2) != own || n % 2 || m % 2) {
		fprintf(stderr, "%s: %d events, %d of the own stream\n", form,
			(int)n, (int)m);
		exit(1);
	}
}

static CUlaunchConfig config(CUstream s, CUlaunchAttribute *a)
{
	return (CUlaunchConfig){.gridDimX = 1,
				.gridDimY = 1,
				.gridDimZ = 1,
				.blockDimX = 1,
				.blockDimY = 1,
				.blockDimZ = 1,
				.hStream = s,
				.attrs = a,
				.numAttrs = a != NULL};
}

static void forms(void)
{
	CUstream s = stream();
	CUgraphExec exec = graph(s);
	CUlaunchAttribute overlap = {.id = 6, .value = {1}};
	CUlaunchConfig plain = config(s, NULL), odd = config(s, &overlap);

	begin("cuLaunchKernel");
	launch(s, TURN);
	timed(true, false);
	begin("cuLaunchKernel on stream 0");
	launch(NULL, TURN);
	timed(true, false);
	begin("cuLaunchKernel_ptsz");
	for (int i = 0; i < TURN; i++)
		ok(SYM(cuLaunchKernel_ptsz)(quick, 1, 1, 1, 1, 1, 1, 0, NULL,
					    params, NULL));
	timed(false, true);
	begin("cuLaunchKernelEx");
	for (int i = 0; i < TURN; i++)
		ok(SYM(cuLaunchKernelEx)(&plain, quick, params, NULL));
	timed(true, false);
	begin("cuLaunchKernelEx_ptsz");
	for (int i = 0; i < TURN; i++)
		ok(SYM(cuLaunchKernelEx_ptsz)(&plain, quick, params, NULL));
	timed(false, true);
	begin("a launch that may overlap");
	for (int i = 0; i < TURN; i++)
		ok(SYM(cuLaunchKernelEx)(&odd, quick, params, NULL));
	timed(false, false);
	begin("cuLaunchCooperativeKernel");
	for (int i = 0; i < TURN; i++)
		ok(SYM(cuLaunchCooperativeKernel)(quick, 1, 1, 1, 1, 1, 1, 0, s,
						  params));
	timed(true, false);
	begin("cuLaunchCooperativeKernel_ptsz");
	for (int i = 0; i < TURN; i++)
		ok(SYM(cuLaunchCooperativeKernel_ptsz)(quick, 1, 1, 1, 1, 1, 1,
						       0, s, params));
	timed(false, true);
	begin("cuGraphLaunch");
	for (int i = 0; i < TURN; i++)
		ok(SYM(cuGraphLaunch)(exec, s));
	timed(true, false);
	begin("cuGraphLaunch_ptsz");
	for (int i = 0; i < TURN; i++)
		ok(SYM(cuGraphLaunch_ptsz)(exec, s));
	timed(false, true);
	/* A launch that the driver refuses is the program's. */
	for (int i = 0; i < TURN; i++)
		expect(SYM(cuLaunchKernel)(quick, 0, 1, 1, 1, 1, 1, 0, s,
					   params, NULL) == 1);
	expect(SYM(cuLaunchKernelEx)(NULL, quick, params, NULL) == 1);
	ok(SYM(cuCtxSynchronize)());
}

/* ---- captures ---- */

static void *beside(void *other)
{
	CUresult (*current)(CUcontext) = driver_get("cuCtxSetCurrent", 4000, 0);

	ok(current(other));
	launch(stream(), 3 * TURN);
	return NULL;
}

/* Of every mode: a capture of 200 launches, others beside it in this thread
 * and in another one, while times are to be read. */
static void captures(void)
{
	CUresult (*nodes)(CUgraph, CUgraphNode *, size_t *) =
		driver_get("cuGraphGetNodes", 10000, 0);
	CUstream s = stream(), other = stream();
	CUcontext context;
	pthread_t thread;
	CUgraph g = NULL;
	uint64_t n;
	size_t count = 0;

	ok(SYM(cuCtxGetCurrent)(&context));
	for (int mode = 0; mode < 3; mode++) {
		launch(other, 3 * TURN);
		ok(SYM(cuStreamBeginCapture_v2)(s, mode));
		n = asked();
		expect(n > 0);
		launch(s, 200);
		launch(other, 3 * TURN);
		expect(!pthread_create(&thread, NULL, beside, context));
		expect(!pthread_join(thread, NULL));
		expect(asked() == n);
		ok(SYM(cuStreamEndCapture)(s, &g));
		ok(nodes(g, NULL, &count));
		expect(count == 200);
		launch(other, 3 * TURN);
		expect(asked() > n);
	}
	expect(counters().captures_invalidated == 0);
	expect(counters().capture_refusals == 0);
}

/* ---- contexts ---- */

/* The primary one ends by the last release, or at once by a reset. */
static void primary_ends(bool by_reset)
{
	CUresult (*load)(CUmodule *, const char *) =
		driver_get("cuModuleLoad", 2000, 0);
	CUresult (*get)(CUfunction *, CUmodule, const char *) =
		driver_get("cuModuleGetFunction", 2000, 0);
	CUresult (*reset)(CUdevice) =
		driver_get("cuDevicePrimaryCtxReset", 7000, 0);
	CUresult (*retain)(CUcontext *, CUdevice) =
		driver_get("cuDevicePrimaryCtxRetain", 7000, 0);
	CUresult (*release)(CUdevice) =
		driver_get("cuDevicePrimaryCtxRelease", 7000, 0);
	CUresult (*current)(CUcontext) = driver_get("cuCtxSetCurrent", 4000, 0);
	CUcontext own, primary;
	CUmodule module;

	ok(SYM(cuCtxGetCurrent)(&own));
	ok(retain(&primary, 0));
	ok(retain(&primary, 0));
	ok(current(primary));
	ok(load(&module, getenv("TEST_MODULE")));
	ok(get(&quick, module, "quick"));
	launch(NULL, 2 * TURN);
	ok(release(0));
	launch(NULL, 2 * TURN);
	if (by_reset)
		ok(reset(0));
	else
		ok(release(0));
	ok(current(own));
	expect(counters().live_events == 0);
}

/* More of them than there are pools, each ends while its launches run. */
static void contexts(void)
{
	end();
	for (int i = 0; i < 40; i++) {
		uint64_t n = records();

		start();
		driver_launch(slow, NULL, params);
		launch(NULL, 2 * TURN);
		expect(records() >= n + 4);
		driver_end();
		expect(counters().live_events == 0);
	}
	start();
	for (int i = 0; i < 4; i++)
		primary_ends(i % 2);
}

/* A context ends without the library's knowledge, and another one has its
 * handle. */
static void replace(void)
{
	void *soft = dlopen(getenv("SOFTCUDA_SELF"), RTLD_NOW);
	CUresult (*destroy)(CUcontext);
	CUcontext had, now;

	expect(soft);
	*(void **)&destroy = dlsym(soft, "cuCtxDestroy_v2");
	ok(SYM(cuCtxGetCurrent)(&had));
	ok(destroy(had));
	start();
	ok(SYM(cuCtxGetCurrent)(&now));
	expect(now == had);
}

/* The events of the first are neither used for the second nor destroyed. */
static void unseen(void)
{
	uint64_t made;

	launch(NULL, 2 * TURN);
	made = soft_calls("cuEventCreate");
	expect(made > 0);
	replace();
	launch(NULL, 2 * TURN);
	expect(soft_calls("cuEventCreate") > made);
	replace();
	end();
	expect(soft_calls("cuEventDestroy_v2") == 0);
	exit(0);
}

/* ---- threads ---- */

static void *one_thread(void *context)
{
	CUresult (*current)(CUcontext) = driver_get("cuCtxSetCurrent", 4000, 0);
	CUstream s;

	ok(current(context));
	s = stream();
	for (int i = 0; i < 1000; i++) {
		if (i % 3)
			driver_launch(quick, s, params);
		else
			ok(SYM(cuLaunchKernel_ptsz)(quick, 1, 1, 1, 1, 1, 1, 0,
						    NULL, params, NULL));
		if (i % 100 == 99)
			ok(SYM(cuStreamSynchronize)(s));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[8];
	CUcontext context;

	ok(SYM(cuCtxGetCurrent)(&context));
	for (int i = 0; i < 8; i++)
		expect(!pthread_create(&thread[i], NULL, one_thread, context));
	for (int i = 0; i < 8; i++)
		expect(!pthread_join(thread[i], NULL));
	expect(soft_calls("cuEventCreate") <= 64);
}

/* ---- what goes wrong ---- */

/* Once, whatever it is; then nothing is asked any more in this context. */
static void failures(const char *rule)
{
	CUcontext context;
	uint64_t n;

	soft_fail(rule);
	launch(NULL, 4 * TURN);
	ok(SYM(cuCtxSynchronize)());
	launch(NULL, 4 * TURN);
	n = asked();
	launch(NULL, 4 * TURN);
	ok(SYM(cuCtxSynchronize)());
	expect(counters().injected_failures == 1);
	expect(asked() == n);
	/* Another one is as good as new. */
	ok(SYM(cuCtxGetCurrent)(&context));
	driver_end();
	start();
	launch(NULL, 4 * TURN);
	expect(asked() > n);
}

/* The child's driver does not work, and is asked for nothing, not even for
 * the context. */
static void forks(void)
{
	CUstream s = stream();
	int status;
	pid_t pid;

	launch(s, TURN);
	pid = fork();
	if (!pid) {
		uint64_t n = asked() + soft_calls("cuCtxGetCurrent");

		for (int i = 0; i < 3 * TURN; i++)
			SYM(cuLaunchKernel)(quick, 1, 1, 1, 1, 1, 1, 0, s,
					    params, NULL);
		_exit(asked() + soft_calls("cuCtxGetCurrent") != n);
	}
	expect(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
	launch(s, 2 * TURN);
	ok(SYM(cuStreamSynchronize)(s));
}

/* Without a trace. */
static void untimed(void)
{
	launch(stream(), 10 * TURN);
	ok(SYM(cuCtxSynchronize)());
	expect(asked() == 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} what[] = {
		{"names", names},	{"forms", forms},
		{"captures", captures}, {"threads", threads},
		{"forks", forks},	{"untimed", untimed},
		{"unseen", unseen},	{"contexts", contexts},
	};

	size_t n = sizeof(what) / sizeof(what[0]), i = 0;
	bool failing = argc == 3 && !strcmp(argv[1], "failure");

	while (i < n && (argc != 2 || strcmp(argv[1], what[i].name)))
		i++;
	if (i == n && !failing)
		return 2;
	start();
	if (failing)
		failures(argv[2]);
	else
		what[i].run();
	end();
	expect(counters().live_events == 0);
	return 0;
}
