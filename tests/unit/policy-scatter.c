/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/page_map.h against an array of bools, and policy/scatter.h: which
 * ranges count as scattered, what a fault brings in, whose turn it is.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "policy/scatter.h"

/* ---- page maps ---- */

static unsigned next_of(const bool *ref, unsigned page, bool set)
{
	while (page < HZ_BLOCK_PAGES && ref[page] != set)
		page++;
	return page;
}

Test(page_map, as_an_array)
{
	bool ref[HZ_BLOCK_PAGES] = {false};
	struct hz_page_map m = {{0}};

	srand(1);
	cr_assert(hz_pmap_empty(&m));
	for (unsigned round = 0; round < 2000; round++) {
		unsigned first = (unsigned)rand() % HZ_BLOCK_PAGES;
		unsigned n = (unsigned)rand() % (HZ_BLOCK_PAGES - first) / 4;
		bool set = rand() & 1;
		unsigned count = 0, at = (unsigned)rand() % HZ_BLOCK_PAGES;

		hz_pmap_fill(&m, first, n, set);
		for (unsigned i = first; i < first + n; i++)
			ref[i] = set;
		for (unsigned i = 0; i < HZ_BLOCK_PAGES; i++) {
			cr_assert_eq(hz_pmap_has(&m, i), ref[i]);
			count += ref[i];
		}
		cr_assert_eq(hz_pmap_count(&m), count);
		cr_assert_eq(hz_pmap_empty(&m), count == 0);
		cr_assert_eq(hz_pmap_next(&m, at, true),
			     next_of(ref, at, true));
		cr_assert_eq(hz_pmap_next(&m, at, false),
			     next_of(ref, at, false));
	}
}

Test(page_map, runs)
{
	struct hz_page_map m = {{0}};
	unsigned n;

	hz_pmap_run(&m, 0, &n);
	cr_assert_eq(n, 0);
	hz_pmap_fill(&m, 60, 10, true);
	hz_pmap_fill(&m, 500, 12, true);
	cr_assert_eq(hz_pmap_run(&m, 0, &n), 60);
	cr_assert_eq(n, 10);
	cr_assert_eq(hz_pmap_run(&m, 64, &n), 64);
	cr_assert_eq(n, 6);
	cr_assert_eq(hz_pmap_run(&m, 70, &n), 500);
	cr_assert_eq(n, 12);
	hz_pmap_run(&m, HZ_BLOCK_PAGES, &n);
	cr_assert_eq(n, 0);
}

/* ---- ranges ---- */

/* A stream may begin anywhere, and then comes to each block at an end. */
static bool after_streams(unsigned length, bool up)
{
	struct hz_scatter s = {0};

	srand(2);
	for (unsigned i = 0; i < 2000; i++) {
		hz_scatter_fault(&s, (unsigned)rand() % HZ_BLOCK_PAGES);
		for (unsigned k = 1; k < length; k++)
			hz_scatter_fault(&s, up ? 0 : HZ_BLOCK_PAGES - 1);
	}
	return s.scattered;
}

Test(scatter, streams_are_not)
{
	cr_assert_not(after_streams(1000, true));
	cr_assert_not(after_streams(1000, false));
	/* tensors of two blocks that begin inside one */
	cr_assert_not(after_streams(2, true));
	cr_assert_not(after_streams(2, false));
}

/* Two of three faults inside: small tensors, and threads that share each. */
Test(scatter, small_tensors_are_not)
{
	struct hz_scatter s = {0};

	srand(6);
	for (unsigned i = 0; i < 30000; i++) {
		hz_scatter_fault(&s, rand() % 3 ? 100 : 0);
		cr_assert_not(s.scattered);
	}
}

Test(scatter, random_faults_are)
{
	struct hz_scatter s = {0};
	unsigned n = 0;

	srand(3);
	/* after a pass from end to end, which filled the memory */
	for (unsigned i = 0; i < 500; i++)
		hz_scatter_fault(&s, 0);
	while (!s.scattered && n < 1000) {
		hz_scatter_fault(&s, (unsigned)rand() % HZ_BLOCK_PAGES);
		n++;
	}
	cr_assert_lt(n, 100, "after %u", n);
}

