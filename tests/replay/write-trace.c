/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write-trace [STEPS [MICRO]]: a binary trace on stdout. Steps of a layered
 * net whose activations, 64 MiB each, are born and die in every step at the
 * same addresses; then some faults on host blocks. With MICRO a step has so
 * many of these passes, each with the layers' weights, and then an optimizer
 * with states of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "policy/trace_file.h"

#define LAYERS 16u
#define STEPS  12u
#define TAKES  20000000 /* ns */
#define ACT    ((uint64_t)64 << 20)

static struct hz_tf_writer writer;
static uint64_t now;

static int put(void *arg, const void *bytes, size_t len)
{
	return fwrite(bytes, 1, len, arg) == len ? 0 : -EIO;
}

static void add(struct hz_tf_event e)
{
	e.now = now += 1000;
	if (hz_tf_add(&writer, &e))
		exit(1);
}

static void launch(const uint32_t *use, uint32_t uses)
{
	add((struct hz_tf_event){.kind = HZ_TF_LAUNCH,
				 .ns = TAKES,
				 .uses = uses,
				 .use = use});
}

/* Of the last launch: as long as it says itself. */
static void time_last(void)
{
	add((struct hz_tf_event){.kind = HZ_TF_TIME, .back = 1, .ns = TAKES});
}

/* Ids of a layer's weight and of its optimizer's state. */
#define WEIGHT(i_)     (100 + (i_))
#define STATE(i_)      (200 + (i_))
#define USE(id_, how_) ((uint32_t)(id_) << 3 | (how_))

static void pass(bool weights)
{
	for (uint32_t i = 1; i <= LAYERS; i++) {
		const uint32_t use[] = {USE(i - 1, 1), USE(i, 2),
					USE(WEIGHT(i), 1)};

		add((struct hz_tf_event){
			.kind = HZ_TF_ALLOC, .id = i, .bytes = ACT});
		launch(use, weights ? 3 : 2);
	}
	time_last();
	for (uint32_t i = LAYERS; i; i--) {
		const uint32_t use[] = {USE(i, 1), USE(WEIGHT(i), 1)};

		launch(use, weights ? 2 : 1);
		add((struct hz_tf_event){.kind = HZ_TF_FREE, .id = i});
	}
}

static void step(uint32_t n, uint32_t micro)
{
	add((struct hz_tf_event){.kind = HZ_TF_STEP, .id = n});
	for (uint32_t m = 0; m < hz_max(micro, 1u); m++)
		pass(micro);
	for (uint32_t i = 1; micro && i <= LAYERS; i++) {
		const uint32_t use[] = {USE(WEIGHT(i), 3), USE(STATE(i), 3)};

		launch(use, 2);
	}
}

static void keep(uint32_t id)
{
	add((struct hz_tf_event){.kind = HZ_TF_ALLOC, .id = id, .bytes = ACT});
}

int main(int argc, char **argv)
{
	static uint8_t buf[HZ_TF_BUFFER];
	uint32_t steps = argc > 1 ? (uint32_t)atoi(argv[1]) : STEPS;
	uint32_t micro = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;

	if (hz_tf_start(&writer, buf, sizeof(buf), put, stdout))
		return 1;
	keep(0);
	for (uint32_t i = 1; micro && i <= LAYERS; i++) {
		keep(WEIGHT(i));
		keep(STATE(i));
	}
	for (uint32_t n = 0; n < steps; n++)
		step(n, micro);
	/* Blocks that nobody touched before, and one of them later. */
	for (uint32_t i = 31; i < 34; i++)
		add((struct hz_tf_event){.kind = HZ_TF_FREE,
					 .id = i | HZ_TF_HOST});
	for (uint32_t i = 0; i < 32; i++)
		add((struct hz_tf_event){.kind = HZ_TF_FAULT, .id = i});
	return hz_tf_flush(&writer) || fflush(stdout);
}
