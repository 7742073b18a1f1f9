/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program, an engine and a store in miniature, to score a plan.
 *
 * A trace is the order in which a program visits blocks. The simulated engine
 * serves it as the real one does: a visit to a mapped block is invisible to
 * the plan, one to a block on trial is a soft fault, prefetched blocks sit in
 * frames until they are touched, clean blocks leave without a write, and some
 * frames are kept free. Transfers take no time: the score is counts.
 */
#ifndef HZ_TEST_PLAN_SIM_H
#define HZ_TEST_PLAN_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "policy/plan.h"

struct sim_visit {
	uint32_t block;
	bool write;
};

struct sim_trace {
	struct sim_visit *visit;
	size_t n, room;
	uint32_t blocks; /* highest block + 1 */
};

void sim_visit(struct sim_trace *t, uint32_t block, bool write);
void sim_sweep(struct sim_trace *t, uint32_t first, uint32_t n, bool write);
void sim_trace_free(struct sim_trace *t);

/* One training step of a decoder with `layers` layers and `width` channels,
 * arrays laid out one tensor kind after the other, all layers of a kind
 * together: forward, zeroing of gradients, backward, AdamW. */
struct sim_model {
	uint32_t layers, width, vocabulary, batch, length, heads;
};
void sim_train_step(struct sim_trace *t, const struct sim_model *m);

struct sim_count {
	uint64_t visits;
	uint64_t reads; /* demand + prefetch */
	uint64_t writes;
	uint64_t demand, zero, soft, ahead;
	uint64_t trials, evictions, clean, drops, refused;
};

struct sim;
struct sim *sim_new(uint32_t blocks, uint32_t capacity, uint32_t read_ahead);
void sim_free(struct sim *s);
void sim_capacity(struct sim *s, uint32_t capacity);
/* The engine refuses to take this block while set. */
void sim_pin(struct sim *s, uint32_t block, bool pinned);
/* Visits [from, to) of the trace; what it cost. */
struct sim_count sim_run(struct sim *s, const struct sim_trace *t, size_t from,
                         size_t to);
/* Run `passes` equal parts of a trace; what the last one cost. */
struct sim_count sim_passes(struct sim *s, const struct sim_trace *t,
                            unsigned passes);
uint32_t sim_resident(const struct sim *s); /* frames in use */
bool sim_is_resident(const struct sim *s, uint32_t block);
struct hz_plan *sim_plan(struct sim *s);

/* The same trace under a policy that sees every visit: reads and writes from
 * visit `from` on. */
enum sim_policy { SIM_FIFO, SIM_LRU, SIM_BELADY };
struct sim_count sim_reference(const struct sim_trace *t, uint32_t capacity,
                               size_t from, enum sim_policy policy);

#endif
