/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to values and back, and what the three knob files share. No
 * allocation, no stdio, no locale.
 */
#ifndef HZ_PARSE_H
#define HZ_PARSE_H

#include "base/knobs.h"

/* Each takes the whole text: 0, -EINVAL malformed, -ERANGE does not fit. */
int hz_parse_int(const char *text, int64_t *out);
int hz_parse_bool(const char *text, int64_t *out);

/* The index of `text` in "a|b|c", or -EINVAL. */
int hz_parse_word(const char *words, const char *text);

/* The i-th of "a|b|c" into buf; false behind the last. */
bool hz_word_at(const char *words, unsigned i, char *buf, size_t len);

/* "64M", "50%", "auto": as hz_parse_size takes it, exact. Returns the length
 * as snprintf does. */
int hz_print_size(char *buf, size_t len, struct hz_size size);

/* Typing errors between two names: insertions, deletions, replacements and
 * swaps of neighbours, whatever the case. Names count up to 63 bytes. */
unsigned hz_typos(const char *a, const char *b);

/* Cut blanks off both ends, in place. */
char *hz_trim(char *text);

/* All knobs back to the table's defaults. */
void hz_knobs_reset(void);

/* One message, formatted as hz_format does, to complain (may be NULL). */
void hz_knob_say(hz_knob_complain *complain, void *arg, const char *fmt, ...);

#endif
