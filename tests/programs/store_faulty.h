/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that fails on demand: an ops struct around another one. Set
 * store_faulty_inner and store_faults, then use `store_faulty` wherever a
 * `const struct hz_store_ops *` goes.
 *
 * Transfers are counted over all queues from 1 on, reads and writes apart.
 */
#ifndef HZ_TESTS_STORE_FAULTY_H
#define HZ_TESTS_STORE_FAULTY_H

#include <stdbool.h>
#include <stdint.h>
#include "backend/store.h"

struct store_faults {
	unsigned read_error_every; /* every n-th read: -EIO, half of it wrong */
	unsigned write_error_every; /* every n-th write: done, but -EIO */
	unsigned full_after;        /* writes from the n-th on: -ENOSPC */
	unsigned corrupt_every;     /* every n-th good read: a bit is wrong */
	uint64_t delay_ns;          /* each completion comes this much later */
	bool reorder;               /* completions come in a random order */
	uint64_t seed;
};

/* What was done. Atomic. */
struct store_fault_counts {
	unsigned reads, writes, read_errors, write_errors, full, corrupted;
	unsigned pieces; /* calls of pread and pwrite */
};

extern const struct hz_store_ops *store_faulty_inner;
extern struct store_faults store_faults;
extern struct store_fault_counts store_fault_counts;
extern const struct hz_store_ops store_faulty;

/* "read-error=10,write-error=7,full=100,corrupt=50,delay-us=500,reorder=1,
 * seed=3" into store_faults. false: a word is not known. */
bool store_faults_parse(const char *spec);

/* From now on pread and pwrite transfer a part of what they are asked for, or
 * say EINTR or EAGAIN. */
void store_faulty_pieces(void);

#endif
