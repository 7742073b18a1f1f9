/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is replayed: the kernels of a trace, and a run through them.
 */
#ifndef HZ_REPLAY_WORK_H
#define HZ_REPLAY_WORK_H

#include "policy/tensor_plan.h"

/* Kernels and tensors of one trace; owns all its arrays. */
struct work {
	char *name;
	struct hz_step step;
	uint64_t *ns;
	uint32_t *first;
	uint32_t *use;
	uint64_t *bytes;
	uint32_t *sign; /* by kernel: equal for equal uses */
	uint32_t kernels_max, uses_max, tensors_max;
	uint32_t *last; /* by tensor, until it is finished: last use + 1 */
	bool repeats;	/* it is one step; else a whole recording */
	double tokens;	/* of a step, 0: not known */
	/* What kernels of a step copy themselves, to and from the host, and
	 * what the host keeps for it. */
	uint64_t own_bytes, host_bytes;
	/* By kernel: what the host reads from the store and writes to it in
	 * the kernel's time, and the part of that time that is for this only.
	 * NULL: nothing. */
	uint64_t *host_store, *host_wait;
};

void work_kernel(struct work *w, uint64_t ns);
void work_use(struct work *w, uint32_t tensor, unsigned how);
void work_tensor(struct work *w, uint32_t tensor, uint64_t bytes);
/* Of the last kernel; how many there will be is known. */
void work_host(struct work *w, uint32_t kernels, uint64_t store, uint64_t wait);
uint64_t work_waits(const struct work *w);
/* Fills step and sign. Tensors that do not live across steps (keep[t] 0) die
 * with their last use. `keep` may be NULL: the uses say it already. */
void work_finish(struct work *w, const uint8_t *keep);
void work_free(struct work *w);
/* RAM that the host's own data takes: at most half; the rest is in the
 * store. */
uint64_t work_host_ram(const struct work *w, uint64_t ram);

/* A file of either kind. Each returns NULL after one message. */
struct work *work_read(const char *path);
/* Its bytes, which stay as they are; `path` is for messages. */
struct work *work_parse_tsv(const char *path, const char *data, size_t size);
struct work *work_parse_trace(const char *path, const void *data, size_t size);

/* The order in which kernels come; owns its arrays. */
struct run {
	const struct work *work;
	uint32_t n;
	uint32_t *kernel; /* of work */
	uint64_t *ns;
	uint32_t *first_use;  /* by position: into use; n + 1 */
	uint32_t *use;	      /* as in hz_step */
	uint32_t *step_start; /* positions; steps + 1 */
	uint32_t steps;
	uint32_t tensors;
	uint64_t *bytes;
};

struct run_how {
	uint32_t steps;
	unsigned perturb; /* kernel times by +- this percentage */
	unsigned eval;	  /* a pass without backward after so many steps */
	unsigned seed;
	bool shuffle; /* kernels in an order of their own each step */
};

void run_make(struct run *run, const struct work *work,
	      const struct run_how *how);
/* The same with addresses: freed memory is used again, and is never known to
 * be dead. */
void run_allocate(struct run *run, const struct run *from);
void run_free(struct run *run);

#endif
