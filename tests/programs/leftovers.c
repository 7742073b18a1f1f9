/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of 160 MiB that is read, and now and then changed, at random; 1 for a
 * wrong page. For leftovers.sh.
 */
#include "tiered.h"

#define LEN   (160 * MIB)
#define PAGE  ((size_t)4096)
#define PAGES (LEN / PAGE)
#define TURNS 150000

int main(void)
{
	static uint8_t version[PAGES];
	uint32_t state = 1;
	char *p = map(LEN);

	tiered_start();
	for (size_t i = 0; i < PAGES; i++)
		fill(p + i * PAGE, PAGE, (unsigned)(i << 8));
	for (unsigned turn = 0; turn < TURNS; turn++) {
		/* every second one is of a tenth of them */
		size_t i = rnd(&state) % PAGES;

		if (turn & 1)
			i = i % (PAGES / 10) * 10;
		if (!filled(p + i * PAGE, PAGE,
			    (unsigned)(i << 8 | version[i])))
			return 1;
		if (turn % 8 == 0)
			fill(p + i * PAGE, PAGE,
			     (unsigned)(i << 8 | ++version[i]));
	}
	return tiered_end();
}
