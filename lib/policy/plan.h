/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam learn -> predict -> plan.
 *
 * The engine reports what happens to blocks; the plan answers two questions:
 * which block to take next, and which blocks to read ahead. It sees only
 * faults: an access to a mapped block is invisible, so the plan may put a
 * block on trial - unmapped, but still in its frame - and learn from the
 * soft fault that brings it back (about 0.1 ms, no I/O).
 *
 * Pure: no system call, no thread, no clock but the `now` it is given, no
 * allocation but the memory handed to hz_plan_init(). The same code runs
 * live and in a replay. Not thread-safe: the engine's lock guards it.
 *
 * The default policy (plan_default.c) is scan-resistant: a loop larger than
 * the budget keeps a fixed part of the loop resident and streams the rest
 * through a small window, instead of missing always as LRU does.
 *
 * Under pressure the learned one (plan_learned.c) looks for a period: for a
 * while every mapped block goes on trial soon after its use, so that each use
 * is seen. A period found becomes a schedule, which is followed without
 * sampling: the block that is needed last leaves, the one that is needed first
 * is read. When it does not fit any more the default takes over again.
 */
#ifndef HZ_PLAN_H
#define HZ_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/* What made a block resident or told us that it is used. */
enum hz_access {
	HZ_ACCESS_ZERO,	  /* first touch */
	HZ_ACCESS_DEMAND, /* fault that needs a read of the store */
	HZ_ACCESS_SOFT,	  /* fault on a block on trial or being evicted */
	HZ_ACCESS_AHEAD,  /* first fault on a prefetched block */
};

enum hz_action {
	HZ_ACT_NONE,  /* nothing can be taken */
	HZ_ACT_TRIAL, /* RESIDENT -> STAGED: unmap, keep the frame */
	HZ_ACT_EVICT, /* RESIDENT or STAGED -> out */
	HZ_ACT_DROP,  /* READY (prefetched, unused) -> STORED */
};

struct hz_choice {
	enum hz_action action;
	uint32_t block;
};

struct hz_plan;

/* Bytes of memory that a plan over `blocks` blocks needs (zeroed, page
 * aligned; untouched parts cost nothing). */
size_t hz_plan_bytes(uint32_t blocks);

/* `read_ahead`: the most blocks that hz_plan_ahead() may return at once. */
struct hz_plan *hz_plan_init(void *mem, uint32_t blocks, uint32_t read_ahead);

/* Whether to look for a period; on after hz_plan_init(). To be called before
 * anything else. */
void hz_plan_learning(struct hz_plan *plan, bool on);

/* Every use is to be seen, for a complete trace: mapped blocks go on trial
 * after 64 newer uses, and no period is looked for. Like the former. */
void hz_plan_dense(struct hz_plan *plan);

/* Blocks that fit the budget (resident + in frames); may change any time. */
void hz_plan_capacity(struct hz_plan *plan, uint32_t blocks);

/* A fault on `block` was read at `now` (ns). Called for every fault, before
 * it is served; the block enters (or stays in) the plan's lists. Amortised
 * O(1). */
void hz_plan_access(struct hz_plan *plan, uint32_t block,
		    enum hz_access how, uint64_t now);

/* Blocks worth reading next, best first, after the last hz_plan_access(). The
 * plan does not know which of them are stored; the engine skips the others.
 * Returns how many. */
unsigned hz_plan_ahead(struct hz_plan *plan, uint32_t *out, unsigned max);

/* The engine began to read `block` ahead: it will hold a frame. */
void hz_plan_prefetched(struct hz_plan *plan, uint32_t block);

/* It is mapped again, and not because it was used: its trial is over. */
void hz_plan_mapped(struct hz_plan *plan, uint32_t block);

/* It is not in the store: do not offer it again before it comes back and
 * leaves once more. */
void hz_plan_absent(struct hz_plan *plan, uint32_t block);

/* A transfer ended at `now` that took `ns`; `left` others are in flight. */
void hz_plan_transfer(struct hz_plan *plan, uint64_t ns, uint32_t left,
		      uint64_t now);

/* What to take next. `must`: a thread waits for it; otherwise the answer may
 * be that nothing is worth less than what would take its place. The choice is
 * not final: the engine answers with one of the calls below before it asks
 * again. */
struct hz_choice hz_plan_choose(struct hz_plan *plan, bool must);

/* A block to put on trial so that its next use is seen, or HZ_ACT_NONE. To be
 * answered like a choice. hz_plan_probes() says whether it is worth asking. */
struct hz_choice hz_plan_probe(struct hz_plan *plan);
bool hz_plan_probes(const struct hz_plan *plan);

/* The choice was carried out. */
void hz_plan_done(struct hz_plan *plan, struct hz_choice choice);

/* It could not be (pinned, sticky, busy): do not offer the block again
 * before others were offered. */
void hz_plan_refused(struct hz_plan *plan, struct hz_choice choice);

/* The block left the program's life (freed, unmapped, made native). */
void hz_plan_forget(struct hz_plan *plan, uint32_t block);

/* The content of `from` lives on as `to` (realloc, mremap). */
void hz_plan_rename(struct hz_plan *plan, uint32_t from, uint32_t to);

/* What the learner knows. */
struct hz_plan_learned {
	uint32_t period; /* uses in it, 0: none is known */
	bool locked;	 /* it is followed */
	uint32_t locks;	 /* how often one was found */
	uint64_t hits, misses; /* events that it expected, and not; ever */
};
struct hz_plan_learned hz_plan_learned(const struct hz_plan *plan);

/* Is a schedule followed? */
bool hz_plan_follows(const struct hz_plan *plan);

/* Walk all lists and abort on a difference (HZ_DEBUG builds and unit tests);
 * O(blocks). */
void hz_plan_check(struct hz_plan *plan);

#endif
