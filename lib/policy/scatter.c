/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See scatter.h.
 */
#include "policy/scatter.h"

#include <string.h>

/* ---- ranges ---- */

/* Of 13 faults 12 inside (random ones: 63 of 64), and 32 more such than the
 * rest allows: 64 MiB read for next to nothing. Many small tensors side by side
 * make two of three. */
#define SCORE_MOST     48
#define SCORE_ENTER    32
#define SCORE_END      (-12)
/* So many single pages cost, read as whole blocks, what the start of a stream
 * costs in pieces, where nothing is read ahead (1.5 and 2.3 ms, NVMe), and it
 * has a few of them itself. */
#define STREAM_SINGLES 4u
/* Blocks of a stream that end a new guess, or one on a small range. */
#define STREAMED_LEAST 8u
/* A stream's first fault is at most so far from the end of the block. */
#define END_PAGES 4u

static void add_score(struct hz_scatter *s, int n)
{
	int score = hz_min(s->score + n, SCORE_MOST);

	s->score = (int8_t)hz_max(score, -SCORE_MOST);
	if (s->score >= SCORE_ENTER) {
		s->scattered = true;
		s->singles = STREAMED_LEAST * STREAM_SINGLES;
	} else if (s->score < 0) {
		s->scattered = false;
	}
}

void hz_scatter_fault(struct hz_scatter *s, unsigned page)
{
	bool end = page < END_PAGES || page >= HZ_BLOCK_PAGES - END_PAGES;

	/* Streams before do not excuse for ever. */
	if (!end && s->score < 0)
		s->score = 0;
	add_score(s, end ? SCORE_END : 1);
}

void hz_scatter_single(struct hz_scatter *s, uint32_t blocks)
{
	uint32_t passes = hz_max(2 * blocks, STREAMED_LEAST);

	if (s->singles < passes * STREAM_SINGLES)
		s->singles++;
}

void hz_scatter_streamed(struct hz_scatter *s)
{
	/* Of a range that is not scattered (any more) it tells nothing new. */
	if (!s->scattered)
		return;
	if (s->singles > STREAM_SINGLES)
		s->singles -= STREAM_SINGLES;
	else
		*s = (struct hz_scatter){0};
}

#define HOPELESS_SECONDS 10u

bool hz_hopeless(struct hz_hopeless *h, uint64_t stalled, uint64_t passed)
{
	if (stalled * 2 < passed)
		h->seconds = 0;
	else if (h->seconds < HOPELESS_SECONDS)
		h->seconds++;
	return h->seconds == HOPELESS_SECONDS;
}

/* ---- lists ---- */

/* Before anything is known of a page: it leaves. */
#define GAP_UNKNOWN  UINT8_MAX
#define BORDER_START (14 * 8 * 16)
/* Time is kept in steps of so many faults: of 4 million before it wraps. */
#define TICK_SHIFT   6u

static size_t use_at(uint32_t blocks)
{
	size_t bytes = (size_t)blocks * sizeof(struct hz_pieces);

	return hz_align_up(bytes, HZ_PAGE_SIZE);
}

size_t hz_pieces_bytes(uint32_t blocks)
{
	return use_at(blocks) + (size_t)blocks * sizeof(struct hz_page_use);
}

void hz_pieces_init(struct hz_pieces_set *s, void *mem, uint32_t blocks)
{
	memset(s, 0, sizeof(*s));
	s->of = mem;
	s->use = (struct hz_page_use *)((char *)mem + use_at(blocks));
	s->border = BORDER_START;
}

static void unlink_from(struct hz_pieces_set *s, uint32_t b)
{
	struct hz_pieces *p = &s->of[b];
	struct hz_pieces_list *l = &s->list[p->phase];

	if (p->prev)
		s->of[p->prev - 1].next = p->next;
	else
		l->head = p->next;
	if (p->next)
		s->of[p->next - 1].prev = p->prev;
	else
		l->tail = p->prev;
	l->count--;
	l->held -= p->n_held;
}

static void append(struct hz_pieces_set *s, uint32_t b,
		   enum hz_pieces_phase phase)
{
	struct hz_pieces *p = &s->of[b];
	struct hz_pieces_list *l = &s->list[phase];

	p->phase = (uint8_t)phase;
	p->prev = l->tail;
	p->next = 0;
	if (l->tail)
		s->of[l->tail - 1].next = b + 1;
	else
		l->head = b + 1;
	l->tail = b + 1;
	l->count++;
	l->held += p->n_held;
}

void hz_pieces_enter_again(struct hz_pieces_set *s, uint32_t b)
{
	struct hz_pieces *p = &s->of[b];

	*p = (struct hz_pieces){
		.whole = HZ_NONE, .zero = p->zero, .known = true};
	append(s, b, HZ_PIECES_MAPPED);
	for (unsigned i = 0; i < HZ_BLOCK_PAGES; i++)
		s->use[b].since[i] = (uint16_t)(s->tick >> TICK_SHIFT);
}

