/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long kernels of a recording take: what was timed, what is like it, and
 * the time in between where nothing is.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include "policy/trace_file.h"
#include "replay/work.h"

static struct {
	uint8_t data[1 << 16];
	size_t len;
	struct hz_tf_writer writer;
	uint64_t now;
} file;

static int append(void *arg, const void *bytes, size_t len)
{
	cr_assert_leq(len, sizeof(file.data) - file.len);
	memcpy(file.data + file.len, bytes, len);
	file.len += len;
	return 0;
}

static void begin(void)
{
	static uint8_t buf[HZ_TF_BUFFER];

	memset(&file, 0, sizeof(file));
	cr_assert_eq(hz_tf_start(&file.writer, buf, sizeof(buf), append, NULL),
		     0);
}

static void add(struct hz_tf_event e)
{
	e.now = file.now += 1000;
	cr_assert_eq(hz_tf_add(&file.writer, &e), 0);
}

static void tensor(uint64_t id, uint64_t bytes)
{
	add((struct hz_tf_event){
		.kind = HZ_TF_ALLOC, .id = id, .bytes = bytes});
}

static void launch(uint64_t name, uint32_t id)
{
	const uint32_t use = hz_use(id, HZ_USE_READ | HZ_USE_WRITE);

	add((struct hz_tf_event){
		.kind = HZ_TF_LAUNCH, .id = name, .uses = 1, .use = &use});
}

static void copy(uint32_t id)
{
	add((struct hz_tf_event){.kind = HZ_TF_COPY, .id = id, .bytes = 4096});
}

static void took(uint64_t name, uint64_t back, uint64_t ns)
{
	add((struct hz_tf_event){
		.kind = HZ_TF_TIME, .id = name, .back = back, .ns = ns});
}

static struct work *finish(void)
{
	struct work *w;

	cr_assert_eq(hz_tf_flush(&file.writer), 0);
	w = work_parse_trace("-", file.data, file.len);
	cr_assert(w);
	return w;
}

static void takes(const struct work *w, uint32_t kernel, uint64_t ns)
{
	cr_assert_eq(w->step.ns[kernel], ns, "kernel %u takes %lu", kernel,
		     (unsigned long)w->step.ns[kernel]);
}

/* The time of an event is 1000 ns after the one before. */
Test(work_times, without_times_it_is_what_passed)
{
	struct work *w;

	begin();
	tensor(1, 4096);
	launch(7, 1);
	launch(7, 1);
	tensor(2, 4096);
	copy(1);
	w = finish();
	cr_assert_eq(w->step.kernels, 3);
	takes(w, 0, 0);
	takes(w, 1, 1000);
	takes(w, 2, 2000);
	work_free(w);
}

Test(work_times, what_is_most_like_it_counts)
{
	struct work *w;

	begin();
	tensor(1, 4096);
	tensor(2, 4096);
	tensor(3, 1 << 20);
	launch(7, 1); /* 0: timed */
	launch(7, 3); /* 1: timed */
	took(7, 2, 50);
	took(7, 1, 9000);
	launch(7, 1); /* 2: the same place */
	launch(7, 2); /* 3: as many bytes */
	launch(7, 3); /* 4 */
	launch(8, 3); /* 5: another kernel, timed */
	took(8, 1, 70);
	tensor(4, 12345);
	launch(8, 4); /* 6: the kernel at least */
	w = finish();
	cr_assert_eq(w->step.kernels, 7);
	takes(w, 0, 50);
	takes(w, 1, 9000);
	takes(w, 2, 50);
	takes(w, 3, 50);
	takes(w, 4, 9000);
	takes(w, 5, 70);
	takes(w, 6, 70);
	work_free(w);
}

Test(work_times, one_that_was_disturbed_does_not_count)
{
	static const uint64_t ns[] = {100, 90, 5000000, 110, 105};
	struct work *w;

	begin();
	tensor(1, 4096);
	for (unsigned i = 0; i < 5; i++) {
		launch(7, 1);
		took(7, 1, ns[i]);
	}
	launch(7, 1);
	w = finish();
	takes(w, 2, 5000000);
	takes(w, 5, 105);
	work_free(w);
}

/* A copy that waited for the kernels before it is not as long as they. */
Test(work_times, waits_for_what_is_timed_are_not_counted_twice)
{
	struct work *w;

	begin();
	tensor(1, 4096);
	launch(7, 1); /* asked for at 2000, until 12000 */
	copy(1);      /* back at 3000: it did not wait */
	file.now = 14000;
	copy(1); /* back at 15000: it did, for 12000 */
	took(7, 1, 10000);
	launch(9, 1); /* at 17000, nothing is known of it */
	w = finish();
	takes(w, 0, 10000);
	takes(w, 1, 0);
	takes(w, 2, 3000);
	takes(w, 3, 2000);
	work_free(w);
}

/* Graphs and more uses of one launch: one launch, one kernel. */
Test(work_times, more_uses_are_no_launch)
{
	struct work *w;

	begin();
	tensor(1, 4096);
	tensor(2, 4096);
	launch(7, 1);
	launch(HZ_TF_MORE, 2);
	launch(4097, 2);
	took(7, 2, 300);
	took(4097, 1, 400);
	w = finish();
	cr_assert_eq(w->step.kernels, 2);
	takes(w, 0, 300);
	takes(w, 1, 400);
	work_free(w);
}

/* Nothing of it happened: nothing of it counts. */
Test(work_times, times_of_no_launch_are_left_out)
{
	struct work *w;

	begin();
	tensor(1, 4096);
	launch(7, 1);
	launch(7, 1);
	took(7, 0, 1);
	took(7, 3, 1);
	took(7, UINT64_MAX, 1);
	took(8, 1, 1);
	w = finish();
	takes(w, 0, 0);
	takes(w, 1, 1000);
	work_free(w);
}
