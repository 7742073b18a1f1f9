/* SPDX-License-Identifier: Apache-2.0 */
/* The 2 MiB blocks of managed memory; all fields are under soft_phys_lock. */
#ifndef SOFTCUDA_PHYSICS_H
#define SOFTCUDA_PHYSICS_H

#include "soft.h"

enum { SOFT_HOST = -1, SOFT_NOWHERE = -2 };

/* In the order in which they are taken away. */
enum soft_queue { SOFT_UNUSED, SOFT_DISCARDED, SOFT_USED, SOFT_QUEUES };

struct soft_block {
	TAILQ_ENTRY(soft_block) queued; /* while attached */
	LIST_ENTRY(soft_block) opened;	/* while open */
	uintptr_t base;
	uint32_t bytes; /* what it is charged */
	int8_t where;	/* the bytes' place: a device, SOFT_HOST, NOWHERE */
	int8_t attached; /* the device whose memory it holds, or HOST: none */
	int8_t preferred, last_prefetch; /* NOWHERE: not set */
	uint8_t queue;
	bool sticky;	/* it has host pages, until it is freed */
	bool host_copy; /* and they hold the same as the device's */
	bool open;	/* accesses do not fault */
	bool discarded, touched;
	bool split, read_mostly;
	uint32_t accessed_by; /* one bit a device */
};
struct soft_managed {
	unsigned n_blocks;
	struct soft_block blocks[];
};

/* The block at an address, or NULL; async-signal-safe. */
struct soft_block *soft_block_at(uintptr_t addr);
/* Borders inside of a block split it for ever; counts once a block. */
void soft_block_border(struct soft_block *b, uintptr_t from, uintptr_t to);

#endif
