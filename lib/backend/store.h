/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port: the store. A flat array of slots, one block each, on a file or a
 * block device, and queues of transfers on it.
 *
 * A `struct hz_store` is the file (store_file.c: opening, size, alignment,
 * slots; shared by all threads). A `struct hz_queue` belongs to one thread:
 * it submits transfers of blocks and of pieces of them, and waits for their
 * completions and for readable file descriptors (the userfaultfd, a wake-up
 * eventfd) in one place. Backends: store_uring.c, store_threads.c; each is
 * probed with a real transfer before it is believed.
 *
 * A transfer is finished only when all its bytes have moved: short
 * completions are continued by the backend, EINTR and EAGAIN are retried,
 * end of file inside a slot is -EIO. `res` is 0 or -errno. A read of another
 * file ends where the file does: `done` says how far it came.
 *
 * No function allocates from the malloc family or touches the region; rings
 * and queues live in memory from hz_os_reserve().
 */
#ifndef HZ_STORE_H
#define HZ_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/util.h"

struct hz_store {
	int fd;		   /* open for reading and writing */
	bool direct;	   /* O_DIRECT is in force */
	bool fixed_size;   /* device or existing file: cannot grow */
	uint32_t align;	   /* of offset, length and buffer: 4096 or more */
	uint32_t capacity; /* slots */
	uint64_t size;	   /* bytes = capacity blocks */
};

/* Open by the knobs `store`, `store_size` and `direct`. `path`, `size` as in
 * knobs.h. A directory gets an O_TMPFILE file (or one that is created and
 * unlinked where the file system has no O_TMPFILE); a file is created when
 * missing and never truncated below its use; a device is used whole. One
 * message at the first error, -errno. Fails when the store cannot hold one
 * block. Alignment by statx(STATX_DIOALIGN), with a floor of 4096. A probe
 * block is written and read back. */
int hz_store_open(struct hz_store *store, const char *path,
		  uint64_t size /* HZ_SIZE_AUTO */, uint32_t size_percent,
		  bool direct);
/* The same store once more, by a path of /proc that leads to it: for a forked
 * child. A descriptor that holds the store's lock, or -errno. */
int hz_store_reopen(const struct hz_store *store, const char *path);
void hz_store_close(struct hz_store *store);

/* One transfer of a block or of a piece of one. The caller owns the struct
 * until it comes back from wait(). */
struct hz_xfer {
	void *buf;     /* `len` bytes, aligned as the store; stays present */
	uint32_t slot;
	uint32_t from; /* bytes into the slot; a multiple of store.align */
	int fd;	       /* read another file, `at` bytes into it; 0: the store */
	uint64_t at;
	uint32_t len;  /* bytes, likewise; 0: the whole block */
	bool write;
	int res;       /* out: 0 or -errno */
	uint32_t done; /* backend: bytes moved so far */
	uint32_t tag;  /* caller */
	struct hz_xfer *next; /* backend */
};

struct hz_queue;

struct hz_store_ops {
	const char *name;

	/* A queue for the calling thread, `depth` transfers at most. 0 or
	 * -errno. The flags are wishes: each is probed and dropped with one
	 * message where it does not work. */
	int (*open)(struct hz_store *store, unsigned depth, unsigned flags,
		    struct hz_queue **out);
	void (*close)(struct hz_queue *q);

	/* Also wake wait() when `fd` is readable; at most four. Bit i of
	 * *ready is the i-th watched fd. Level-triggered in effect: an fd
	 * that still has data wakes the next wait(). */
	int (*watch)(struct hz_queue *q, int fd);

	/* Queue one transfer; it may start now or at the next wait() or
	 * flush(). -EAGAIN when `depth` transfers are in flight. */
	int (*submit)(struct hz_queue *q, struct hz_xfer *x);
	int (*flush)(struct hz_queue *q);

