/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that the GPU files share, and its two locks.
 *
 * A set is a group of words that are named together: by launches of a kernel
 * with the same addresses, or by a graph. A launch finds its set and counts
 * there; the counts go to the tensors when somebody wants to see them, or
 * when the set has to be resolved anew because memory was freed. So a launch
 * that was seen before costs one look-up, however many tensors it names.
 *
 * A launch looks nothing up in the map: each word would be a few misses of the
 * cache. It puts its words, or the set that has to be resolved, into a ring
 * (gpu_later.c), in the order of launches. Who works off the ring:
 *
 *  - hz-launch, a thread that does nothing else;
 *  - whoever is about to change the map, or to look something up that may cut
 *    a tensor, or to read what launches count: drain first;
 *  - a launch that finds the ring full: as much as it needs room;
 *  - every launch, at once, while a trace is recorded or without hz-launch.
 *
 * `lock` guards the map and whatever is done with it: refs of sets, rows,
 * graphs, handles, the trace, and the tail of the ring. `launching` guards
 * what launches touch: which sets there are, their counts, the head of the
 * ring, descriptors. It is the inner one. Allocations come and go under both:
 * hz_gpu_stop() waits until the ring is empty with `launching` held, so what
 * was launched before counts for what was there before, and no launch can be
 * put between. A launch reads of the map only what changes under both.
 *
 * A set is
 *   valid    its refs are right; launches count in `count`
 *   old      memory that it names was freed, or it is new; nobody knows yet
 *   queued   it is in the ring: `old_count` belongs to the refs, `count` to
 *            those that it will get
 * valid -> old by itself (is_valid()), old -> queued at its next launch, queued
 * -> valid when its entry of the ring is worked off. Graphs' sets go from old
 * to valid at their launch, under `lock`.
 */
#ifndef HZ_GPU_INT_H
#define HZ_GPU_INT_H

#include "base/lock.h"
#include "base/stats.h"
#include "engine/gpu.h"
#include "policy/gpu_map.h"

#define HZ_GPU_SETS	   (1u << 15)
#define HZ_GPU_SET_WORDS   (1u << 21) /* of all sets together */
#define HZ_GPU_SET_ALLOCS  16u /* more than that are not remembered */
#define HZ_GPU_SEEN	   (1u << 16)
#define HZ_GPU_LATER_WORDS (1u << 20) /* of the ring, headers included */
#define HZ_GPU_EXECS	   4096u
#define HZ_GPU_EXEC_WORDS  (1u << 22)
#define HZ_GPU_EXEC_MOST   (1u << 16) /* words of one graph */
#define HZ_GPU_KERNELS	   4096u
#define HZ_GPU_KERNEL_NAME 48u
#define HZ_GPU_HANDLES	   (1u << 16)
#define HZ_GPU_DESCRIPTORS (1u << 14)
/* What a link moves in a second; the class of a tensor depends on it. */
#define HZ_GPU_LINK 10000000000ull

struct hz_gpu_set {
	uint64_t hash, check; /* both of the words */
	uint32_t kernel, n;
	uint64_t *word;
	uint64_t *ref; /* generation and tensor of each word, or NOTHING */
	uint64_t removals, additions; /* of the map, when resolved */
	uint64_t count, last;	      /* not yet given to the tensors */
	uint64_t old_count, old_last; /* the same, while it is queued */
	struct hz_gpu_set *dirty;     /* next with a count */
	/* The allocations that its tensors are in: while they live, the
	 * tensors do. allocs is SET_ALLOCS + 1 when there are more. */
	uint32_t allocs, alloc[HZ_GPU_SET_ALLOCS];
	uint32_t alloc_generation[HZ_GPU_SET_ALLOCS];
	bool listed;		      /* on the list of dirty ones */
	bool partial;		      /* a word was no address */
	bool queued;		      /* atomic: cleared under `lock` */
};

struct hz_gpu_exec {
	uint64_t exec; /* 0: free */
	uint32_t room; /* words that there is room for */
	bool unknown;  /* it names more than that */
	struct hz_gpu_set set;
};

struct hz_gpu_handle {
	uint64_t handle, bytes;
	uint32_t refs, maps;
	bool vram, used; /* used: the look-up goes on behind it */
	bool shared;	 /* so is every mapping of it */
};

struct hz_gpu_descriptor {
	uint64_t hash, addr;
	uint64_t bytes[16];
};

/* Threads that launch and the one that looks up write to lines of their own. */
#define HZ_GPU_OWN_LINES __attribute__((aligned(128)))

struct hz_gpu {
	struct hz_lock lock;
	uint32_t wanted; /* atomic: who waits for `lock` */
	uint32_t mark;	 /* of the last set that was resolved */
	struct hz_gpu_map map;

