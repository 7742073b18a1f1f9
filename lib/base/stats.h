/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared segment: counters that the program's threads add to and that
 * horizon-stat and horizon-run map read-only.
 *
 * One segment serves a job. Its header is followed by HZ_STATS_PROCS process
 * slots of equal size. A process claims a slot by a compare-and-swap of its
 * pid, fills the identity under the slot's seqlock and then only adds to its
 * cells, each an aligned 64-bit word changed by relaxed atomics; a reader
 * never sees half a value. Range rows have a seqlock each. The layout is
 * versioned: a reader refuses a segment whose magic, version, table hash or
 * size is not its own.
 *
 * The segment is a memfd (mode 0600): horizon-run's, found through the knob
 * `stats` (a /proc/PID/fd/N path), or one of our own. Nothing is left behind
 * by a kill. Without either, counters go to process-private memory.
 */
#ifndef HZ_STATS_H
#define HZ_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HZ_STATS_MAGIC	 0x315a4854534e5a48ull
#define HZ_STATS_VERSION 4
#define HZ_STATS_NAME	 "horizon-stats" /* of the memfd */
#define HZ_STATS_PROCS	 128
#define HZ_STATS_RANGES	 2048 /* rows a process; the largest ranges */
#define HZ_STATS_TENSORS 2048 /* rows a process; the largest on devices */

enum hz_stat {
#define HZ_STAT(id_, kind_, unit_, path_, text_) HZ_STAT_##id_,
#include "base/stats.def"
#undef HZ_STAT
	HZ_STAT_COUNT
};

enum hz_stat_kind { HZ_STAT_COUNTER, HZ_STAT_GAUGE, HZ_STAT_PEAK };
enum hz_stat_unit { HZ_UNIT_BYTES, HZ_UNIT_COUNT, HZ_UNIT_NANOSECONDS };

struct hz_stat_row {
	const char *id;
	enum hz_stat_kind kind;
	enum hz_stat_unit unit;
	const char *path;
	const char *text;
};
extern const struct hz_stat_row hz_stat_rows[HZ_STAT_COUNT];

enum hz_mode_fault { HZ_MODE_FAULT_OFF, HZ_MODE_FAULT_MOVE,
		     HZ_MODE_FAULT_COPY, HZ_MODE_FAULT_USER };
enum hz_mode_io { HZ_MODE_IO_OFF, HZ_MODE_IO_URING, HZ_MODE_IO_THREADS };
enum hz_mode_gpu { HZ_MODE_GPU_OFF, HZ_MODE_GPU_OBSERVE };
extern const char *const hz_mode_fault_names[]; /* off move copy user */
extern const char *const hz_mode_io_names[];	/* off uring threads */
extern const char *const hz_mode_gpu_names[];	/* off observe */

/* One tiered range as horizon-stat --tensors shows it. */
struct hz_stats_range {
	uint32_t seq;	/* seqlock: odd while written */
	uint32_t kind;	/* 0 free row, 1 malloc, 2 mmap, 3 file */
	uint64_t start; /* address */
	uint64_t bytes;
	uint64_t resident_bytes;
	uint64_t store_bytes;
	uint64_t faults;     /* demand and soft faults so far */
	uint64_t last_fault; /* CLOCK_MONOTONIC nanoseconds; 0 never */
};

/* One tensor that a GPU can address. */
struct hz_stats_tensor {
	uint32_t seq;	/* seqlock: odd while written */
	uint32_t kind;	/* 0 free row, else 1 + its line in gpu_origins.def */
	uint64_t start; /* address */
	uint64_t bytes;
	uint64_t allocation; /* address of the allocation that it is part of */
	uint64_t launches;   /* kernels and graphs that named it */
	uint64_t copies;     /* copies and memsets */
	uint64_t first_use, last_use; /* CLOCK_MONOTONIC ns; 0 never */
	uint32_t kernels; /* different ones that named it; 64 is many */
	uint32_t class;	  /* resident, offloadable, host_only */
	char kernel[48];  /* the last one; empty: none */
};

