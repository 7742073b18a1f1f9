/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment's table of ranges, and the gauges that are sums. Refreshed by
 * hz-engine at most once a second: a walk over the blocks of the ranges that
 * have a row.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "engine/arena_int.h"
#include "engine/engine.h"

#define REFRESH_NS   1000000000ull
#define REFRESH_MOST 65536u /* blocks looked at in one go */

void hz_rows_init(struct hz_engine *e)
{
	e->row_stack = hz_os_reserve(HZ_STATS_RANGES * sizeof(uint32_t));
	e->row_count = 0;
	for (uint32_t i = HZ_STATS_RANGES; e->row_stack && i-- > 0;)
		e->row_stack[e->row_count++] = i;
}

/* As horizon-stat --tensors names them. */
static uint32_t kind_of(const struct hz_range *r)
{
	if (r->flags & HZ_RANGE_FILE)
		return 3;
	return r->kind == HZ_RANGE_MAP ? 2 : 1;
}

void hz_rows_add(struct hz_engine *e, struct hz_range *r)
{
	struct hz_stats_range row = {
		.kind = kind_of(r),
		.start = (uintptr_t)e->base +
			 ((uint64_t)r->first << HZ_UNIT_SHIFT),
		.bytes = r->bytes,
	};

	hz_stat_add(HZ_STAT_ranges, 1);
	hz_stat_add(HZ_STAT_range_bytes, r->bytes);
	if (!e->row_count)
		return;
	r->stats_row = e->row_stack[--e->row_count];
	hz_stats_put_range(r->stats_row, &row);
}

void hz_rows_drop(struct hz_engine *e, struct hz_range *r)
{
	struct hz_stats_range none = {0};

	hz_stat_sub(HZ_STAT_ranges, 1);
	hz_stat_sub(HZ_STAT_range_bytes, r->bytes);
	if (r->stats_row == HZ_NONE)
		return;
	hz_stats_put_range(r->stats_row, &none);
	e->row_stack[e->row_count++] = r->stats_row;
	r->stats_row = HZ_NONE;
}

/* The scattered range with most faults in the last second. */
struct busiest {
	const struct hz_range *range;
	uint64_t faults, missing; /* a second; bytes not in RAM */
};

struct walk {
	struct hz_engine *e;
	uint32_t looked;
	struct busiest busiest;
};

static void see_faults(struct walk *w, struct hz_range *r, uint64_t resident)
{
	uint64_t faults = r->faults - r->faults_seen;
	uint64_t few = ((uint64_t)w->e->cap << HZ_BLOCK_SHIFT) / 16;

	r->faults_seen = r->faults;
	if (!r->scatter.scattered || faults <= w->busiest.faults ||
	    r->bytes - resident < few)
		return;
	w->busiest = (struct busiest){r, faults, r->bytes - resident};
}

static uint32_t pages_in_ram(const struct hz_engine *e, uint32_t b)
{
	if (e->pieces.of[b].phase != HZ_PIECES_NONE)
		return (uint32_t)e->pieces.of[b].n_here +
		       e->pieces.of[b].n_held;
	switch ((enum hz_block_state)e->blk[b].state) {
	case HZ_BLK_ZERO:
	case HZ_BLK_STORED:
	case HZ_BLK_FILED:
	case HZ_BLK_READING:
	case HZ_BLK_POISONED:
		return 0;
	default:
		return HZ_BLOCK_PAGES;
	}
}

static void refresh(void *arg, struct hz_range *r)
{
	struct walk *w = arg;
	struct hz_engine *e = w->e;
	uint32_t first = r->first / HZ_UNITS_PER_BLOCK;
	uint32_t last = (r->first + r->units - 1) / HZ_UNITS_PER_BLOCK;
	struct hz_stats_range row = {
		.kind = kind_of(r),
		.start = (uintptr_t)e->base +
			 ((uint64_t)r->first << HZ_UNIT_SHIFT),
		.bytes = r->bytes,
		.faults = r->faults,
		.last_fault = r->last_fault,
	};
	uint64_t ram = 0, store = 0;

	if (r->stats_row == HZ_NONE || w->looked > REFRESH_MOST)
		return;
	for (uint32_t b = first; b <= last; b++) {
		uint32_t pages = pages_in_ram(e, b);

		ram += pages;
		if (e->blk[b].slot != HZ_NONE)
			store += HZ_BLOCK_PAGES - pages;
	}
	w->looked += last - first + 1;
	row.resident_bytes = hz_min(ram * HZ_PAGE_SIZE, r->bytes);
	row.store_bytes =
		hz_min(store * HZ_PAGE_SIZE, r->bytes - row.resident_bytes);
	hz_stats_put_range(r->stats_row, &row);
	see_faults(w, r, row.resident_bytes);
}

