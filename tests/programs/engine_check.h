/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that have the engine inside: what does not hold ends them.
 */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CHECK(cond_)                                                        \
	do {                                                                \
		if (!(cond_)) {                                             \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, \
				__LINE__, #cond_, errno);                   \
			_exit(1);                                           \
		}                                                           \
	} while (0)

#endif
