/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map of what the GPU can address: allocations of every origin, each cut
 * into tensors.
 *
 * An allocation is one tensor at first. Every distinct address that is seen
 * as an operand cuts the tensor around it, so that an arena that holds all
 * weights of a model becomes its weights. A piece smaller than
 * HZ_GPU_CUT_MIN is not cut off: what is that small is not worth a move.
 *
 * Lookup: a two-level radix by 2 MiB block gives the first tensor in the
 * block, which is linked with the others of the block in the order of their
 * addresses; before that, a table that loses entries knows the tensors by
 * their first byte, and that is what operands mostly are.
 *
 * An array of the driver has bytes but no address. It is known by its handle,
 * with HZ_GPU_BY_HANDLE set: a start that is no address, so that no word of a
 * launch can be taken for it. It is one tensor, never cut, and stays where it
 * is. Parts of it that have handles of their own, levels and planes, are
 * found as the array that they belong to.
 *
 * Pure: all memory comes from the caller, times are arguments. Not
 * thread-safe: the caller's lock.
 */
#ifndef HZ_GPU_MAP_H
#define HZ_GPU_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

#define HZ_GPU_CUT_MIN	   256u
#define HZ_GPU_VA_BITS	   48
#define HZ_GPU_NEAR_SHIFT  30
#define HZ_GPU_NEAR	   (1u << (HZ_GPU_VA_BITS - HZ_GPU_NEAR_SHIFT))
#define HZ_GPU_KERNEL_NONE 0u
#define HZ_GPU_BY_HANDLE   (1ull << 63) /* of a start: it is a handle */

enum hz_gpu_origin {
#define HZ_GPU_ORIGIN(id_, name_, where_) HZ_GPU_##id_,
#include "policy/gpu_origins.def"
#undef HZ_GPU_ORIGIN
	HZ_GPU_ORIGINS
};

/* By whom an allocation's bytes are counted. */
enum hz_gpu_where {
	HZ_GPU_IN_VRAM,
	HZ_GPU_IN_MANAGED,
	HZ_GPU_IN_PINNED,
	HZ_GPU_IN_OTHERS
};
extern const enum hz_gpu_where hz_gpu_where[HZ_GPU_ORIGINS];

/* What a tensor is to the planner, as far as uses alone can tell. */
enum hz_gpu_class {
	HZ_GPU_RESIDENT,    /* used again too soon to be moved meanwhile */
	HZ_GPU_OFFLOADABLE, /* idle long enough between two uses */
	HZ_GPU_HOST_ONLY    /* no kernel ever named it */
};

struct hz_gpu_alloc {
	uint64_t start, bytes; /* bytes 0: a free entry */
	uint64_t owner;	       /* context, module or 0 */
	uint32_t first;	       /* its lowest tensor */
	uint32_t tensors;
	uint32_t link; /* free list */
	uint32_t generation; /* how often the entry was used */
	uint8_t origin, shared;
	uint16_t opens; /* the caller's; 0 at first */
};

struct hz_gpu_tensor {
	uint64_t start, bytes; /* bytes 0: a free entry */
	uint64_t launches;     /* kernels and graphs that named it */
	uint64_t copies;       /* copies and memsets */
	uint64_t first_ns, last_ns;
	uint64_t kernels;	 /* bit: number of the kernel modulo 64 */
	uint32_t last_kernel;	 /* its number; HZ_GPU_KERNEL_NONE */
	uint32_t alloc;
	uint32_t next;	  /* in the block of its last byte, or of the arrays
			   * with its hash; HZ_NONE */
	uint32_t sibling; /* next of its allocation; link of the free list */
	uint32_t generation; /* how often the entry was used */
	uint32_t row;  /* the caller's; HZ_NONE at first */
	uint32_t mark; /* the caller's */
	uint32_t trace; /* the caller's; 0 at first */
};

/* Called for each tensor before it goes. */
typedef void hz_gpu_gone(void *arg, struct hz_gpu_tensor *t);

/* How much there may be. */
struct hz_gpu_limits {
	uint32_t allocs, tensors, leaves;
};

/* A level or a plane of an array. */
struct hz_gpu_part {
	uint64_t handle; /* with HZ_GPU_BY_HANDLE */
	uint32_t tensor, generation;
};

