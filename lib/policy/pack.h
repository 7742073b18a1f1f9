/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of which little is not zero, in an eighth of its size. Tables that are
 * used row by row have such pages: of a row of 400 bytes that was written, a
 * page has 25 words of 16 bytes, and the rest is as it came from the kernel.
 *
 * A pack is a bit for each word of 16 bytes of the page, which are not zero,
 * and these words.
 *
 * Pure functions.
 */
#ifndef HZ_POLICY_PACK_H
#define HZ_POLICY_PACK_H

#include <stdbool.h>
#include "base/util.h"

#define HZ_PACK_SIZE  ((size_t)512)
#define HZ_PACK_WORD  16u
#define HZ_PACK_WORDS (HZ_PAGE_SIZE / HZ_PACK_WORD)
/* So many fit. */
#define HZ_PACK_MOST  ((HZ_PACK_SIZE - HZ_PACK_WORDS / 8) / HZ_PACK_WORD)

/* Both of 16 bytes' alignment, here and below. */
bool hz_pack_fits(const void *page);
/* One that fits. What of the pack is not needed is left alone. */
void hz_pack(const void *page, void *pack);
/* Of what is no pack some page comes of it, too. */
void hz_unpack(const void *pack, void *page);

#endif