void hz_pieces_enter(struct hz_pieces_set *s, uint32_t b)
{
	struct hz_pieces *p = &s->of[b];

	memset(s->use[b].gap, GAP_UNKNOWN, sizeof(s->use[b].gap));
	memset(&p->zero, 0, sizeof(p->zero));
	hz_pieces_enter_again(s, b);
	p->known = false;
}

void hz_pieces_leave(struct hz_pieces_set *s, uint32_t b)
{
	unlink_from(s, b);
	s->here -= s->of[b].n_here;
	s->of[b].phase = HZ_PIECES_NONE;
}

void hz_pieces_phase(struct hz_pieces_set *s, uint32_t b,
		     enum hz_pieces_phase to)
{
	unlink_from(s, b);
	append(s, b, to);
}

/* Set or clear a run of a map that may have some of it so already. Returns
 * by how many bits the map changed. */
static unsigned change(struct hz_page_map *m, unsigned first, unsigned n,
		       bool set)
{
	unsigned changed = 0;

	for (unsigned i = first; i < first + n; i++)
		changed += hz_pmap_has(m, i) != set;
	hz_pmap_fill(m, first, n, set);
	return changed;
}

void hz_pieces_here(struct hz_pieces_set *s, uint32_t b, unsigned first,
		    unsigned n, bool here)
{
	struct hz_pieces *p = &s->of[b];
	unsigned changed = change(&p->here, first, n, here);

	p->n_here = (uint16_t)(here ? p->n_here + changed :
				      p->n_here - changed);
	s->here = here ? s->here + changed : s->here - changed;
	if (p->phase == HZ_PIECES_AWAY && p->n_here)
		hz_pieces_phase(s, b, HZ_PIECES_MAPPED);
}

void hz_pieces_held(struct hz_pieces_set *s, uint32_t b, unsigned first,
		    unsigned n, bool held)
{
	struct hz_pieces *p = &s->of[b];
	struct hz_pieces_list *l = &s->list[p->phase];
	unsigned changed = change(&p->held, first, n, held);

	p->n_held = (uint16_t)(held ? p->n_held + changed :
				      p->n_held - changed);
	l->held = held ? l->held + changed : l->held - changed;
}

/* ---- how much ---- */

/* Pages of the largest piece; so many pieces in a row are a stream. */
#define SPAN_MOST   16u
#define SPAN_STREAM 6u
/* Pages that a stream may skip. */
#define SPAN_GAP    2u

/* The last piece may have come in part only, and what is mapped already is
 * passed without a fault. */
static bool continues(const struct hz_pieces *p, const struct hz_run *r,
		      unsigned page)
{
	return r->count && page + r->size > r->next &&
	       page <= hz_pmap_next(&p->here, r->next, false) + SPAN_GAP;
}

/* The stream that `page` continues, or else a new one; moved to the front. */
static struct hz_run *run_of(struct hz_pieces *p, unsigned page)
{
	struct hz_run r = {0};
	unsigned i = 0;

	while (i < HZ_RUNS && !continues(p, &p->run[i], page))
		i++;
	if (i < HZ_RUNS)
		r = p->run[i];
	memmove(&p->run[1], &p->run[0],
		hz_min(i, HZ_RUNS - 1) * sizeof(p->run[0]));
	p->run[0] = r;
	return &p->run[0];
}

unsigned hz_pieces_span(struct hz_pieces *p, unsigned page)
{
	struct hz_run *r = run_of(p, page);
	unsigned n = r->count ? hz_min(2u * r->size, SPAN_MOST) : 1;

	n = hz_min(n, HZ_BLOCK_PAGES - page);
	r->count = (uint8_t)hz_min(r->count + 1u, 255u);
	r->size = (uint8_t)n;
	r->next = (uint16_t)(page + n);
	return r->count < SPAN_STREAM ? n : HZ_BLOCK_PAGES;
}

/* ---- the clock ---- */

/* Blocks passed over in one search. */
#define PICK_TRIES 64u
/* To move a block's pages costs as much as some dozen of them (0.1 ms, Linux
 * 6.18): one with fewer waits, unless the search finds no better. */
#define PICK_FEW   24u
/* What is staged under pressure: so much of what is mapped in pieces, or of
 * the budget, while most of it is still in whole blocks. */
#define STAGED_SHARE 16u
#define STAGED_ALL   32u
uint32_t hz_pieces_pick(struct hz_pieces_set *s)
{
	const struct hz_pieces_list *l = &s->list[HZ_PIECES_MAPPED];
	uint32_t few = HZ_NONE, hot = HZ_NONE;

	for (unsigned i = 0; i < PICK_TRIES && i < l->count; i++) {
		uint32_t b = l->head - 1;
		struct hz_pieces *p = &s->of[b];

		hz_pieces_phase(s, b, HZ_PIECES_MAPPED);
		if (!p->n_here || !hz_pmap_empty(&p->reading) ||
		    p->whole != HZ_NONE)
			continue;
		if (p->skip) {
			p->skip--;
			if (hot == HZ_NONE || p->skip < s->of[hot].skip)
				hot = b;
			continue;
		}
		if (p->n_here >= PICK_FEW)
			return b;
		if (few == HZ_NONE || p->n_here > s->of[few].n_here)
			few = b;
	}
	return few != HZ_NONE ? few : hot;
}

