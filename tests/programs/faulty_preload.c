/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preload library on a store that fails, for programs that know nothing
 * of either: all of it is linked with store_faulty in the place of both
 * backends. STORE_FAULTS in the environment says how it fails, as
 * store_faults_parse() has it; `pieces' in STORE_HOW cuts transfers short,
 * `uring' takes io_uring.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "store_faulty.h"

extern const struct hz_store_ops __real_hz_store_threads;
extern const struct hz_store_ops __real_hz_store_uring;

/* The engine starts with the first big allocation, which is later. */
static __attribute__((constructor)) void choose(void)
{
	const char *how = getenv("STORE_HOW"), *spec = getenv("STORE_FAULTS");

	store_faulty_inner = how && strstr(how, "uring")
				     ? &__real_hz_store_uring
				     : &__real_hz_store_threads;
	if (how && strstr(how, "pieces"))
		store_faulty_pieces();
	if (spec && !store_faults_parse(spec))
		_exit(98);
}
