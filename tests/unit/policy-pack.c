/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/pack.h: what fits, and that a page comes back as it was.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/pack.h"

static _Alignas(64) unsigned char page[HZ_PAGE_SIZE], back[HZ_PAGE_SIZE];
static _Alignas(64) unsigned char pack[HZ_PACK_SIZE + 16];

static bool comes_back(void)
{
	memset(pack, 0xee, sizeof(pack));
	memset(back, 0xdd, sizeof(back));
	hz_pack(page, pack);
	for (size_t i = HZ_PACK_SIZE; i < sizeof(pack); i++)
		cr_assert_eq(pack[i], 0xee, "behind the pack");
	hz_unpack(pack, back);
	return !memcmp(page, back, sizeof(page));
}

Test(pack, zeros)
{
	memset(page, 0, sizeof(page));
	cr_assert(hz_pack_fits(page));
	cr_assert(comes_back());
	memset(pack, 0, sizeof(pack));
	hz_unpack(pack, back);
	cr_assert_arr_eq(page, back, sizeof(page), "taken by the kernel");
}

/* A row of 100 floats, wherever it begins. */
Test(pack, a_row)
{
	for (size_t at = 0; at + 400 <= sizeof(page); at += 4) {
		memset(page, 0, sizeof(page));
		memset(page + at, 7, 400);
		cr_assert(hz_pack_fits(page), "at %zu", at);
		cr_assert(comes_back(), "at %zu", at);
	}
}

Test(pack, as_much_as_fits)
{
	memset(page, 0, sizeof(page));
	for (unsigned i = 0; i < HZ_PACK_MOST; i++)
		page[i * 8 * HZ_PACK_WORD + i % HZ_PACK_WORD] = 1;
	cr_assert(hz_pack_fits(page));
	cr_assert(comes_back());
	page[sizeof(page) - 1] = 1;
	cr_assert_not(hz_pack_fits(page));
}

Test(pack, anything_that_fits)
{
	unsigned fit = 0;

	srand(5);
	for (unsigned round = 0; round < 20000; round++) {
		unsigned words = 0;
		bool is_word[HZ_PACK_WORDS] = {false};

		memset(page, 0, sizeof(page));
		for (int n = rand() % 40; n; n--) {
			unsigned at = (unsigned)rand() % sizeof(page);

			page[at] = 1 + rand() % 255;
			is_word[at / HZ_PACK_WORD] = true;
		}
		for (unsigned i = 0; i < HZ_PACK_WORDS; i++)
			words += is_word[i];
		cr_assert_eq(hz_pack_fits(page), words <= HZ_PACK_MOST);
		if (words > HZ_PACK_MOST)
			continue;
		cr_assert(comes_back());
		fit++;
	}
	cr_assert_gt(fit, 1000);
}

/* Nothing is written behind the page, or read behind the pack. */
Test(pack, what_is_no_pack)
{
	srand(6);
	for (unsigned round = 0; round < 1000; round++) {
		unsigned char *mem = malloc(HZ_PACK_SIZE);
		unsigned char *to = malloc(HZ_PAGE_SIZE);

		for (unsigned i = 0; i < HZ_PACK_SIZE; i++)
			mem[i] = (unsigned char)rand();
		hz_unpack(mem, to);
		free(mem);
		free(to);
	}
}