	struct hz_gpu_exec *exec;
	struct hz_gpu_set *exec_dirty;
	uint64_t *exec_words;
	uint32_t exec_words_used, execs, exec_last;

	char (*kernel)[HZ_GPU_KERNEL_NAME]; /* by number; 0 is none */
	uint32_t kernels;

	struct hz_gpu_handle *handle;
	uint64_t vram, pinned; /* bytes by handles */

	uint64_t capacity;
	uint64_t devices; /* bit: its bytes are in capacity */
	uint64_t refreshed, refresh_cost; /* ns; when, and how long it took */
	uint32_t row_tensor[HZ_STATS_TENSORS]; /* index + 1; 0: free */
	uint32_t row_next, row_freed; /* rows that were never used; a list,
				       * index + 1, through row_link */
	uint32_t row_link[HZ_STATS_TENSORS];
	uint64_t row_least; /* no tensor in a row is smaller */
	uint64_t later_out; /* atomic: words ever taken out of the ring */

	/* Hardly ever written. */
	bool allowed HZ_GPU_OWN_LINES;
	bool ready, refused, started;
	bool lost; /* atomic: a child whose parent had a lock elsewhere, or a
		    * section was left by a jump: the map may be half changed */
	bool left_by_jump; /* atomic: nobody has said so yet */
	bool later_on;	 /* atomic: hz-launch works the ring off */
	bool stopped;	 /* who has `lock` has `launching` for longer */
	int captures;	 /* atomic */
	uint64_t *later; /* the ring */

	struct hz_lock launching HZ_GPU_OWN_LINES;
	struct hz_gpu_set *set, *dirty;
	uint32_t sets;
	uint32_t *by_hash; /* index + 1 */
	uint32_t *seen;	   /* by hash: of words that were named once */
	uint64_t *words;
	uint32_t words_used;
	uint64_t later_in;  /* atomic: words ever put into the ring */
	uint64_t later_was; /* later_out, when it was looked at */
	struct hz_gpu_descriptor *descriptor;
	uint32_t descriptors; /* atomic */
};

extern struct hz_gpu hz_gpu;

/*
 * Where this thread is. A signal may come in the middle of a section, and its
 * handler may call the driver, fork or exit: hooks that run then tell nothing,
 * and a fork leaves the lock as it is.
 */
enum hz_gpu_place {
	HZ_GPU_OUTSIDE,
	HZ_GPU_AT_DOOR,	  /* it has a lock, or not (yet) */
	HZ_GPU_INSIDE,	  /* it has `lock` */
	HZ_GPU_STOPPED,	  /* it has both */
	HZ_GPU_LAUNCHING, /* it has `launching` */
};

/* NULL: nothing may be told now. gpu_watch.c */
struct hz_gpu *hz_gpu_enter(void);
void hz_gpu_leave(struct hz_gpu **g);
struct hz_gpu *hz_gpu_enter_end(void);
struct hz_gpu *hz_gpu_enter_change(void);
void hz_gpu_leave_change(struct hz_gpu **g);
struct hz_gpu *hz_gpu_enter_launch(void);
void hz_gpu_leave_launch(struct hz_gpu **g);

#define HZ_GPU_SECTION_OF(enter_, leave_, none_)                  \
	struct hz_gpu *hz_cleanup(leave_) hz_held_ = enter_();     \
	if (hz_unlikely(!hz_held_))                                \
		return none_

/* `lock` until the end of the scope, or return. */
#define HZ_GPU_SECTION(none_) \
	HZ_GPU_SECTION_OF(hz_gpu_enter, hz_gpu_leave, none_)
/* Both, the ring empty: allocations may come and go. */
#define HZ_GPU_CHANGE(none_) \
	HZ_GPU_SECTION_OF(hz_gpu_enter_change, hz_gpu_leave_change, none_)
/* The same, but not for long: returns if somebody keeps a lock. */
#define HZ_GPU_END() \
	HZ_GPU_SECTION_OF(hz_gpu_enter_end, hz_gpu_leave_change, )
/* `launching`. */
#define HZ_GPU_LAUNCH(none_) \
	HZ_GPU_SECTION_OF(hz_gpu_enter_launch, hz_gpu_leave_launch, none_)

/* `launching` under `lock`, where it is not held already. */
void hz_gpu_hold(struct hz_gpu *g);
void hz_gpu_release(struct hz_gpu *g);
/* The same for longer, with the ring empty. */
void hz_gpu_stop(struct hz_gpu *g);
void hz_gpu_go(struct hz_gpu *g);

/* Physical memory whose mapping went. */
void hz_gpu_mapping_gone(struct hz_gpu *g, const struct hz_gpu_tensor *t);

