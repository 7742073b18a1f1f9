/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leftovers [again]: a table of 160 MiB that is read, and now and then changed,
 * at random or in an order that comes again; 1 for a wrong page. For
 * leftovers.sh.
 */
#include "tiered.h"

#define LEN   (160 * MIB)
#define PAGE  ((size_t)4096)
#define PAGES (LEN / PAGE)
#define TURNS 150000

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

int main(int argc, char **argv)
{
	bool again = argc > 1 && !strcmp(argv[1], "again");
	uint32_t state = 1;
	char *p;

	tiered_start();
	p = map(LEN);
	shuffle(&state);
	for (size_t i = 0; i < PAGES; i++)
		fill(p + i * PAGE, PAGE, seed_of(i));
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t i = again ? order[turn % PAGES]
				 : any_page(turn, &state);

		if (!filled(p + i * PAGE, PAGE, seed_of(i)))
			return 1;
		if (turn % 8)
			continue;
		version[i]++;
		fill(p + i * PAGE, PAGE, seed_of(i));
	}
	return tiered_end();
}