static struct hz_scatter is_scattered(void)
{
	struct hz_scatter s = {0};

	while (!s.scattered)
		hz_scatter_fault(&s, 100);
	return s;
}

/* As the engine tells them: each begins with a single page. */
static void stream(struct hz_scatter *s, unsigned blocks, unsigned range)
{
	for (unsigned i = 0; i < blocks; i++) {
		hz_scatter_single(s, range);
		hz_scatter_streamed(s);
	}
}

static void singles(struct hz_scatter *s, unsigned n, unsigned range)
{
	for (unsigned i = 0; i < n; i++)
		hz_scatter_single(s, range);
}

Test(scatter, some_blocks_take_a_wrong_guess_back)
{
	struct hz_scatter s = is_scattered();

	stream(&s, 8, 1000);
	cr_assert(s.scattered);
	stream(&s, 4, 1000);
	cr_assert_not(s.scattered);
}

/* Blocks in pieces may be left when the range is not scattered any more. */
Test(scatter, what_is_left_does_not_count)
{
	struct hz_scatter s = {0};

	for (unsigned i = 0; i < 40; i++) {
		hz_scatter_fault(&s, 100);
		if (!s.scattered)
			hz_scatter_streamed(&s);
	}
	cr_assert(s.scattered);
}

/* Threads that share blocks have a few single pages in each. */
Test(scatter, streams_with_some_singles_take_it_back)
{
	struct hz_scatter s = is_scattered();

	for (unsigned i = 0; i < 100; i++) {
		singles(&s, 2, 1000);
		hz_scatter_streamed(&s);
	}
	cr_assert_not(s.scattered);
}

Test(scatter, three_passes_take_anything_back)
{
	struct hz_scatter s = is_scattered();

	singles(&s, 1000000, 100);
	stream(&s, 199, 100);
	cr_assert(s.scattered);
	stream(&s, 101, 100);
	cr_assert_not(s.scattered);
	s = is_scattered();
	singles(&s, 1000000, 1);
	stream(&s, 12, 1);
	cr_assert_not(s.scattered, "a small range, too");
}

/* A table that is saved every now and then. */
Test(scatter, a_pass_between_other_uses_does_not)
{
	struct hz_scatter s = is_scattered();

	for (unsigned round = 0; round < 100; round++) {
		singles(&s, 400, 100);
		stream(&s, 100, 100);
		cr_assert(s.scattered);
	}
}

Test(scatter, hopeless_after_ten_seconds)
{
	const uint64_t s = 1000000000;
	struct hz_hopeless h = {0};

	for (unsigned i = 0; i < 9; i++)
		cr_assert_not(hz_hopeless(&h, s * 9 / 10, s));
	cr_assert(hz_hopeless(&h, s * 9 / 10, s));
	cr_assert(hz_hopeless(&h, 3 * s, s));
	cr_assert_not(hz_hopeless(&h, s / 4, s));
	cr_assert_not(hz_hopeless(&h, s, s));
}

/* ---- how much ---- */

static struct hz_pieces piece(void)
{
	return (struct hz_pieces){.whole = HZ_NONE};
}

Test(span, single_pages_at_random)
{
	unsigned last[HZ_RUNS] = {0};
	struct hz_pieces p = piece();

	srand(4);
	for (unsigned i = 0; i < 1000;) {
		unsigned page = (unsigned)rand() % HZ_BLOCK_PAGES;
		unsigned k = 0;

		while (k < HZ_RUNS && (page <= last[k] || page > last[k] + 4))
			k++;
		if (k < HZ_RUNS)
			continue;
		cr_assert_eq(hz_pieces_span(&p, page), 1);
		last[i++ % HZ_RUNS] = page;
	}
}

Test(span, doubles_and_then_takes_all)
{
	static const unsigned want[] = {1, 2, 4, 8, 16, HZ_BLOCK_PAGES};
	struct hz_pieces p = piece();
	unsigned page = 37;

	for (unsigned i = 0; i < hz_array_len(want); i++) {
		cr_assert_eq(hz_pieces_span(&p, page), want[i], "piece %u", i);
		page += want[i];
	}
}

