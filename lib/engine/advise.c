/* SPDX-License-Identifier: Apache-2.0 */
/*
 * madvise, mlock, msync and eviction on demand; see vm.c for the rest of the
 * mmap family.
 *
 * Rests on madvise(2), mlock(2), msync(2).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/os.h"
#include "engine/arena.h"
#include "engine/arena_int.h"
#include "engine/engine.h"
#include "engine/file_map.h"

/* ---- madvise ---- */

enum advice_is {
	IS_KERNELS, /* hand over, then the kernel's */
	IS_UNDOING, /* takes back one of the kernel's */
	IS_NOTHING, /* a hint that has no meaning here */
	IS_DISCARD,
	IS_POPULATE,
	IS_INVALID,
	IS_OF_HOLE, /* nothing is mapped there */
};

/* asm-generic/mman-common.h; what is not listed is the kernel's. */
static const struct {
	int advice;
	enum advice_is is;
} advices[] = {
	{MADV_NORMAL, IS_NOTHING},
	{MADV_RANDOM, IS_NOTHING},
	{MADV_SEQUENTIAL, IS_NOTHING},
	{MADV_WILLNEED, IS_NOTHING},
	{MADV_DONTNEED, IS_DISCARD},
	{MADV_FREE, IS_DISCARD},
	{MADV_REMOVE, IS_INVALID},
	{MADV_MERGEABLE, IS_NOTHING},
	{MADV_UNMERGEABLE, IS_NOTHING},
	{MADV_HUGEPAGE, IS_NOTHING},
	{MADV_NOHUGEPAGE, IS_NOTHING},
	{MADV_DONTDUMP, IS_NOTHING},
	{MADV_DODUMP, IS_NOTHING},
	{20 /* COLD */, IS_NOTHING},
	{21 /* PAGEOUT */, IS_NOTHING},
	{22 /* POPULATE_READ */, IS_POPULATE},
	{23 /* POPULATE_WRITE */, IS_POPULATE},
	{24 /* DONTNEED_LOCKED */, IS_DISCARD},
	{25 /* COLLAPSE */, IS_NOTHING},
	{MADV_DOFORK, IS_UNDOING},
	{MADV_KEEPONFORK, IS_UNDOING},
};

static enum advice_is advice_is(int advice)
{
	for (size_t i = 0; i < hz_array_len(advices); i++)
		if (advices[i].advice == advice)
			return advices[i].is;
	return IS_KERNELS;
}

static bool in_use(struct hz_engine *e, uint32_t b)
{
	HZ_SCOPED_LOCK(&e->lock);
	return hz_range_block_use(e->ranges, b) != 0;
}

static void discard_piece(struct hz_engine *e, uint32_t b, struct hz_part piece)
{
	if (!in_use(e, b)) {
		return; /* a hole */
	} else if (hz_file_discard(e, b, piece.from, piece.to)) {
		return;
	} else if (hz_part_state(e, b) == HZ_BLK_NATIVE) {
		hz_os_discard(piece.from, (size_t)(piece.to - piece.from));
	} else if (hz_part_whole(piece)) {
		HZ_SCOPED_LOCK(&e->lock);
		hz_region_purge(e, b);
		if (!e->armed) /* the kernel fills it; see census.c */
			hz_block_set(&e->totals, &e->blk[b], HZ_BLK_RESIDENT);
		hz_file_restore(e, b);
	} else {
		hz_part_clear(e, b, piece);
	}
}

static int populate(struct hz_engine *e, struct hz_part p, int advice)
{
	if (hz_part_native(e, p))
		return hz_os.madvise(p.from, (size_t)(p.to - p.from), advice);
	hz_part_touch(e, p.from, p.to);
	return 0;
}

