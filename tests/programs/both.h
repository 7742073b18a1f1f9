/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose behaviour must not depend on the preload library: run() is
 * called in a process without it and then in one with it. What the C library
 * does is the reference, so each check must hold in both.
 */
#ifndef BOTH_H
#define BOTH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIP 77

/* The value is 0, SKIP after a reason on stderr, or anything else. */
int run(void);

extern bool preloaded; /* is the library in this process? */

#define CHECK(cond_)                                                  \
	do {                                                          \
		if (!(cond_)) {                                       \
			fprintf(stderr, "%s:%d: %s (errno %d, %s)\n", \
			        __FILE__, __LINE__, #cond_, errno,    \
			        preloaded ? "preloaded" : "plain");   \
			_Exit(1);                                     \
		}                                                     \
	} while (0)

/* A pattern that depends on seed and place. */
void fill(void *p, size_t len, unsigned seed);
bool filled(const void *p, size_t len, unsigned seed);
bool all_zero(const void *p, size_t len);

uint32_t rnd(uint32_t *state);

#endif