/* All with the lock held. */
void hz_gpu_gauges(struct hz_gpu *g);
/* The tensor is new: it may deserve a row. */
void hz_gpu_row_new(struct hz_gpu *g, uint32_t t);
/* The end of tensor t was cut off. */
void hz_gpu_row_cut(struct hz_gpu *g, uint32_t t, uint32_t cut);
void hz_gpu_row_gone(void *gpu, struct hz_gpu_tensor *t);
void hz_gpu_rows_write(struct hz_gpu *g, uint64_t now);
/* Word i of n is about to be looked up: some are brought in together. */
static inline void hz_gpu_prefetch(struct hz_gpu *g, const uint64_t *word,
				   uint32_t i, uint32_t n)
{
	const uint32_t lot = 64;

	if (i % lot == 0)
		hz_gpu_map_prefetch(&g->map, word + i, hz_min(n - i, lot));
}

/* The tensor that holds addr, cut if it does not start there. */
uint32_t hz_gpu_tensor_at(struct hz_gpu *g, uint64_t addr);
/* Give what was counted to the tensors; drains. */
void hz_gpu_flush(struct hz_gpu *g);
uint64_t hz_gpu_hash(const uint64_t *word, uint32_t n, uint64_t seed);

/* ---- gpu_sets.c ---- */

enum hz_gpu_told {
	HZ_GPU_TOLD,
	HZ_GPU_NO_ROOM, /* in the ring */
	HZ_GPU_NO_SETS	/* another one is wanted */
};

struct hz_gpu_named {
	const struct hz_gpu_key *key;
	const uint64_t *word;
	uint64_t now;
	uint32_t kernel, n;
};

/* It is about to be told: bring in what that takes. */
void hz_gpu_tell_soon(const struct hz_gpu_named *x);
/* A launch named this. `launching` is held, `lock` need not be. */
enum hz_gpu_told hz_gpu_tell(struct hz_gpu *g, const struct hz_gpu_named *x);
/* All below with `lock`. No set can be made any more: start afresh. */
void hz_gpu_forget_sets(struct hz_gpu *g);
/* The entries of the ring. */
void hz_gpu_named_once(struct hz_gpu *g, uint32_t kernel, const uint64_t *word,
		       uint32_t n, uint64_t now);
void hz_gpu_set_resolve(struct hz_gpu *g, struct hz_gpu_set *s);
/* A graph's set was launched. */
void hz_gpu_exec_used(struct hz_gpu *g, struct hz_gpu_set *s, uint64_t now);
void hz_gpu_flush_execs(struct hz_gpu *g);

/* ---- gpu_later.c ---- */

/* With `launching`. False: there is no room. */
bool hz_gpu_later(struct hz_gpu *g, uint32_t kernel, const uint64_t *word,
		  uint32_t n, uint64_t now);
bool hz_gpu_later_set(struct hz_gpu *g, const struct hz_gpu_set *s);
/* With `lock`: work off what is there now. */
void hz_gpu_drain(struct hz_gpu *g);
/* The oldest, until there is room for this many words of a launch. */
void hz_gpu_make_room(struct hz_gpu *g, uint32_t n);
/* The driver is initialised: make hz-launch. Without locks. */
void hz_gpu_later_start(void);

/* ---- gpu_record.c ---- */

/* Numbers of launches in a trace: kernels by their own; those that have none;
 * graphs by their entry. */
#define HZ_GPU_TRACE_KERNEL HZ_GPU_KERNELS
#define HZ_GPU_TRACE_GRAPH  (HZ_GPU_KERNELS + 1)

/* If the knob trace_file asks for it. Without the lock. */
void hz_gpu_record_start(void);
/* In a forked child there is no driver. */
void hz_gpu_record_stop(void);
/* Is anything recorded? The functions below ask themselves. */
extern bool hz_gpu_recording;
/* With the lock held, as all below. */
void hz_gpu_record_born(struct hz_gpu *g, uint32_t t);
void hz_gpu_record_gone(struct hz_gpu_tensor *t);
/* `name` launched something that named these words. */
void hz_gpu_record_launch(struct hz_gpu *g, uint32_t name,
			  const uint64_t *word, uint32_t n, uint64_t now);
/* Tensor t, and what else was at it. `how`: a direction of trace_file.h. */
void hz_gpu_record_copy(struct hz_gpu *g, uint32_t t, uint64_t bytes,
			unsigned how, uint64_t now);
/* Is it memory of the device, so that its uses are recorded? */
bool hz_gpu_is_device(struct hz_gpu *g, uint64_t addr);

/* Once a second; launches and waits look at the time. */
#define HZ_GPU_REFRESH_NS 1000000000ull

#endif
