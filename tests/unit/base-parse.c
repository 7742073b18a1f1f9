/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to values: sizes, numbers, switches, words, and the distance between
 * two names.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "base/parse.h"
#include "base/util.h"

#define K (1ull << 10)
#define M (1ull << 20)
#define G (1ull << 30)
#define T (1ull << 40)

struct size_case {
	const char *text;
	int ret;
	uint64_t bytes;
	unsigned percent;
};

static const struct size_case sizes[] = {
	{"0", 0, 0, 0},
	{"1", 0, 1, 0},
	{"4096", 0, 4096, 0},
	{"64K", 0, 64 * K, 0},
	{"64k", 0, 64 * K, 0},
	{"64M", 0, 64 * M, 0},
	{"3g", 0, 3 * G, 0},
	{"16T", 0, 16 * T, 0},
	{"007M", 0, 7 * M, 0},
	{"1.5G", 0, 1536 * M, 0},
	{"0.5K", 0, 512, 0},
	{"1.25M", 0, M + 256 * K, 0},
	{"0.0009765625K", 0, 0, 0},
	{"2.000000000000000000000001T", 0, 2 * T, 0},
	{"1%", 0, 0, 1},
	{"80%", 0, 0, 80},
	{"100%", 0, 0, 100},
	{"0%", -ERANGE, 0, 0},
	{"101%", -ERANGE, 0, 0},
	{"99999999999999999999%", -ERANGE, 0, 0},
	{"9223372036854775807", 0, INT64_MAX, 0},
	{"18446744073709551614", 0, UINT64_MAX - 1, 0},
	{"18446744073709551615", -ERANGE, 0, 0},
	{"18446744073709551616", -ERANGE, 0, 0},
	{"16777215T", 0, 16777215 * T, 0},
	{"16777216T", -ERANGE, 0, 0},
	{"16777215.999999T", 0, 16777215 * T + (999999 * T) / 1000000, 0},
	{"99999999999999999999999999T", -ERANGE, 0, 0},
	{"", -EINVAL, 0, 0},
	{"auto", -EINVAL, 0, 0},
	{"-1", -EINVAL, 0, 0},
	{"+1", -EINVAL, 0, 0},
	{" 1K", -EINVAL, 0, 0},
	{"1K ", -EINVAL, 0, 0},
	{"1 K", -EINVAL, 0, 0},
	{"0x10", -EINVAL, 0, 0},
	{"12Q", -EINVAL, 0, 0},
	{"1KB", -EINVAL, 0, 0},
	{"K", -EINVAL, 0, 0},
	{"%", -EINVAL, 0, 0},
	{"1.5", -EINVAL, 0, 0},
	{"1.5%", -EINVAL, 0, 0},
	{"1.G", -EINVAL, 0, 0},
	{".5G", -EINVAL, 0, 0},
	{"1.5.5G", -EINVAL, 0, 0},
	{"50%%", -EINVAL, 0, 0},
	{"1e9", -EINVAL, 0, 0},
	{"99999999999999999999999999Q", -EINVAL, 0, 0},
};

Test(parse, sizes)
{
	for (unsigned i = 0; i < hz_array_len(sizes); i++) {
		const struct size_case *c = &sizes[i];
		struct hz_size got = {.bytes = 77, .percent = 7};
		int ret = hz_parse_size(c->text, &got);

		cr_expect_eq(ret, c->ret, "'%s' returns %d", c->text, ret);
		if (ret)
			cr_expect(got.bytes == 77 && got.percent == 7,
				  "'%s' changed the output", c->text);
		else
			cr_expect(got.bytes == c->bytes &&
					  got.percent == c->percent,
				  "'%s' is %lu bytes, %u %%", c->text,
				  got.bytes, got.percent);
	}
}

Test(parse, a_printed_size_is_read_back)
{
	static const struct hz_size in[] = {
		{0, 0},		 {1, 0},	 {1023, 0},	  {1024, 0},
		{1536, 0},	 {1 << 20, 0},	 {3ull << 40, 0}, {0, 80},
		{1ull << 50, 0}, {INT64_MAX, 0},
	};
	char text[32];

	for (unsigned i = 0; i < hz_array_len(in); i++) {
		struct hz_size out;

		hz_print_size(text, sizeof(text), in[i]);
		cr_expect_eq(hz_parse_size(text, &out), 0, "%s", text);
		cr_expect(out.bytes == in[i].bytes &&
				  out.percent == in[i].percent,
			  "%s", text);
	}
	hz_print_size(text, sizeof(text), (struct hz_size){.bytes = 1536 * M});
	cr_expect_str_eq(text, "1536M");
	hz_print_size(text, sizeof(text), (struct hz_size){HZ_SIZE_AUTO, 0});
	cr_expect_str_eq(text, "auto");
}