struct hz_gpu_map {
	struct hz_gpu_alloc *alloc;
	struct hz_gpu_tensor *tensor;
	uint32_t *root;	    /* by address >> 35 */
	uint32_t *leaf;	    /* leaves of LEAF entries, by address >> 21 */
	uint32_t *by_start; /* loses entries */
	uint32_t *by_handle;		/* the first array with this hash */
	struct hz_gpu_part *part;	/* of arrays; loses entries */
	struct hz_gpu_limits limit;
	uint32_t allocs_used, tensors_used, leaves_used; /* high water */
	uint32_t alloc_free, tensor_free;
	uint32_t allocs, tensors; /* live */
	int8_t *near; /* by address >> HZ_GPU_NEAR_SHIFT: -1 if an allocation
		       * was ever there, else 0; the last entry is 0 */
	uint64_t removals, additions;
	uint64_t bytes[4]; /* by hz_gpu_where */
	hz_gpu_gone *gone; /* the caller's; may be NULL */
	void *gone_arg;
};

size_t hz_gpu_map_bytes(struct hz_gpu_limits limit);
/* `mem` is zero, of that many bytes, and the caller's. */
void hz_gpu_map_init(struct hz_gpu_map *m, struct hz_gpu_limits limit,
		     void *mem);

/* [start, start + bytes) exists, or an array of so many bytes. What the map
 * still has there is forgotten: its end was not seen. Returns the allocation,
 * or HZ_NONE when the map is full or the range is no address. */
uint32_t hz_gpu_map_add(struct hz_gpu_map *m, uint64_t start, uint64_t bytes,
			enum hz_gpu_origin origin, uint64_t owner);

/* The allocation that starts at `start` is gone; *was is what it was. False
 * if there is none. */
bool hz_gpu_map_remove(struct hz_gpu_map *m, uint64_t start,
		       struct hz_gpu_alloc *was);
/* All allocations of an owner. Returns how many. */
uint32_t hz_gpu_map_remove_owner(struct hz_gpu_map *m, uint64_t owner);

/* `part`, a handle with HZ_GPU_BY_HANDLE as `array` is, is found as that one from
 * now on. */
void hz_gpu_map_part(struct hz_gpu_map *m, uint64_t part, uint64_t array);

/* The tensor that holds addr, or HZ_NONE. */
uint32_t hz_gpu_map_find(struct hz_gpu_map *m, uint64_t addr);
/* Many addresses are about to be looked up: bring in what that takes. */
void hz_gpu_map_prefetch(struct hz_gpu_map *m, const uint64_t *addr,
			 uint32_t n);
/* As find, after it was cut at addr where that is allowed. */
uint32_t hz_gpu_map_cut(struct hz_gpu_map *m, uint64_t addr);
/* The tensor behind t in the same allocation, or HZ_NONE. */
uint32_t hz_gpu_map_after(const struct hz_gpu_map *m, uint32_t t);

static inline bool hz_gpu_is_array(uint64_t start)
{
	return start >> HZ_GPU_VA_BITS == HZ_GPU_BY_HANDLE >> HZ_GPU_VA_BITS;
}

/* All bits if addr could be in the map, else 0; without the lock: a hint. A
 * few instructions and no branch: words that are no addresses are many. */
static inline uint64_t hz_gpu_near(const int8_t *near, uint64_t addr)
{
	uint64_t at = addr >> HZ_GPU_NEAR_SHIFT;

	at = at < HZ_GPU_NEAR ? at : HZ_GPU_NEAR;
	return (uint64_t)(int64_t)__atomic_load_n(&near[at], __ATOMIC_RELAXED);
}

static inline bool hz_gpu_map_maybe(const struct hz_gpu_map *m, uint64_t addr)
{
	return hz_gpu_is_array(addr) || hz_gpu_near(m->near, addr);
}

/* Tensor t was named by `count` launches, the last one at `now`. */
void hz_gpu_map_launched(struct hz_gpu_map *m, uint32_t t, uint32_t kernel,
			 uint64_t count, uint64_t now);
/* Tensor t was copied or set. */
void hz_gpu_map_copied(struct hz_gpu_map *m, uint32_t t, uint64_t now);

/* `link` is the bytes a second that can be moved. */
enum hz_gpu_class hz_gpu_class(const struct hz_gpu_tensor *t, bool shared,
			       uint64_t link);
extern const char *const hz_gpu_class_names[];
extern const char *const hz_gpu_origin_names[HZ_GPU_ORIGINS];

#endif