Test(span, goes_on_when_not_all_can_come)
{
	struct hz_pieces p = piece();
	unsigned page = 37;

	for (unsigned n = 0; n < HZ_BLOCK_PAGES;) {
		n = hz_pieces_span(&p, page);
		page += hz_min(n, 16u);
	}
	for (; page < 400; page += 16)
		cr_assert_eq(hz_pieces_span(&p, page), HZ_BLOCK_PAGES);
	cr_assert_eq(hz_pieces_span(&p, 100), 1);
}

/* Threads that share a block; what one of them brought in is passed. */
Test(span, several_streams_in_a_block)
{
	static const unsigned want[] = {1, 2, 4, 8, 16, HZ_BLOCK_PAGES};
	unsigned at[HZ_RUNS] = {10, 130, 250, 370};
	struct hz_pieces p = piece();

	for (unsigned i = 0; i < hz_array_len(want); i++)
		for (unsigned k = 0; k < HZ_RUNS; k++) {
			cr_assert_eq(hz_pieces_span(&p, at[k]), want[i],
				     "stream %u, piece %u", k, i);
			at[k] += want[i];
		}
}

/* A stream among faults at random is still seen. */
Test(span, a_stream_between_single_pages)
{
	struct hz_pieces p = piece();
	unsigned n = 1;

	for (unsigned page = 0; n < HZ_BLOCK_PAGES; page += n) {
		cr_assert_lt(page, 64);
		n = hz_pieces_span(&p, page);
		cr_assert_eq(hz_pieces_span(&p, 300 + 7 * page), 1);
		cr_assert_eq(hz_pieces_span(&p, 511 - 5 * page), 1);
	}
}

Test(span, passes_what_is_mapped)
{
	struct hz_pieces p = piece();

	cr_assert_eq(hz_pieces_span(&p, 10), 1);
	hz_pmap_fill(&p.here, 11, 50, true);
	cr_assert_eq(hz_pieces_span(&p, 61), 2);
	cr_assert_eq(hz_pieces_span(&p, 62), 4, "half of the last one came");
	hz_pmap_fill(&p.here, 67, 2, true);
	cr_assert_eq(hz_pieces_span(&p, 73), 1, "there was a gap before");
}

Test(span, ends_with_the_block)
{
	struct hz_pieces p = piece();

	cr_assert_eq(hz_pieces_span(&p, 508), 1);
	cr_assert_eq(hz_pieces_span(&p, 509), 2);
	cr_assert_eq(hz_pieces_span(&p, 511), 1);
}

/* ---- lists and the clock ---- */

#define BLOCKS 64u

static struct hz_pieces_set set;

static void make(void)
{
	hz_pieces_init(&set, calloc(1, hz_pieces_bytes(BLOCKS)), BLOCKS);
}

static void end(void)
{
	free(set.of);
}

static void check_sums(void)
{
	uint64_t here = 0, held[HZ_PIECES_PHASES] = {0};
	uint32_t count[HZ_PIECES_PHASES] = {0};

	for (uint32_t b = 0; b < BLOCKS; b++) {
		const struct hz_pieces *p = &set.of[b];

		if (p->phase == HZ_PIECES_NONE)
			continue;
		cr_assert_eq(p->n_here, hz_pmap_count(&p->here));
		cr_assert_eq(p->n_held, hz_pmap_count(&p->held));
		here += p->n_here;
		held[p->phase] += p->n_held;
		count[p->phase]++;
	}
	cr_assert_eq(set.here, here);
	for (unsigned i = 1; i < HZ_PIECES_PHASES; i++) {
		cr_assert_eq(set.list[i].held, held[i]);
		cr_assert_eq(set.list[i].count, count[i]);
	}
}