int hz_arena_madvise(void *addr, size_t len, int advice)
{
	struct hz_engine *e = &hz_engine;
	struct hz_part p = hz_part_inside(e, addr, len);
	struct hz_gate g;
	int rc;

	if ((uintptr_t)addr % HZ_PAGE_SIZE)
		return -EINVAL;
	/* Is there such an advice? */
	rc = hz_os.madvise(e->base, 0, advice);
	if (rc < 0 || !len)
		return rc;
	p.to = (char *)hz_align_up((uintptr_t)p.to, HZ_PAGE_SIZE);
	hz_gate_enter(&g);
	switch (hz_part_hole(e, p) ? IS_OF_HOLE : advice_is(advice)) {
	case IS_OF_HOLE: /* what is mapped is discarded all the same */
		if (advice_is(advice) == IS_DISCARD)
			hz_part_each(e, p, discard_piece);
		rc = -ENOMEM;
		break;
	case IS_NOTHING:
		break;
	case IS_UNDOING:
		rc = hz_os.madvise(addr, len, advice);
		break;
	case IS_INVALID:
		rc = -EINVAL;
		break;
	case IS_DISCARD:
		if (advice == MADV_FREE && hz_file_covers(e, addr, len))
			rc = -EINVAL; /* anonymous memory only */
		else
			hz_part_each(e, p, discard_piece);
		break;
	case IS_POPULATE:
		rc = populate(e, p, advice);
		break;
	case IS_KERNELS:
		hz_arena_hand_over(e, p);
		hz_part_set_odd(e, p, true);
		rc = hz_os.madvise(addr, len, advice);
		break;
	}
	hz_gate_leave(&g);
	return rc;
}

/* ---- mlock, msync ---- */

static void unlock_blocks(struct hz_engine *e, struct hz_span s)
{
	HZ_SCOPED_LOCK(&e->lock);

	for (uint32_t b = s.first; b < s.first + s.n; b++)
		e->blk[b].flags &= (uint8_t)~HZ_BLKF_STICKY;
}

static void lock_all(struct hz_engine *e, bool on)
{
	HZ_SCOPED_LOCK(&e->lock);

	e->no_evict = on;
	if (on)
		hz_log_once(HZ_WARN, "arena",
			    "the program locked all its memory (mlockall): "
			    "nothing is evicted");
}

int hz_arena_mlock(void *addr, size_t len, bool on)
{
	struct hz_engine *e = &hz_engine;
	struct hz_part p = hz_part_inside(e, addr, len);
	struct hz_gate g;
	struct hz_span s;
	int rc = 0;

	if (!len)
		return 0;
	hz_gate_enter(&g);
	s = hz_part_touched(e, p);
	if (len >= hz_arena_len)
		lock_all(e, on);
	else if (hz_part_hole(e, p))
		rc = -ENOMEM;
	else if (on)
		hz_region_pin(e, s.first, s.n, true);
	else
		unlock_blocks(e, s);
	hz_gate_leave(&g);
	return rc;
}

int hz_arena_msync(void *addr, size_t len, int flags)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate g;
	bool hole;

	/* Private memory has nothing to be synchronised with. */
	if ((uintptr_t)addr % HZ_PAGE_SIZE ||
	    flags & ~(MS_ASYNC | MS_INVALIDATE | MS_SYNC) ||
	    (flags & MS_ASYNC && flags & MS_SYNC))
		return -EINVAL;
	hz_gate_enter(&g);
	hole = len && hz_part_hole(e, hz_part_inside(e, addr, len));
	hz_gate_leave(&g);
	return hole ? -ENOMEM : 0;
}

/* ---- on demand ---- */

long hz_arena_evict(void *addr, size_t len)
{
	struct hz_engine *e = &hz_engine;
	struct hz_span s = hz_part_covered(e, hz_part_inside(e, addr, len));
	struct hz_request req = {.op = HZ_REQ_EVICT, .a = s.first, .n = s.n};
	struct hz_gate g;
	long out;

	if (!s.n)
		return 0;
	hz_gate_enter(&g);
	out = hz_engine_start() ? hz_engine_call(&req) : 0;
	hz_gate_leave(&g);
	return out;
}
