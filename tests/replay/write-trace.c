/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a binary trace to stdout: STEPS steps of a layered net whose
 * activations, 64 MiB each, are born and die in every step at the same
 * addresses; then as many faults on host blocks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "policy/trace_file.h"

#define LAYERS 16u
#define STEPS  12u
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

static void launch(uint32_t in, uint32_t out, unsigned how)
{
	const uint32_t use[] = {in << 3 | 1, out << 3 | how};

	add((struct hz_tf_event){.kind = HZ_TF_LAUNCH,
				 .ns = 20000000,
				 .uses = in == out ? 1 : 2,
				 .use = use});
}

static void step(uint32_t n)
{
	add((struct hz_tf_event){.kind = HZ_TF_STEP, .id = n});
	for (uint32_t i = 1; i <= LAYERS; i++) {
		add((struct hz_tf_event){
			.kind = HZ_TF_ALLOC, .id = i, .bytes = ACT});
		launch(i - 1, i, 2);
	}
	for (uint32_t i = LAYERS; i; i--) {
		launch(i, i, 1);
		add((struct hz_tf_event){.kind = HZ_TF_FREE, .id = i});
	}
}

int main(void)
{
	static uint8_t buf[HZ_TF_BUFFER];

	if (hz_tf_start(&writer, buf, sizeof(buf), put, stdout))
		return 1;
	add((struct hz_tf_event){.kind = HZ_TF_ALLOC, .id = 0, .bytes = ACT});
	for (uint32_t n = 0; n < STEPS; n++)
		step(n);
	for (uint32_t i = 0; i < 32; i++)
		add((struct hz_tf_event){.kind = HZ_TF_FAULT, .id = i});
	return hz_tf_flush(&writer) || fflush(stdout);
}
