/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private maps of files: blocks whose first content is in a file.
 *
 * Taken are readable and writable private maps of regular files that lie
 * wholly within the file: checkpoints and weights that a program maps to
 * change them, or that a library maps so out of habit. Shared and read-only
 * maps stay the kernel's: their pages are the page cache's, which can drop
 * them as they are.
 *
 * A block that never was written is FILED: a fault reads it from the file,
 * and an eviction that finds it as it was read drops it. A changed one gets a
 * slot and is like any other from then on. What the file holds now is what
 * mmap(2) leaves open; what the program wrote is always what it reads.
 *
 * Files are open in the engine's descriptor table. hz-aux takes one over while
 * its owner waits in mmap: by the link of /proc that belongs to the calling
 * thread, so that it does not matter whether that thread shares its table
 * with others, nor whether the file has a name any more; and the description
 * is a new one, whose flags and locks are nobody else's. Where that is
 * refused, the map is the kernel's. A file is closed when no block and no
 * transfer refers to it.
 *
 * Handing a FILED block to the kernel costs nothing: it gets the very mapping
 * that the program has asked for. So does a block of a file that turns out to
 * be shorter than it was, and the kernel raises SIGBUS where it must.
 *
 * All of it under the engine's lock.
 */
#ifndef HZ_ENGINE_FILE_MAP_H
#define HZ_ENGINE_FILE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/block.h"

struct hz_engine;
struct hz_xfer;

/* By block; all zero: no file. */
struct hz_file_block {
	uint64_t at;	  /* where the block begins in the file */
	uint64_t hash[2]; /* of what was read; two zeros: nothing yet */
	uint32_t len;	  /* bytes of the map in this block, in pages */
	uint16_t file;	  /* number of its record + 1 */
	bool kernels;	  /* NATIVE: a mapping of the file itself */
};

/* What a thread of the program asks of hz-aux; HZ_REQ_FILE. */
struct hz_file_ask {
	enum {
		HZ_FILE_OPEN,	 /* `path` -> number of a record + 1 */
		HZ_FILE_REOPEN,	 /* `path` for record `file`: 0 */
		HZ_FILE_NATIVE,	 /* block -> 1 when it is the kernel's now */
		HZ_FILE_READ,	 /* `len` bytes from `at` -> bytes read */
		HZ_FILE_MAP,	 /* `len` bytes from `at` -> address */
		HZ_FILE_CLOSE,	 /* files that nobody refers to */
	} what;
	const char *path;
	uint64_t dev, ino; /* is it that file? */
	uint32_t block;
	uint16_t file; /* its number + 1 */
	void *buf;
	uint64_t at;
	size_t len;
};

/* Before main. */
bool hz_files_make_tables(struct hz_engine *e);
/* HZ_REQ_FILE, in hz-aux; the lock is held, and may be dropped. */
long hz_file_answer(struct hz_engine *e, const struct hz_file_ask *ask);

/* ---- blocks; lock held ---- */
bool hz_filed(const struct hz_engine *e, uint32_t b);
/* Where a block is that is in no memory: STORED or FILED. */
enum hz_block_state hz_file_home(const struct hz_engine *e, uint32_t b);
/* The block belongs to no map any more. */
void hz_file_forget(struct hz_engine *e, uint32_t b);
/* A discarded block (ZERO): its content is the file's again. */
void hz_file_restore(struct hz_engine *e, uint32_t b);
/* Is this the hash of what was read of it? */
bool hz_file_same(const struct hz_engine *e, uint32_t b,
		  const uint64_t hash[2]);
/* The transfer is a read of FILED block b. */
void hz_file_xfer(struct hz_engine *e, uint32_t b, struct hz_xfer *x);
/* It ended; the block may be somebody else's by now. */
void hz_file_xfer_done(struct hz_engine *e, const struct hz_xfer *x);
/* It brought block b, still READING, into its frame: 0, or -ENODATA when the
 * file is shorter than the map. Drops the lock. */
int hz_file_check(struct hz_engine *e, uint32_t b, const struct hz_xfer *x);
/* UNMAPPING -> NATIVE, by the kernel's own mapping of the file; or back to
 * FILED, and -errno. Drops the lock. A thread of ours. */
int hz_file_to_kernel(struct hz_engine *e, uint32_t b);

/* ---- for threads of the program; no lock held (file_calls.c) ---- */
/* Is block b the kernel's now? Else its content is in RAM or in a slot. */
bool hz_file_give(struct hz_engine *e, uint32_t b);
/* Copy bytes of the program's own memory; what is not there (behind the end
 * of a file, poisoned) raises no signal: how many could be copied. */
size_t hz_file_peek(const void *from, void *to, size_t len);
/* MADV_DONTNEED of [from, to), which lies in block b. False: not a map of a
 * file, or nothing special is to be done. */
bool hz_file_discard(struct hz_engine *e, uint32_t b, char *from, char *to);
/* Does all of it belong to one map of a file? */
bool hz_file_covers(struct hz_engine *e, char *addr, size_t len);
/* A mapping by the kernel of new_len bytes that shows what the map shows from
 * `old` on, `len` bytes of it with their changes: its address or -errno. */
long hz_file_remap(struct hz_engine *e, char *old, size_t len, size_t new_len);

/* ---- fork.c ---- */
/* In the forking thread, before; and after, in the parent. Lock held. */
void hz_files_lend(struct hz_engine *e);
void hz_files_lent(void);
/* In the child, when its engine runs: false when one cannot be opened. */
bool hz_files_take(struct hz_engine *e);
/* There will be no engine: all is the kernel's. */
void hz_files_abandon(struct hz_engine *e);

/* ---- for file_calls.c ---- */
/* Make `b` a block of the map, FILED; false when it is not free. Lock held;
 * may drop it. */
bool hz_file_bind(struct hz_engine *e, uint32_t b,
		  const struct hz_file_block *of);
/* Nobody asks for this record any more. Lock held. */
void hz_file_put(struct hz_engine *e, uint16_t file);

#endif
