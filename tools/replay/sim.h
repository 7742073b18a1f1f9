/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator: a GPU that runs kernels one after the other, its memory, RAM
 * and a store below, and four channels that each carry one piece at a time:
 * link out, link in, store write, store read. Time goes from event to event.
 *
 * A kernel starts when all of its tensors are in memory. A policy says what
 * goes over a channel that is idle and what may be dropped to make room; what
 * the waiting kernel lacks comes first, without asking.
 */
#ifndef HZ_REPLAY_SIM_H
#define HZ_REPLAY_SIM_H

#include "replay/work.h"

enum channel { CH_OUT, CH_IN, CH_WRITE, CH_READ, CHANNELS };

struct profile {
	const char *name;
	const char *source;
	uint64_t vram, ram, store;   /* bytes; store 0: none */
	uint64_t bps[CHANNELS];	     /* alone */
	uint64_t bps_both[CHANNELS]; /* with traffic the other way */
	uint64_t latency_ns[CHANNELS];
	uint64_t fault_ns;	  /* of one batch of faults */
	uint64_t flops, vram_bps; /* roofline, for synthetic steps */
};

extern const struct profile profiles[];
extern const unsigned profiles_count;
/* By name, NULL: unknown. */
const struct profile *profile_find(const char *name);

/* Faults are served in batches of 256 of 64 KiB. */
#define FAULT_BATCH ((uint64_t)16 << 20)
#define PIECE	    ((uint64_t)32 << 20)

/* Where a tensor's bytes are. Those in flight count where they come from, and
 * take memory in both places. */
struct tensor {
	uint64_t size;
	uint64_t vram;	  /* in VRAM */
	uint64_t clean;	  /* of them with a copy in RAM */
	uint64_t ram;	  /* in RAM only */
	uint64_t store;	  /* in the store only */
	uint64_t passing; /* of `ram`: read from the store on their way up */
	uint64_t flying[CHANNELS];
	uint64_t used; /* position of the last use, plus one */
	bool alive;
};

struct op {
	bool busy, stale;
	uint32_t tensor;
	uint64_t bytes, start, end;
};

struct policy;

/* What is counted. */
struct tally {
	uint64_t ns, ideal_ns, stall_ns;
	uint64_t moved[CHANNELS];
	uint64_t faults;
};

struct sim {
	const struct run *run;
	const struct profile *profile;
	const struct policy *policy;
	void *data; /* of the policy */
	enum hz_goal goal;
	struct tensor *tensor;
	struct op op[CHANNELS];
	uint64_t now;
	uint64_t vram_used, ram_used, store_used;
	uint64_t passing;      /* of ram_used, where it does not count */
	uint32_t pos;	       /* kernel that runs or waits */
	bool running, arrived; /* the kernel's begin was told */
	uint64_t kernel_end, waiting_since;
	uint64_t need;	    /* VRAM that the waiting kernel lacks */
	struct tally tally; /* since the last mark */
	struct tally *step; /* by step of the run */
	uint32_t steps_done;
	struct view *view; /* may be NULL */
	const char *stuck; /* why the run ended early */
};

struct move {
	uint32_t tensor; /* HZ_NONE: nothing */
	uint64_t bytes;
};

struct policy {
	const char *name;
	const char *help;
	bool serial_faults; /* a fault costs, and is served while all wait */
	bool direct;	    /* the store's reads need no RAM */
	bool addresses;	    /* replays run_allocate() */
	bool no_free;	    /* ignores deaths */
	void (*init)(struct sim *sim);
	void (*fini)(struct sim *sim);
	void (*begin)(struct sim *sim); /* kernel sim->pos waits from now on */
	void (*end)(struct sim *sim);	/* it is over */
	struct move (*pick)(struct sim *sim, enum channel ch);
	/* Drop copies so that `bytes` of VRAM are free, for a move to
	 * `tensor` (HZ_NONE: for the kernel that waits). */
	void (*room)(struct sim *sim, uint64_t bytes, uint32_t tensor);
	/* A piece came in: keep the copy in RAM? */
	bool (*keep_copy)(struct sim *sim, uint32_t tensor);
};

extern const struct policy policy_uvm, policy_uvm_nofree, policy_lru,
	policy_learned, policy_oracle;

/* One message and false where it cannot be run. */
bool sim_run(struct sim *sim, const struct run *run,
	     const struct profile *profile, const struct policy *policy,
	     enum hz_goal goal, struct view *view);
void sim_free(struct sim *sim);

static inline uint64_t sim_free_vram(const struct sim *sim)
{
	return sim->vram_used < sim->profile->vram
		       ? sim->profile->vram - sim->vram_used
		       : 0;
}

static inline uint64_t sim_free_ram(const struct sim *sim)
{
	uint64_t used = sim->ram_used - sim->passing;

	return used < sim->profile->ram ? sim->profile->ram - used : 0;
}

/* For policies. */
bool sim_active(const struct sim *sim, uint32_t tensor);
/* Bytes without a copy that no transfer takes out yet. */
uint64_t sim_dirty(const struct tensor *t);
/* Copies below are kept, memory above is free. */
void sim_drop(struct sim *sim, uint32_t tensor, uint64_t bytes);
/* The copy in RAM goes, the bytes in VRAM stay. */
void sim_forget_copy(struct sim *sim, uint32_t tensor, uint64_t bytes);

#endif
