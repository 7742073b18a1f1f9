/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between view.c, which gathers, and html.c, which draws.
 */
#ifndef HZ_REPLAY_VIEW_INT_H
#define HZ_REPLAY_VIEW_INT_H

#include "replay/view.h"

#define VIEW_ROWS 120

enum { VIEW_NOWHERE, VIEW_VRAM, VIEW_COPIED, VIEW_RAM, VIEW_STORE, VIEW_TIERS };

struct view_row {
	uint32_t tensor, first_use;
};

struct view_sample {
	uint64_t at, waited, vram;
	uint32_t kernel;
	unsigned char where[VIEW_ROWS];
};

struct view_op_seen {
	uint64_t start, end;
	enum channel channel;
};

struct view {
	const struct run *run;
	uint32_t from, kernels; /* positions of the last step */
	uint64_t end;
	struct view_row row[VIEW_ROWS];
	uint32_t rows;
	struct view_sample *sample; /* by kernel of the step */
	struct view_op_seen *op;
	uint32_t ops, ops_max;
};

#endif
