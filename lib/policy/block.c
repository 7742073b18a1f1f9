/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a block: names, the table of allowed moves, and the
 * only place that writes hz_block.state.
 */
#include "policy/block.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static const char *const state_names[HZ_BLK_STATES] = {
#define HZ_BLOCK_STATE(id_, text_) [HZ_BLK_##id_] = #id_,
#define HZ_BLOCK_EDGE(from_, to_, why_)
#include "policy/block_states.def"
#undef HZ_BLOCK_EDGE
#undef HZ_BLOCK_STATE
};

const char *hz_block_state_name(enum hz_block_state state)
{
	if ((unsigned)state >= HZ_BLK_STATES)
		return "?";
	return state_names[state];
}

/* A switch, so that an edge listed twice does not compile. */
bool hz_block_may(enum hz_block_state from, enum hz_block_state to)
{
	if ((unsigned)from >= HZ_BLK_STATES || (unsigned)to >= HZ_BLK_STATES)
		return false;
	switch (from * HZ_BLK_STATES + to) {
#define HZ_BLOCK_STATE(id_, text_)
#define HZ_BLOCK_EDGE(from_, to_, why_) \
	case HZ_BLK_##from_ *HZ_BLK_STATES + HZ_BLK_##to_:
#include "policy/block_states.def"
#undef HZ_BLOCK_EDGE
#undef HZ_BLOCK_STATE
		return true;
	default:
		return false;
	}
}

/* Mapped anew it can be written; nothing else there is content. */
static bool ends_guard(enum hz_block_state to)
{
	return to == HZ_BLK_MAPPING || to == HZ_BLK_FILLING ||
	       to == HZ_BLK_PIECES || to == HZ_BLK_ZERO ||
	       to == HZ_BLK_NATIVE || to == HZ_BLK_POISONED;
}

void hz_block_guard(struct hz_block_totals *totals, struct hz_block *block,
		    bool guarded)
{
	totals->guarded += (uint32_t)guarded - (uint32_t)block->guarded;
	block->guarded = guarded;
}

void hz_block_set(struct hz_block_totals *totals, struct hz_block *block,
                  enum hz_block_state to)
{
	enum hz_block_state from = block->state;

	if (hz_unlikely(!hz_block_may(from, to))) {
		hz_log(HZ_ERROR, "block", "bad state change (%s to %s)",
		       hz_block_state_name(from), hz_block_state_name(to));
#ifdef HZ_DEBUG
		abort();
#endif
	}
	if (ends_guard(to))
		hz_block_guard(totals, block, false);
	totals->count[from]--;
	totals->count[to]++;
	block->state = (uint8_t)to;
}

void hz_block_init(struct hz_block *block)
{
	memset(block, 0, sizeof(*block));
	block->frame = HZ_NONE;
	block->slot = HZ_NONE;
	block->wait_next = HZ_NONE;
}
