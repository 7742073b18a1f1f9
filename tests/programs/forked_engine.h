/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that have the engine inside and fork: as the preload library
 * does it, and in the child something happens before the region is armed.
 */
#ifndef FORKED_ENGINE_H
#define FORKED_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "base/os.h"
#include "engine/arena.h"
#include "engine_check.h"
#include "horizon.h"

#define PAGE ((size_t)4096)
#define MIB  ((size_t)1 << 20)

static int first_process;
static void (*before_armed)(void); /* in hz-aux of a child, no lock held */
static unsigned kicks;		   /* of the child's two workers */

static bool in_aux(void)
{
	char name[16];

	prctl(PR_GET_NAME, name);
	return !strcmp(name, "hz-aux");
}

static int make_kick(unsigned count, int flags)
{
	kicks += getpid() != first_process && in_aux();
	return hz_os_linux.eventfd(count, flags);
}

/* The first look at the clock after the workers were made. */
static uint64_t now_or_later(void)
{
	if (getpid() != first_process && in_aux() && kicks == 2) {
		kicks = 0;
		before_armed();
	}
	return hz_os_linux.now();
}

static void start_engine(const char *ram)
{
	first_process = getpid();
	setenv("HORIZON_RAM", ram, 1);
	setenv("HORIZON_STORE_SIZE", "512M", 1);
	hz_os.eventfd = make_kick;
	hz_os.now = now_or_later;
	if (horizon_start())
		exit(77);
}

static uint64_t count(const char *name)
{
	uint64_t n;

	CHECK(horizon_counter(name, &n) == 0);
	return n;
}

/* Let `child` look; what does not hold ends it. */
static void in_a_child(void (*child)(void))
{
	int pid, status;

	hz_arena_fork_prepare();
	pid = fork();
	if (pid == 0) {
		hz_arena_fork_child();
		child();
		_exit(0);
	}
	hz_arena_fork_parent(pid);
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
}

/* ---- a table of words, of which 0 is a page of zeros ---- */

static char *table;
static uint8_t *version; /* by page */
static size_t pages;

static uint32_t rnd(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	return *x ^= *x << 5;
}

static uint64_t word(size_t page, size_t k)
{
	return version[page] ? page << 24 | (uint64_t)version[page] << 16 | k
			     : 0;
}

static void put(size_t page, uint8_t v)
{
	uint64_t *at = (uint64_t *)(table + page * PAGE);

	version[page] = v;
	for (size_t k = 0; k < PAGE / 8; k++)
		at[k] = word(page, k);
}

static void look(size_t page)
{
	const uint64_t *at = (const uint64_t *)(table + page * PAGE);

	for (size_t k = 0; k < PAGE / 8; k += 51)
		CHECK(at[k] == word(page, k));
}

static void make_table(size_t size)
{
	pages = size / PAGE;
	table = horizon_alloc(size);
	version = calloc(pages, 1);
	CHECK(table && version);
}

/* Until blocks are in pieces, and memory is full of those. */
static void scatter(unsigned n)
{
	static uint32_t seed = 3;

	for (unsigned i = 0; i < n; i++) {
		size_t page = rnd(&seed) % pages;

		look(page);
		if (rnd(&seed) & 1)
			put(page, (uint8_t)(rnd(&seed) % 4));
	}
}

#endif
