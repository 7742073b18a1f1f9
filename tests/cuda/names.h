/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every name that the driver exports, from the table of the software driver,
 * and where a program that is linked with the driver has it.
 */
#ifndef TEST_CUDA_NAMES_H
#define TEST_CUDA_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct name {
	const char *symbol, *asked; /* of cuGetProcAddress */
	int version;
	bool own; /* of the thread's own default stream */
	void *linked;
};
extern const struct name names[];
extern const size_t n_names;

/* Those that the shim's forwarders are made from. */
extern const char *const forwarded[];
extern const size_t n_forwarded;
/* Those that have a hook. */
extern const char *const hooked[];
extern const size_t n_hooked;

/* ---- conformance_names.c; a failure ends the program ---- */

/* The tables have the same names. */
void names_agree(void);
/* Each family of allocation was called so far. */
void names_families(void);
/* Calls those of own streams by four ways, and those that have hooks. */
void names_called(void);

#endif
