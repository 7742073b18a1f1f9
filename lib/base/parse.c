/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to values. Everything is strict: a value is the whole text or an
 * error, since a size that is silently half read costs somebody a run.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "base/log.h"
#include "base/parse.h"
#include "base/util.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

char *hz_trim(char *text)
{
	size_t n;

	while (is_blank(*text))
		text++;
	n = strlen(text);
	while (n && is_blank(text[n - 1]))
		n--;
	text[n] = '\0';
	return text;
}

/* At least one digit at *p; *p is left behind the last. Digits after an
 * overflow are still read, so that malformed is told from too large. */
static int digits(const char **p, uint64_t *out)
{
	int err = 0;

	*out = 0;
	if (!is_digit(**p))
		return -EINVAL;
	for (; is_digit(**p); (*p)++)
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, (uint64_t)(**p - '0'), out))
			err = -ERANGE;
	return err;
}

int hz_parse_int(const char *text, int64_t *out)
{
	bool minus = *text == '-';
	const char *p = text + minus;
	uint64_t v;
	int err = digits(&p, &v);

	if (err == -EINVAL || *p)
		return -EINVAL;
	if (err || v > (uint64_t)INT64_MAX)
		return -ERANGE;
	*out = minus ? -(int64_t)v : (int64_t)v;
	return 0;
}

int hz_parse_bool(const char *text, int64_t *out)
{
	static const char *const words[] = {"0",  "1",	 "off",	  "on",
					    "no", "yes", "false", "true"};

	for (unsigned i = 0; i < hz_array_len(words); i++) {
		if (strcasecmp(text, words[i]))
			continue;
		*out = i & 1;
		return 0;
	}
	return -EINVAL;
}

bool hz_word_at(const char *words, unsigned i, char *buf, size_t len)
{
	size_t n;

	for (; i; i--) {
		words = strchr(words, '|');
		if (!words)
			return false;
		words++;
	}
	n = strcspn(words, "|");
	n = hz_min(n, len - 1);
	memcpy(buf, words, n);
	buf[n] = '\0';
	return true;
}

int hz_parse_word(const char *words, const char *text)
{
	char word[32];

	for (unsigned i = 0; hz_word_at(words, i, word, sizeof(word)); i++)
		if (!strcasecmp(word, text))
			return (int)i;
	return -EINVAL;
}

/* The shift of a unit letter, 0 for none. */
static unsigned unit_shift(char c)
{
	static const char letters[] = "KMGTkmgt";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? 10 * ((unsigned)(at - letters) % 4 + 1) : 0;
}

/* What stands behind a decimal point, in bytes of the unit that follows.
 * Beyond six digits nothing is told apart. */
static int fraction(const char **p, uint64_t *bytes)
{
	uint64_t value = 0, scale = 1;
	unsigned shift;

	if (!is_digit(**p))
		return -EINVAL;
	for (; is_digit(**p); (*p)++) {
		if (scale == 1000000)
			continue;
		value = value * 10 + (uint64_t)(**p - '0');
		scale *= 10;
	}
	shift = unit_shift(**p);
	if (!shift)
		return -EINVAL; /* no part of a byte, no part of a percent */
	*bytes = (value << shift) / scale;
	return 0;
}

static int percent(uint64_t value, int err, struct hz_size *out)
{
	if (err || value < 1 || value > 100)
		return -ERANGE;
	*out = (struct hz_size){.percent = (uint32_t)value};
	return 0;
}

int hz_parse_size(const char *text, struct hz_size *out)
{
	const char *p = text;
	uint64_t value, part = 0;
	unsigned shift;
	int err = digits(&p, &value);

	if (err == -EINVAL)
		return err;
	if (!strcmp(p, "%"))
		return percent(value, err, out);
	if (*p == '.') {
		p++;
		if (fraction(&p, &part))
			return -EINVAL;
	}
	shift = unit_shift(*p);
	if (shift)
		p++;
	if (*p)
		return -EINVAL;
	/* the largest value is HZ_SIZE_AUTO, no size */
	if (err || value > (UINT64_MAX - 1) >> shift ||
	    __builtin_add_overflow(value << shift, part, &value) ||
	    value == HZ_SIZE_AUTO)
		return -ERANGE;
	*out = (struct hz_size){.bytes = value};
	return 0;
}

uint64_t hz_size_resolve(struct hz_size size, uint64_t whole)
{
	if (!size.percent)
		return size.bytes;
	return whole / 100 * size.percent + whole % 100 * size.percent / 100;
}

#define NAME_BYTES 63

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Distances between the beginnings of the names, three rows at a time: a
 * swap looks two rows back. */
unsigned hz_typos(const char *a, const char *b)
{
	unsigned rows[3][NAME_BYTES + 1];
	unsigned n = (unsigned)strnlen(b, NAME_BYTES);
	unsigned m = (unsigned)strnlen(a, NAME_BYTES);

	for (unsigned j = 0; j <= n; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= m; i++) {
		const unsigned *up = rows[(i - 1) % 3];
		const unsigned *two = rows[(i + 1) % 3];
		unsigned *row = rows[i % 3];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned d = up[j - 1] + !same(a[i - 1], b[j - 1]);

			d = hz_min(d, up[j] + 1);
			d = hz_min(d, row[j - 1] + 1);
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
			    same(a[i - 2], b[j - 1]))
				d = hz_min(d, two[j - 2] + 1);
			row[j] = d;
		}
	}
	return rows[m % 3][n];
}