struct hz_stats_proc {
	uint32_t pid; /* 0 free; claimed by compare-and-swap */
	uint32_t seq; /* seqlock over the identity below */
	uint64_t start_ns; /* CLOCK_MONOTONIC at claim */
	uint64_t start_ticks; /* field 22 of /proc/PID/stat: tells reuse */
	uint64_t end_ns; /* 0 while it runs; set by horizon-run's reader */
	char command[64];
	uint32_t mode_fault, mode_io, mode_gpu, unused;
	char reason[128]; /* why a mode is off; empty if it is on */
	char advice[192]; /* what would help; empty if nothing is known */
	uint64_t cell[HZ_STAT_COUNT];
	uint64_t lock_ns; /* when the learner locked last; 0 never. Written
			   * after at_lock, the cells of that moment */
	uint64_t at_lock[HZ_STAT_COUNT];
	struct hz_stats_range range[HZ_STATS_RANGES];
	struct hz_stats_tensor tensor[HZ_STATS_TENSORS];
};

struct hz_stats_segment {
	uint64_t magic;
	uint32_t version;
	uint32_t procs;
	uint64_t table_hash; /* over ids and paths of stats.def */
	uint64_t size;
	uint8_t pad[32];
	struct hz_stats_proc proc[HZ_STATS_PROCS];
};

/* ---- writer ---- */

/* This process's slot; never NULL (private memory before and without a
 * segment). */
extern struct hz_stats_proc *hz_stats_self;

/* Map the segment at `path` (or make an own memfd when path is empty), claim
 * a slot, fill the identity. On success *fd is the descriptor to keep open
 * while the process should be found by horizon-stat (-1 when none is
 * needed). 0 or -errno; on failure counters stay private. Call once. */
int hz_stats_attach(const char *path, int *fd);

/* The same for callers that do not know of each other: all but the first wait
 * until it is done and are told 0, and *fd is -1. */
int hz_stats_attach_once(const char *path, int *fd);

/* After fork, in the child: claim a slot of its own, all counters zero.
 * Async-signal-safe. */
void hz_stats_child(void);

void hz_stats_mode(enum hz_mode_fault fault, enum hz_mode_io io,
		   const char *reason);

/* What would help this program, as a sentence; hz-engine only. */
void hz_stats_advice(const char *text);

/* What the hooks of the CUDA driver do. */
void hz_stats_mode_gpu(enum hz_mode_gpu gpu);

/* The learner follows a period from now on. One thread. */
void hz_stats_locked(void);

static inline void hz_stat_add(enum hz_stat s, uint64_t n)
{
	__atomic_fetch_add(&hz_stats_self->cell[s], n, __ATOMIC_RELAXED);
}

static inline void hz_stat_sub(enum hz_stat s, uint64_t n)
{
	__atomic_fetch_sub(&hz_stats_self->cell[s], n, __ATOMIC_RELAXED);
}

static inline uint64_t hz_stat_get(enum hz_stat s)
{
	return __atomic_load_n(&hz_stats_self->cell[s], __ATOMIC_RELAXED);
}

/* Set a gauge and raise its peak. */
void hz_stat_gauge(enum hz_stat gauge, enum hz_stat peak, uint64_t value);

/* Write one range row (row < HZ_STATS_RANGES); kind 0 frees it. The caller
 * holds the engine's lock. */
void hz_stats_put_range(unsigned row, const struct hz_stats_range *r);

/* The same for a device's tensor; the caller holds the GPU lock. */
void hz_stats_put_tensor(unsigned row, const struct hz_stats_tensor *t);

/* ---- making and reading a segment (tools) ---- */

/* A new sealed-size memfd with an initialised header. Returns the fd
 * (close-on-exec) or -errno. */
int hz_stats_create(void);

/* Map fd read-only and check it. NULL with *err = -errno or -EPROTO (not a
 * segment of this version). */
const struct hz_stats_segment *hz_stats_map(int fd, int *err);

/* Consistent copy of a slot's identity and cells (not the ranges). false if
 * the slot is free. */
bool hz_stats_snapshot(const struct hz_stats_proc *slot,
		       struct hz_stats_proc *out);

/* Consistent copy of one range row; false if free. */
bool hz_stats_snapshot_range(const struct hz_stats_range *row,
			     struct hz_stats_range *out);
bool hz_stats_snapshot_tensor(const struct hz_stats_tensor *row,
			      struct hz_stats_tensor *out);

uint64_t hz_stats_table_hash(void);

#endif
