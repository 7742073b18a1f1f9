/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers random|again|rows: a table of 160 MiB that is read, and now and
 * then changed, at random, in an order that comes again, or at random with but
 * one row of 400 bytes in each page; 1 for a wrong page. For leftovers.sh.
 */
#include "tiered.h"

#define LEN   (160 * MIB)
#define PAGE  ((size_t)4096)
#define PAGES (LEN / PAGE)
#define TURNS (rows ? 450000 : 150000)

static uint8_t version[PAGES];
static size_t order[PAGES];

static void shuffle(uint32_t *state)
{
	for (size_t i = 0; i < PAGES; i++) {
		size_t k = rnd(state) % (i + 1);

		order[i] = order[k];
		order[k] = i;
	}
}

/* Every second one is of a tenth of them. */
static size_t any_page(unsigned turn, uint32_t *state)
{
	size_t i = rnd(state) % PAGES;

	return turn & 1 ? i % (PAGES / 10) * 10 : i;
}

static unsigned seed_of(size_t page)
{
	return (unsigned)(page << 8 | version[page]);
}

static bool rows;
static size_t row = PAGE; /* bytes */

static char *row_of(char *p, size_t page)
{
	return p + page * PAGE + page * 16 % (PAGE - row + 16);
}

static void put(char *p, size_t page)
{
	fill(row_of(p, page), row, seed_of(page));
}

static bool is_good(char *p, size_t page)
{
	return filled(row_of(p, page), row, seed_of(page));
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "random";
	bool again = !strcmp(how, "again");
	uint32_t state = 1;
	char *p;

	rows = !strcmp(how, "rows");
	if (rows)
		row = 400;
	tiered_start();
	p = map(LEN);
	shuffle(&state);
	for (size_t i = 0; i < PAGES; i++)
		put(p, i);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t i = again ? order[turn % PAGES]
				 : any_page(turn, &state);

		if (!is_good(p, i))
			return 1;
		if (turn % 8)
			continue;
		version[i]++;
		put(p, i);
	}
	return tiered_end();
}