Test(parse, resolve)
{
	cr_expect_eq(hz_size_resolve((struct hz_size){0, 80}, 1000), 800);
	cr_expect_eq(hz_size_resolve((struct hz_size){0, 100}, UINT64_MAX),
		     UINT64_MAX);
	cr_expect_eq(hz_size_resolve((struct hz_size){0, 1}, 99), 0);
	cr_expect_eq(hz_size_resolve((struct hz_size){0, 50}, 199), 99);
	cr_expect_eq(hz_size_resolve((struct hz_size){5, 0}, 1000), 5);
	cr_expect_eq(hz_size_resolve((struct hz_size){HZ_SIZE_AUTO, 0}, 9),
		     HZ_SIZE_AUTO);
}

Test(parse, whole_numbers)
{
	static const struct {
		const char *text;
		int ret;
		int64_t value;
	} cases[] = {
		{"0", 0, 0},
		{"16", 0, 16},
		{"-3", 0, -3},
		{"9223372036854775807", 0, INT64_MAX},
		{"9223372036854775808", -ERANGE, 0},
		{"-9223372036854775807", 0, -INT64_MAX},
		{"99999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{"4K", -EINVAL, 0},
		{"1.0", -EINVAL, 0},
		{"0x1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
	};

	for (unsigned i = 0; i < hz_array_len(cases); i++) {
		int64_t v = 0;

		cr_expect_eq(hz_parse_int(cases[i].text, &v), cases[i].ret,
			     "'%s'", cases[i].text);
		cr_expect_eq(v, cases[i].value, "'%s'", cases[i].text);
	}
}

Test(parse, switches)
{
	static const char *const on[] = {"1", "on", "yes", "true", "ON"};
	static const char *const off[] = {"0", "off", "no", "false", "No"};
	static const char *const bad[] = {"", "2", "o", "onn", "maybe", " 1"};
	int64_t v;

	for (unsigned i = 0; i < hz_array_len(on); i++) {
		v = 0;
		cr_expect(!hz_parse_bool(on[i], &v) && v == 1, "%s", on[i]);
	}
	for (unsigned i = 0; i < hz_array_len(off); i++) {
		v = 1;
		cr_expect(!hz_parse_bool(off[i], &v) && v == 0, "%s", off[i]);
	}
	for (unsigned i = 0; i < hz_array_len(bad); i++)
		cr_expect_eq(hz_parse_bool(bad[i], &v), -EINVAL, "%s", bad[i]);
}

Test(parse, words)
{
	char word[4];

	cr_expect_eq(hz_parse_word("auto|move|off", "auto"), 0);
	cr_expect_eq(hz_parse_word("auto|move|off", "off"), 2);
	cr_expect_eq(hz_parse_word("auto|move|off", "mov"), -EINVAL);
	cr_expect_eq(hz_parse_word("auto|move|off", "auto|move"), -EINVAL);
	cr_expect_eq(hz_parse_word("auto|move|off", ""), -EINVAL);
	cr_expect(hz_word_at("auto|move|off", 1, word, sizeof(word)));
	cr_expect_str_eq(word, "mov"); /* cut to the buffer */
	cr_expect_not(hz_word_at("auto|move|off", 3, word, sizeof(word)));
}

Test(parse, typos)
{
	cr_expect_eq(hz_typos("ram", "ram"), 0);
	cr_expect_eq(hz_typos("rma", "ram"), 1); /* a swap */
	cr_expect_eq(hz_typos("RAM", "ram"), 0);
	cr_expect_eq(hz_typos("", "ram"), 3);
	cr_expect_eq(hz_typos("ram", ""), 3);
	cr_expect_eq(hz_typos("kitten", "sitting"), 3);
	cr_expect_eq(hz_typos("store-size", "store_size"), 1);
}

Test(parse, trim)
{
	char a[] = " \t ram \r", b[] = "  ", c[] = "a b";

	cr_expect_str_eq(hz_trim(a), "ram");
	cr_expect_str_eq(hz_trim(b), "");
	cr_expect_str_eq(hz_trim(c), "a b");
}
