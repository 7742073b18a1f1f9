/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run with the addresses of a caching allocator: a freed piece serves the
 * next tensor of about its size, and what was in it is never known to be dead.
 */
#include "config.h"
#include "replay/work.h"

#include <stdlib.h>
#include <string.h>
#include "replay/mem.h"

/* A piece serves what it is at most this much too large for. */
#define WASTE(bytes_) ((bytes_) / 4 + HZ_BLOCK_SIZE)

struct allocator {
	struct run *run; /* its tensors are the pieces */
	uint32_t *piece; /* by tensor: its piece, HZ_NONE: none */
	uint32_t *spare; /* freed pieces */
	uint32_t spares, pieces_max;
};

static uint32_t new_piece(struct allocator *a, uint64_t bytes)
{
	struct run *run = a->run;

	if (run->tensors == a->pieces_max) {
		a->pieces_max = hz_max(1024u, 2 * a->pieces_max);
		run->bytes = mem_resize(run->bytes, a->pieces_max,
					sizeof(*run->bytes));
		a->spare =
			mem_resize(a->spare, a->pieces_max, sizeof(*a->spare));
	}
	run->bytes[run->tensors] = bytes;
	return run->tensors++;
}

static uint32_t allocate(struct allocator *a, uint64_t bytes)
{
	const uint64_t *size = a->run->bytes;
	uint32_t best = HZ_NONE, piece;

	for (uint32_t i = 0; i < a->spares; i++) {
		uint64_t s = size[a->spare[i]];

		if (s >= bytes && s <= bytes + WASTE(bytes) &&
		    (best == HZ_NONE || s < size[a->spare[best]]))
			best = i;
	}
	if (best == HZ_NONE)
		return new_piece(a, bytes);
	piece = a->spare[best];
	a->spare[best] = a->spare[--a->spares];
	return piece;
}

/* What dies in a kernel is free after it, not in it. */
static void translate_kernel(struct allocator *a, uint32_t *use, uint32_t n,
			     const uint64_t *bytes)
{
	for (uint32_t u = 0; u < n; u++) {
		uint32_t t = hz_use_tensor(use[u]), how = hz_use_how(use[u]);

		if (a->piece[t] == HZ_NONE)
			a->piece[t] = allocate(a, bytes[t]);
		use[u] = hz_use(a->piece[t], how);
		if (how & HZ_USE_LAST)
			a->piece[t] = HZ_NONE;
	}
	for (uint32_t u = 0; u < n; u++) {
		uint32_t how = hz_use_how(use[u]),
			 piece = hz_use_tensor(use[u]);

		use[u] &= ~(uint32_t)HZ_USE_LAST;
		if (how & HZ_USE_LAST)
			a->spare[a->spares++] = piece;
	}
}

static void *copy(const void *from, size_t n, size_t size)
{
	return memcpy(mem_resize(NULL, n, size), from, n * size);
}

void run_allocate(struct run *run, const struct run *from)
{
	struct allocator a = {.run = run};
	uint32_t uses = from->first_use[from->n];

	*run = *from;
	run->kernel = copy(from->kernel, from->n, sizeof(*run->kernel));
	run->ns = copy(from->ns, from->n, sizeof(*run->ns));
	run->first_use =
		copy(from->first_use, from->n + 1, sizeof(*run->first_use));
	run->use = copy(from->use, uses, sizeof(*run->use));
	run->step_start = copy(from->step_start, from->steps + 1,
			       sizeof(*run->step_start));
	run->bytes = NULL;
	run->tensors = 0;
	a.piece = mem_resize(NULL, from->tensors, sizeof(*a.piece));
	memset(a.piece, 0xff, from->tensors * sizeof(*a.piece));
	for (uint32_t i = 0; i < run->n; i++)
		translate_kernel(&a, run->use + run->first_use[i],
				 run->first_use[i + 1] - run->first_use[i],
				 from->bytes);
	free(a.piece);
	free(a.spare);
}