Test(lists, sums_hold, .init = make, .fini = end)
{
	srand(5);
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t b = (uint32_t)rand() % BLOCKS;
		unsigned first = (unsigned)rand() % 500;
		unsigned n = (unsigned)rand() % 12;

		if (set.of[b].phase == HZ_PIECES_NONE)
			hz_pieces_enter(&set, b);
		else if (rand() % 16 == 0)
			hz_pieces_leave(&set, b);
		else if (rand() % 4 == 0)
			hz_pieces_phase(&set, b, 1 + rand() % 4);
		else if (rand() & 1)
			hz_pieces_here(&set, b, first, n, rand() & 1);
		else
			hz_pieces_held(&set, b, first, n, rand() & 1);
		if (i % 64 == 0)
			check_sums();
	}
	check_sums();
}

Test(lists, away_until_a_page_comes, .init = make, .fini = end)
{
	hz_pieces_enter(&set, 3);
	hz_pieces_phase(&set, 3, HZ_PIECES_AWAY);
	cr_assert_eq(hz_pieces_pick(&set), HZ_NONE);
	hz_pieces_here(&set, 3, 7, 1, true);
	cr_assert_eq(set.of[3].phase, HZ_PIECES_MAPPED);
	cr_assert_eq(hz_pieces_pick(&set), 3);
	check_sums();
}

/* A block of which all came, and that is to leave again. */
Test(lists, enters_again_with_what_is_known, .init = make, .fini = end)
{
	struct hz_page_map keep;

	hz_pieces_enter(&set, 3);
	hz_pieces_used(&set, 3, 5, 1);
	hz_pmap_add(&set.of[3].zero, 9);
	hz_pieces_leave(&set, 3);
	set.of[3].known = true;
	set.tick += 1000;
	hz_pieces_enter_again(&set, 3);
	cr_assert(set.of[3].known);
	cr_assert(hz_pmap_has(&set.of[3].zero, 9));
	hz_pieces_held(&set, 3, 0, HZ_BLOCK_PAGES, true);
	keep = hz_pieces_keep(&set, 3, HZ_BLOCK_PAGES);
	cr_assert(hz_pmap_has(&keep, 5), "it was used soon after it left");
	hz_pieces_leave(&set, 3);
	hz_pieces_enter(&set, 3);
	cr_assert_not(set.of[3].known);
	cr_assert(hz_pmap_empty(&set.of[3].zero));
	hz_pieces_held(&set, 3, 0, HZ_BLOCK_PAGES, true);
	keep = hz_pieces_keep(&set, 3, HZ_BLOCK_PAGES);
	cr_assert(hz_pmap_empty(&keep));
	check_sums();
}

Test(clock, takes_turns, .init = make, .fini = end)
{
	bool taken[BLOCKS] = {false};

	for (uint32_t b = 0; b < BLOCKS; b++) {
		hz_pieces_enter(&set, b);
		hz_pieces_here(&set, b, 0, 100, true);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		uint32_t b = hz_pieces_pick(&set);

		cr_assert_neq(b, HZ_NONE);
		cr_assert_not(taken[b]);
		taken[b] = true;
	}
}

/* Which of blocks 0 and 1 are picked in so many turns; of block 0 all is used
 * while it stays, of block 1 nothing is. */
static void count_picks(unsigned turns, unsigned picks[2])
{
	picks[0] = picks[1] = 0;
	for (unsigned i = 0; i < turns; i++) {
		uint32_t b = hz_pieces_pick(&set);

		cr_assert_lt(b, 2);
		picks[b]++;
		set.of[b].frame = set.of[b].here;
		if (b == 1)
			hz_pieces_held(&set, b, 0, 100, true);
		hz_pieces_stayed(&set, b);
		hz_pieces_held(&set, b, 0, 100, false);
	}
}

Test(clock, what_all_is_used_of_rests, .init = make, .fini = end)
{
	unsigned picks[2];

	for (uint32_t b = 0; b < 2; b++) {
		hz_pieces_enter(&set, b);
		hz_pieces_here(&set, b, 0, 100, true);
	}
	count_picks(330, picks);
	cr_assert_gt(picks[0], 5, "it is looked at now and then");
	cr_assert_lt(picks[0], 20);
	set.of[1].rest = set.of[1].skip = 31;
	set.of[0].rest = set.of[0].skip = 31;
	cr_assert_neq(hz_pieces_pick(&set), HZ_NONE, "all rest: one must go");
}

