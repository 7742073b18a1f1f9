/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to numbers: each line of the input as a size, a number, a truth value
 * and a name. What is taken is compared with another way of reading it, and
 * is taken back as it is printed.
 */
#include "config.h"
#include "fuzz/fuzz.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/parse.h"
#include "base/util.h"

#define NAME_BYTES 63

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Only digits and one unit letter: what is it? False: something else, or more
 * than 64 bits. */
static bool plain_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGT";
	unsigned __int128 n = 0;
	const char *at;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		n = n * 10 + (unsigned)(*text - '0');
		if (n > UINT64_MAX)
			return false;
	}
	at = *text ? strchr(units, toupper((unsigned char)*text)) : NULL;
	if (at) {
		n <<= 10 * (at - units + 1);
		text++;
	}
	*out = (uint64_t)n;
	return !*text && n < HZ_SIZE_AUTO;
}

static void check_resolved(struct hz_size s)
{
	static const uint64_t whole[] = {0, 1, 99, 1u << 30, UINT64_MAX - 1};

	for (unsigned i = 0; i < hz_array_len(whole); i++) {
		uint64_t n = hz_size_resolve(s, whole[i]);

		must(s.percent ? n <= whole[i] : n == s.bytes);
		must(s.percent != 100 || n == whole[i]);
	}
}

static void check_size(const char *text)
{
	struct hz_size s = {.bytes = 12345, .percent = 67}, again;
	int rc = hz_parse_size(text, &s);
	char printed[64];
	uint64_t n;

	if (plain_size(text, &n))
		must(!rc && !s.percent && s.bytes == n);
	if (rc) {
		must(rc == -EINVAL || rc == -ERANGE);
		must(s.bytes == 12345 && s.percent == 67);
		return;
	}
	must(s.percent <= 100 && (s.percent || s.bytes != HZ_SIZE_AUTO));
	check_resolved(s);
	must(hz_print_size(printed, sizeof(printed), s) < (int)sizeof(printed));
	must(!hz_parse_size(printed, &again));
	must(again.percent == s.percent && again.bytes == s.bytes);
}

static void check_int(const char *text)
{
	int64_t n = 77;
	int rc = hz_parse_int(text, &n);
	char *end;
	long long want;

	if (rc) {
		must(n == 77 && (rc == -EINVAL || rc == -ERANGE));
		return;
	}
	errno = 0;
	want = strtoll(text, &end, 10);
	must(!errno && !*end && want == n);
}

static void check_words(const char *text)
{
	static const char words[] = "auto|uring|threads|a|";
	int64_t truth = 5;
	char word[8];
	int i = hz_parse_word(words, text);

	must(hz_parse_bool(text, &truth) ? truth == 5 : truth == !!truth);
	must(i == -EINVAL || (i >= 0 && i <= 4));
	if (i >= 0)
		must(hz_word_at(words, (unsigned)i, word, sizeof(word)) &&
		     hz_typos(word, text) == 0);
}

static void check_typos(const char *a, const char *b)
{
	unsigned n = hz_typos(a, b);

	must(n == hz_typos(b, a) && !hz_typos(a, a));
	must(n <= hz_max(strnlen(a, NAME_BYTES), strnlen(b, NAME_BYTES)));
}

static void check_trim(char *text)
{
	static const char blanks[] = " \t\r";
	char *t = hz_trim(text);
	size_t n = strlen(t);

	must(!n || (!strchr(blanks, *t) && !strchr(blanks, t[n - 1])));
}

static void line(char *text, const char *before)
{
	check_size(text);
	check_int(text);
	check_words(text);
	check_typos(text, before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1), *text = copy, *next;
	const char *before = "min_size";

	must(copy);
	if (size)
		memcpy(copy, data, size);
	copy[size] = '\0';
	for (; text; before = text, text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		line(text, before);
	}
	check_trim(copy);
	free(copy);
	return 0;
}
