/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries a plan out, piece by piece, as the run goes on. It goes by kernels,
 * not by the clock, so a step that takes longer or shorter today does not
 * matter; what the plan does not know is served as lru does.
 */
#ifndef HZ_REPLAY_FOLLOW_H
#define HZ_REPLAY_FOLLOW_H

#include "replay/lru.h"
#include "replay/sim.h"

/* Open gaps by some kernel. */
struct queue_entry {
	uint64_t key;
	uint32_t tensor, gap;
};

struct queue {
	struct queue_entry *at;
	uint32_t n, max;
};

/* Of a tensor. */
struct follow_tensor {
	uint32_t gap;	/* the open one, HZ_NONE: in use, dead or not known */
	bool back;	/* coming back: is not dropped any more */
	bool asked;	/* its part in the store is to be read at once */
	bool copy;	/* a copy in RAM is worth its place */
	uint32_t wrote; /* use that wrote last */
	uint64_t base;	/* kernel at which the step of its gap began */
};

enum follow_queue {
	FOLLOW_OUT,   /* by deadline */
	FOLLOW_GATE,  /* by when it may come back */
	FOLLOW_IN,    /* it may: by the end of the gap */
	FOLLOW_WRITE, /* the furthest end first */
	FOLLOW_READ,  /* by when it may start */
	FOLLOW_DROP,  /* the furthest end first */
	FOLLOW_QUEUES
};

struct follow {
	const struct hz_step *step;
	struct hz_tensor_plan plan;
	void *mem;
	struct follow_tensor *tensor;
	struct queue queue[FOLLOW_QUEUES];
	struct lru *lru;
	bool on;       /* the plan is followed */
	uint32_t at;   /* the kernel of the step that waits or runs */
	uint64_t base; /* kernel at which the step began, counted on */
};

/* The machine as the planner sees it. */
struct hz_plan_for follow_machine(const struct profile *p, enum hz_goal goal);

void follow_init(struct follow *f, const struct sim *sim);
/* `step` stays the caller's and must live on. Tensors in use begin their gaps
 * as they are used. `was`: the step that was planned before, which need not
 * live on, NULL: none. */
void follow_plan(struct follow *f, const struct sim *sim,
		 const struct hz_step *step, const struct hz_step *was);
/* The step's times are others now. */
void follow_retime(struct follow *f, const struct sim *sim);
/* A step as planned has just ended. */
void follow_prime(struct follow *f);
/* No plan any more. */
void follow_stop(struct follow *f);
void follow_free(struct follow *f);

/* Calls of a policy whose data begins with a struct follow; its `at` says which
 * kernel it is. */
void follow_begin(struct sim *sim);
void follow_end(struct sim *sim);
struct move follow_pick(struct sim *sim, enum channel ch);
void follow_room(struct sim *sim, uint64_t bytes, uint32_t tensor);
bool follow_keep_copy(struct sim *sim, uint32_t tensor);

void queue_push(struct queue *q, struct queue_entry e);
void queue_pop(struct queue *q);

#endif