	/* Up to `max` finished transfers and the readable fds. Returns the
	 * number of transfers, 0 after `timeout_ns` (UINT64_MAX: none; 0:
	 * poll), or -errno. */
	int (*wait)(struct hz_queue *q, uint64_t timeout_ns,
		    struct hz_xfer **done, unsigned max, unsigned *ready);
};

enum {
	HZ_QUEUE_SQPOLL = 1 << 0,
	HZ_QUEUE_IOPOLL = 1 << 1,
	HZ_QUEUE_FIXED_FILE = 1 << 2,
};

extern const struct hz_store_ops hz_store_uring;
extern const struct hz_store_ops hz_store_threads;

/* Try the backend with one real write and read of the last slot, which the
 * caller keeps out of use. 0 or -errno; one message when io_uring is off. */
int hz_store_probe(struct hz_store *store, const struct hz_store_ops *ops,
		   unsigned flags);

static inline uint32_t hz_xfer_len(const struct hz_xfer *x)
{
	return x->len ? x->len : (uint32_t)HZ_BLOCK_SIZE;
}

/* Where in the file it begins. */
static inline uint64_t hz_xfer_at(const struct hz_xfer *x)
{
	if (x->fd)
		return x->at + x->from;
	return ((uint64_t)x->slot << HZ_BLOCK_SHIFT) + x->from;
}

static inline int hz_xfer_fd(const struct hz_store *store,
			     const struct hz_xfer *x)
{
	return x->fd ? x->fd : store->fd;
}

/* ---- for the backends (store_probe.c) ---- */

/* Account `n` more bytes, or -errno, to the transfer. true: it is finished
 * and `res` is set; false: submit what is left from `done` on. */
bool hz_xfer_account(const struct hz_store *store, struct hz_xfer *x,
		     ssize_t n);
/* The whole transfer by pread(2) or pwrite(2) in the calling thread. */
void hz_xfer_run(const struct hz_store *store, struct hz_xfer *x);
/* The trial of hz_store_probe() on a queue that is open already. */
int hz_queue_probe(struct hz_store *store, const struct hz_store_ops *ops,
		   struct hz_queue *q);

/* ---- slots (store_slots.c) ---- */

/*
 * Which slots are used, by whom. The table lies in memory shared between a
 * process and its forked children: one bitmap a process of the slots that it
 * refers to; a slot is free when no living process refers to it. A process
 * that dies without a word is found by its pid and start time, and its
 * bitmap dropped. Thread- and process-safe (a robust mutex in the table).
 */
struct hz_slots;

struct hz_slots *hz_slots_create(uint32_t capacity, uint32_t usable);
/* A slot for this process, or HZ_NONE when full. */
uint32_t hz_slots_get(struct hz_slots *s);
void hz_slots_put(struct hz_slots *s, uint32_t slot);
/* Does another living process refer to it too? Then it must not be
 * overwritten. */
bool hz_slots_shared(struct hz_slots *s, uint32_t slot);
/* fork: before it, in the parent: make the child's bitmap, a copy of ours.
 * After it: the child takes it, the parent names the child (or drops it when
 * fork failed, pid < 0). -ENOSPC when too many processes share the table: the
 * child then has no slots, nor any promise that its parent's stay as they are
 * (hz_slots_get() says HZ_NONE there). Returns the number of its row. */
int hz_slots_fork_prepare(struct hz_slots *s);
void hz_slots_fork_parent(struct hz_slots *s, int pid);
void hz_slots_fork_child(struct hz_slots *s);
/* Refer to none any more: this process goes on without a store. */
void hz_slots_leave(struct hz_slots *s);
/* Enter a slot of ours into the row of a child, which gives it back like its
 * own. False: it has it already, or is not there any more. */
bool hz_slots_lend(struct hz_slots *s, int row, int pid, uint32_t slot);
/* By all processes together. */
uint32_t hz_slots_used(struct hz_slots *s);

#endif
