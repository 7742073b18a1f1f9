/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Item 8: what a launch costs the thread that makes it, and what the means of
 * timing add. run.sh runs it with and without the shim.
 */
#include "probe.h"

#define LAUNCHES 20000u
#define WARM	 2000u

static CUfunction usual, nothing, dependent;
static CUstream stream;
static CUdeviceptr word;

/* ---- what stands between two launches ---- */

enum between {
	PLAIN,
	WRITE_VALUE,
	WRITE_VALUE_32ND,
	RECORD,
	RECORD_TIMED,
	RECORD_PAIR_64TH,
	WAYS
};

static const char *const way_name[] = {
	"launch",	"launch_write_value", "launch_write_value_1_32",
	"launch_event", "launch_timed_event", "launch_timed_pair_1_64"};

static struct {
	CUevent plain, timed[2];
} events;

static void launch_usual(void)
{
	float f = 1;
	int n = 0;
	long l = 0;
	void *args[] = {&word, &word, &word, &n, &n, &n,
			&n,    &l,    &l,    &f, &f, &n};

	probe_launch(usual, 1, 32, stream, args);
}

static void one_launch(enum between way, unsigned i)
{
	bool sampled = way == RECORD_PAIR_64TH && i % 64 == 0;

	if (sampled)
		need(cuEventRecord(events.timed[0], stream));
	launch_usual();
	if (sampled)
		need(cuEventRecord(events.timed[1], stream));
	if (way == WRITE_VALUE || (way == WRITE_VALUE_32ND && i % 32 == 0))
		need(cuStreamWriteValue32(stream, word, i, 0));
	if (way == RECORD || way == RECORD_TIMED)
		need(cuEventRecord(way == RECORD ? events.plain
						 : events.timed[0],
				   stream));
}

/* The queue is drained every 256 launches, outside of the time taken. */
static void time_way(enum between way)
{
	double calls = 0, whole = now_s(), start;

	for (unsigned i = 0; i < WARM; i++)
		one_launch(way, i);
	need(cuStreamSynchronize(stream));
	for (unsigned i = 0; i < LAUNCHES; i += 256) {
		start = now_s();
		for (unsigned k = 0; k < 256; k++)
			one_launch(way, i + k);
		calls += now_s() - start;
		need(cuStreamSynchronize(stream));
	}
	fact_num(calls * 1e9 / ((LAUNCHES + 255) / 256 * 256), "%s_call_ns",
		 way_name[way]);
	/* Run ahead without draining: what the device can take. */
	whole = now_s();
	for (unsigned i = 0; i < LAUNCHES; i++)
		one_launch(way, i);
	need(cuStreamSynchronize(stream));
	fact_num((now_s() - whole) * 1e9 / LAUNCHES, "%s_whole_ns",
		 way_name[way]);
}

/* ---- programmatic dependent launch ---- */

static void launch_dependent(unsigned long long ns)
{
	CUlaunchAttribute a = {
		.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		.value.programmaticStreamSerializationAllowed = 1};
	CUlaunchConfig c = {.gridDimX = 1,
			    .gridDimY = 1,
			    .gridDimZ = 1,
			    .blockDimX = 1,
			    .blockDimY = 1,
			    .blockDimZ = 1,
			    .hStream = stream,
			    .attrs = &a,
			    .numAttrs = 1};
	void *args[] = {&ns};

	need(cuLaunchKernelEx(&c, dependent, args, NULL));
}

enum gap { NOTHING, EVENT, TIMED_EVENT, VALUE, GAPS };

static const char *const gap_name[] = {"pdl", "pdl_event", "pdl_timed_event",
				       "pdl_write_value"};

static void time_dependent(enum gap gap)
{
	enum { PAIRS = 200 };
	double start;

	need(cuStreamSynchronize(stream));
	start = now_s();
	for (unsigned i = 0; i < PAIRS; i++) {
		launch_dependent(20000);
		if (gap == EVENT)
			need(cuEventRecord(events.plain, stream));
		if (gap == TIMED_EVENT)
			need(cuEventRecord(events.timed[0], stream));
		if (gap == VALUE)
			need(cuStreamWriteValue32(stream, word, i, 0));
	}
	need(cuStreamSynchronize(stream));
	fact_num((now_s() - start) * 1e6 / PAIRS, "%s_20us_kernel_us",
		 gap_name[gap]);
}

/* ---- single calls ---- */

static void time_queries(void)
{
	enum { CALLS = 20000 };
	double start = now_s();
	size_t offset, size;

	for (unsigned i = 0; i < CALLS; i++)
		need(cuFuncGetParamInfo(usual, i % 12, &offset, &size));
	fact_num((now_s() - start) * 1e9 / CALLS, "param_info_ns");
	start = now_s();
	for (unsigned i = 0; i < CALLS; i++) {
		CUstreamCaptureStatus status;

		need(cuStreamIsCapturing(stream, &status));
	}
	fact_num((now_s() - start) * 1e9 / CALLS, "is_capturing_ns");
	start = now_s();
	for (unsigned i = 0; i < CALLS; i++)
		need(cuEventQuery(events.plain));
	fact_num((now_s() - start) * 1e9 / CALLS, "event_query_ns");
}

int main(void)
{
	probe_open();
	usual = probe_kernel("probe_usual");
	nothing = probe_kernel("probe_nothing");
	dependent = probe_kernel("probe_dependent");
	need(cuMemAlloc(&word, 64));
	need(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	need(cuEventCreate(&events.plain, CU_EVENT_DISABLE_TIMING));
	need(cuEventCreate(&events.timed[0], CU_EVENT_DEFAULT));
	need(cuEventCreate(&events.timed[1], CU_EVENT_DEFAULT));
	for (enum between w = PLAIN; w < WAYS; w++)
		time_way(w);
	time_queries();
	for (enum gap g = NOTHING; g < GAPS; g++)
		time_dependent(g);
	probe_launch(nothing, 1, 1, stream, NULL);
	need(cuStreamSynchronize(stream));
	return 0;
}
