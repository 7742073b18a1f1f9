/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that are run by run-tiered.sh: without Horizon and with it. They
 * use its public functions where these are there, to make the moment of an
 * eviction part of the test.
 */
#ifndef TIERED_H
#define TIERED_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Younger than some C libraries. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

#define SKIP  77
#define KIB   ((size_t)1 << 10)
#define MIB   ((size_t)1 << 20)
#define BLOCK (2 * MIB)

#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define RW   (PROT_READ | PROT_WRITE)

/* Report and go on: main returns tiered_failures != 0. */
#define CHECK(cond_)                                             \
	do {                                                     \
		if (!(cond_))                                    \
			tiered_fail(__FILE__, __LINE__, #cond_); \
	} while (0)

/* The same, where going on makes no sense. */
#define NEED(cond_)                                              \
	do {                                                     \
		if (!(cond_)) {                                  \
			tiered_fail(__FILE__, __LINE__, #cond_); \
			_Exit(1);                                \
		}                                                \
	} while (0)

extern int tiered_failures;
void tiered_fail(const char *file, int line, const char *what);

/* Is the engine in this process, and does it work? Without the preload
 * library false; refused by the machine: the process ends with SKIP. */
bool tiered_start(void);

/* The exit status of main, with one line when something failed. */
int tiered_end(void);

/* Move the whole blocks of [p, p + len) out of RAM. How many are out; -1 when
 * p is not tiered, as in a plain run. */
long evict(void *p, size_t len);
/* All of them are out, or this is a plain run. */
bool evicted(void *p, size_t len);
/* The same, within some seconds: that a child has ended, and shares nothing
 * any more, is noticed a moment later. */
bool evicted_soon(void *p, size_t len);
bool owned(const void *p);
uint64_t counter(const char *name);

/* Memory that is tiered when the engine works; ends the process if not. */
char *map(size_t len);

/* A pattern of seed and place. `at` is the place of p in the pattern, for
 * parts of an array. filled() reports the first difference. */
void fill_at(void *p, size_t len, unsigned seed, size_t at);
bool filled_at(const void *p, size_t len, unsigned seed, size_t at);
static inline void fill(void *p, size_t len, unsigned seed)
{
	fill_at(p, len, seed, 0);
}
static inline bool filled(const void *p, size_t len, unsigned seed)
{
	return filled_at(p, len, seed, 0);
}
bool zeros(const void *p, size_t len);

uint32_t rnd(uint32_t *state);
int open_fds(void); /* entries of /proc/self/fd */

/* Does a read (write) at p raise SIGSEGV? Not for use by two threads. */
bool faults_on_read(volatile char *p);
bool faults_on_write(volatile char *p);

/* Status of a child as the shell shows it; -1 when it cannot be waited for. */
int status_of(int pid);

#endif