Test(clock, nothing_to_take, .init = make, .fini = end)
{
	cr_assert_eq(hz_pieces_pick(&set), HZ_NONE);
	hz_pieces_enter(&set, 3);
	cr_assert_eq(hz_pieces_pick(&set), HZ_NONE, "no page is mapped");
	hz_pieces_here(&set, 3, 7, 1, true);
	cr_assert_eq(hz_pieces_pick(&set), 3, "one is better than none");
	hz_pmap_add(&set.of[3].reading, 9);
	cr_assert_eq(hz_pieces_pick(&set), HZ_NONE, "a read is on its way");
}

/* ---- which pages ---- */

/* Page i is used every 2^(9 + i / 16) faults: whatever the border was, it comes
 * to lie in the middle. */
Test(keep, what_is_used_often, .init = make, .fini = end)
{
	unsigned often = 0, seldom = 0;

	hz_pieces_enter(&set, 1);
	for (unsigned round = 0; round < 2000; round++) {
		struct hz_page_map keep;
		uint32_t start = set.tick;

		hz_pieces_here(&set, 1, 0, 128, true);
		hz_pieces_unmapped(&set, 1);
		hz_pieces_here(&set, 1, 0, 128, false);
		hz_pieces_held(&set, 1, 0, 128, true);
		keep = hz_pieces_keep(&set, 1, HZ_BLOCK_PAGES);
		for (unsigned i = 0; round >= 1000 && i < 48; i++) {
			often += hz_pmap_has(&keep, i);
			seldom += hz_pmap_has(&keep, 80 + i);
		}
		hz_pieces_held(&set, 1, 0, 128, false);
		for (unsigned i = 0; i < 8; i++) {
			set.tick = start + (512u << i);
			hz_pieces_used(&set, 1, 16 * i, 16);
		}
	}
	cr_assert_gt(often, 46000, "%u of 48000", often);
	cr_assert_lt(seldom, 2000, "%u of 48000", seldom);
}

Test(keep, no_more_than_asked, .init = make, .fini = end)
{
	struct hz_page_map keep;

	hz_pieces_enter(&set, 1);
	hz_pieces_used(&set, 1, 0, 512);
	hz_pieces_held(&set, 1, 0, 512, true);
	keep = hz_pieces_keep(&set, 1, 100);
	cr_assert_eq(hz_pmap_count(&keep), 100);
}

/* ---- who gives ---- */

Test(share, where_memory_saves_less)
{
	struct hz_share s = {.since = 0};
	uint64_t now = 5000000000u;

	/* no stalls at all: who asks */
	cr_assert_eq(hz_share_gives(&s, HZ_SHARE_PIECES, 1000, 1000),
		     HZ_SHARE_PIECES);
	cr_assert_eq(hz_share_gives(&s, HZ_SHARE_BLOCKS, 1000, 1000),
		     HZ_SHARE_BLOCKS);
	hz_share_stall(&s, HZ_SHARE_PIECES, 100000000, now);
	cr_assert_eq(hz_share_gives(&s, HZ_SHARE_PIECES, 1000, 1000),
		     HZ_SHARE_BLOCKS);
	cr_assert_eq(hz_share_gives(&s, HZ_SHARE_BLOCKS, 1000, 1000),
		     HZ_SHARE_BLOCKS);
	/* the same stall for a tenth of the memory is worse */
	hz_share_stall(&s, HZ_SHARE_BLOCKS, 100000000, now);
	cr_assert_eq(hz_share_gives(&s, HZ_SHARE_BLOCKS, 100, 1000),
		     HZ_SHARE_PIECES);
	/* who has nothing gives nothing */
	cr_assert_eq(hz_share_gives(&s, HZ_SHARE_PIECES, 0, 1000),
		     HZ_SHARE_PIECES);
	/* forgotten after some seconds */
	hz_share_stall(&s, HZ_SHARE_PIECES, 0, now + 60000000000u);
	cr_assert_eq(s.stall[HZ_SHARE_BLOCKS], 0);
	cr_assert_eq(s.stall[HZ_SHARE_PIECES], 0);
}