/* Out of so many pages all but one came back: to look again soon costs more
 * faults than it finds cold pages. */
#define HOT_SHARE 8u
#define REST_MOST 31u

void hz_pieces_stayed(struct hz_pieces_set *s, uint32_t b)
{
	struct hz_pieces *p = &s->of[b];
	bool hot = p->n_held * HOT_SHARE <= hz_pmap_count(&p->frame);

	p->rest = (uint8_t)(hot ? hz_min(2u * p->rest + 1u, REST_MOST) :
				  p->rest / 2u);
	p->skip = p->rest;
}

bool hz_pieces_sampling(const struct hz_pieces_set *s, uint64_t all,
			bool waiting)
{
	uint64_t most = hz_max(s->here / STAGED_SHARE, all / STAGED_ALL);

	return s->list[HZ_PIECES_STAGED].held < (waiting ? most / 2 : most);
}

/* ---- which pages ---- */

/* 8 * log2 of the faults since then. */
static uint8_t gap_since(const struct hz_pieces_set *s, uint16_t since)
{
	uint16_t steps = (uint16_t)((s->tick >> TICK_SHIFT) - since);
	uint32_t n = ((uint32_t)steps << TICK_SHIFT) + (1u << TICK_SHIFT) / 2;
	unsigned log = 31u - (unsigned)__builtin_clz(n);

	return (uint8_t)(8 * log + ((n << 3 >> log) & 7));
}

static void average(uint8_t *gap, unsigned now)
{
	*gap = (uint8_t)(*gap == GAP_UNKNOWN ? now : (3u * *gap + now) / 4);
}

void hz_pieces_used(struct hz_pieces_set *s, uint32_t b, unsigned first,
		    unsigned n)
{
	struct hz_page_use *u = &s->use[b];

	s->tick++;
	for (unsigned i = first; i < first + n; i++)
		average(&u->gap[i], gap_since(s, u->since[i]));
}

void hz_pieces_unmapped(struct hz_pieces_set *s, uint32_t b)
{
	const struct hz_page_map *here = &s->of[b].here;
	unsigned i = hz_pmap_next(here, 0, true);

	for (; i < HZ_BLOCK_PAGES; i = hz_pmap_next(here, i + 1, true))
		s->use[b].since[i] = (uint16_t)(s->tick >> TICK_SHIFT);
}

/* How fast the border moves: an eighth of a doubling in so many stays. */
#define BORDER_STEP (16u / 2)
#define BORDER_MOST (UINT8_MAX * 16u)
/* A page that was not used ages: what its gap is at least, and a little. */
#define AGE_MORE    16u
#define AGE_STEP    1u

static void grow_old(struct hz_pieces_set *s, struct hz_page_use *u, unsigned i)
{
	unsigned least = gap_since(s, u->since[i]) + AGE_MORE;
	unsigned gap = u->gap[i] + AGE_STEP;

	if (least > gap)
		gap = (7 * gap + least) / 8;
	u->gap[i] = (uint8_t)hz_min(gap, GAP_UNKNOWN - 1u);
}

struct hz_page_map hz_pieces_keep(struct hz_pieces_set *s, uint32_t b,
				  unsigned most)
{
	const struct hz_pieces *p = &s->of[b];
	struct hz_page_use *u = &s->use[b];
	struct hz_page_map keep = {{0}};
	unsigned n = 0, i = hz_pmap_next(&p->held, 0, true);

	for (; i < HZ_BLOCK_PAGES && n < most;
	     i = hz_pmap_next(&p->held, i + 1, true)) {
		if (u->gap[i] * 16u >= s->border)
			continue;
		grow_old(s, u, i);
		hz_pmap_add(&keep, i);
		n++;
	}
	if (2 * n > p->n_held && s->border > BORDER_STEP)
		s->border -= BORDER_STEP;
	else if (s->border < BORDER_MOST)
		s->border += BORDER_STEP;
	return keep;
}

/* ---- who gives ---- */

#define HALVE_NS 1000000000ull

static void halve(struct hz_share *s, uint64_t now)
{
	while (now - s->since >= HALVE_NS) {
		s->stall[0] /= 2;
		s->stall[1] /= 2;
		s->since = s->stall[0] || s->stall[1] ? s->since + HALVE_NS :
							now;
	}
}

void hz_share_stall(struct hz_share *s, enum hz_share_class c, uint64_t ns,
		    uint64_t now)
{
	halve(s, now);
	s->stall[c] += ns;
	s->sum[c] += ns;
}

enum hz_share_class hz_share_gives(const struct hz_share *s,
				   enum hz_share_class asks, uint64_t blocks,
				   uint64_t pieces)
{
	enum hz_share_class other = !asks;
	uint64_t size[2] = {blocks, pieces};
	/* Stall a page of memory, multiplied out. */
	double mine = (double)s->stall[asks] * (double)size[other];
	double theirs = (double)s->stall[other] * (double)size[asks];

	if (!size[other])
		return asks;
	if (!size[asks])
		return other;
	/* A quarter more, so that nothing swings. */
	return theirs * 1.25 < mine ? other : asks;
}