#define ADVICE_ROUND (64ull << 20)

/* A range that is used all over, of which too little fits: which, why, and what
 * would do. Said once; the report has the last one. */
static void advise(struct hz_engine *e, const struct busiest *b,
		   uint64_t passed)
{
	static struct hz_hopeless hopeless;
	static uint64_t stall_seen;
	uint64_t sum = e->share.sum[HZ_SHARE_PIECES];
	uint64_t stalled = sum - stall_seen;
	uint64_t ram = (uint64_t)e->cap << HZ_BLOCK_SHIFT;
	char text[192];

	stall_seen = sum;
	if (!hz_hopeless(&hopeless, stalled, passed) || !b->range)
		return;
	ram = hz_align_up(ram + b->missing, ADVICE_ROUND);
	hz_format(text, sizeof(text),
		  "%B at %p are used all over and %B of them are not in RAM: "
		  "threads wait for %lu pieces a second; --ram %luM holds all",
		  b->range->bytes, (void *)hz_range_addr(e, b->range),
		  b->missing, (unsigned long)b->faults,
		  (unsigned long)(ram >> 20));
	hz_log_once(HZ_INFO, "plan", "%s", text);
	hz_stats_advice(text);
}

/* The lock that was reported last; a child reports its own. */
static uint32_t locks;

void hz_rows_child(void)
{
	locks = 0;
}

static void note_lock(const struct hz_engine *e)
{
	struct hz_plan_learned l = hz_plan_learned(e->plan);

	if (l.locked && l.locks != locks)
		hz_stats_locked();
	locks = l.locks;
}

static void refresh_learned(const struct hz_engine *e)
{
	static uint64_t hits, misses; /* reported so far */
	struct hz_plan_learned l = hz_plan_learned(e->plan);

	hz_stat_gauge(HZ_STAT_learn_period, HZ_STAT_learn_period, l.period);
	hz_stat_gauge(HZ_STAT_learn_locked, HZ_STAT_learn_locked, l.locked);
	hz_stat_add(HZ_STAT_learn_hits, l.hits - hits);
	hz_stat_add(HZ_STAT_learn_misses, l.misses - misses);
	hits = l.hits;
	misses = l.misses;
}

void hz_rows_refresh(struct hz_engine *e)
{
	static uint64_t last;
	struct walk w = {.e = e};
	uint64_t now = hz_os.now(), passed;

	hz_stat_gauge(HZ_STAT_ram_resident, HZ_STAT_ram_peak,
		      (uint64_t)e->pages << HZ_BLOCK_SHIFT);
	hz_stat_gauge(HZ_STAT_piece_blocks, HZ_STAT_piece_blocks,
		      e->pieces.list[HZ_PIECES_MAPPED].count +
			      e->pieces.list[HZ_PIECES_STAGED].count +
			      e->pieces.list[HZ_PIECES_WRITING].count);
	hz_stat_gauge(HZ_STAT_piece_resident, HZ_STAT_piece_resident,
		      e->pieces.here * HZ_PAGE_SIZE);
	note_lock(e);
	if (now - last < REFRESH_NS)
		return;
	passed = now - last;
	last = now;
	hz_stat_gauge(HZ_STAT_store_resident, HZ_STAT_store_peak,
		      (uint64_t)hz_slots_used(e->slots) << HZ_BLOCK_SHIFT);
	refresh_learned(e);
	hz_range_each(e->ranges, refresh, &w);
	advise(e, &w.busiest, passed);
}
