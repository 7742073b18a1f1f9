/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formatter, letter by letter, and what the buffer's end does.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "base/log.h"
#include "base/util.h"

#define expect(want_, ...)                                                  \
	do {                                                                \
		char buf_[256];                                             \
		int n_ = hz_format(buf_, sizeof(buf_), __VA_ARGS__);        \
		cr_expect_str_eq(buf_, want_);                              \
		cr_expect_eq(n_, (int)strlen(want_), "%s is %d long", buf_, \
			     n_);                                           \
	} while (0)

Test(format, text)
{
	expect("", "");
	expect("plain", "plain");
	expect("a=b", "%s=%s", "a", "b");
	expect("(null)", "%s", (char *)NULL);
	expect("xyz", "x%cz", 'y');
	expect("100%", "100%%");
}

Test(format, integers)
{
	expect("0 -1 2147483647", "%d %d %d", 0, -1, INT_MAX);
	expect("-2147483648", "%d", INT_MIN);
	expect("4294967295", "%u", UINT_MAX);
	expect("-9223372036854775808", "%ld", LONG_MIN);
	expect("18446744073709551615", "%lu", ULONG_MAX);
	expect("-9223372036854775808", "%lld", LLONG_MIN);
	expect("18446744073709551615", "%llu", ULLONG_MAX);
	expect("7 -7", "%zu %zd", (size_t)7, (ssize_t)-7);
	expect("ff", "%x", 255);
	expect("ffffffff", "%x", UINT_MAX);
	expect("deadbeefcafe", "%lx", 0xdeadbeefcafeul);
	expect("ffffffffffffffff", "%llx", ULLONG_MAX);
	expect("0x0", "%p", (void *)NULL);
	expect("0x7f00", "%p", (void *)0x7f00);
}

Test(format, arguments_keep_their_order)
{
	expect("1 two 3 4 KiB 0x5 6", "%d %s %lu %B %p %llu", 1, "two", 3ul,
	       (uint64_t)4096, (void *)5, 6ull);
	/* more than the registers hold */
	expect("1 2 3 4 5 6 7 8 9", "%d %d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5,
	       6, 7, 8, 9);
}

Test(format, errors)
{
	expect(strerror(ENOENT), "%m", -ENOENT);
	expect(strerror(ENOENT), "%m", ENOENT);
	expect("error -9999", "%m", -9999);
}

Test(format, bytes)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0 B"},
		{1, "1 B"},
		{1023, "1023 B"},
		{1024, "1 KiB"},
		{1536, "1.5 KiB"},
		{64 << 20, "64 MiB"},
		{3ull << 29, "1.5 GiB"},
		{(1 << 20) - 1, "1 MiB"},
		{1047000, "1022.5 KiB"},
		{1ull << 40, "1 TiB"},
		{1ull << 50, "1 PiB"},
		{1ull << 60, "1 EiB"},
		{UINT64_MAX, "16 EiB"},
	};

	for (unsigned i = 0; i < hz_array_len(cases); i++)
		expect(cases[i].text, "%B", cases[i].bytes);
}

Test(format, unknown_letters_stand_and_take_no_argument)
{
	expect("%5d 1", "%5d %d", 1);
	expect("%q 1", "%q %d", 1);
	expect("%ls", "%ls");
	expect("50%", "50%");
	expect("%l", "%l");
}

Test(format, the_end_of_the_buffer)
{
	char buf[8];

	memset(buf, '#', sizeof(buf));
	cr_expect_eq(hz_format(buf, 5, "%s", "abcdefgh"), 8);
	cr_expect_str_eq(buf, "abcd");
	cr_expect_eq(buf[5], '#');

	cr_expect_eq(hz_format(buf, 1, "%d", 123), 3);
	cr_expect_str_eq(buf, "");

	memset(buf, '#', sizeof(buf));
	cr_expect_eq(hz_format(buf, 0, "%d", 123), 3);
	cr_expect_eq(buf[0], '#');

	cr_expect_eq(hz_format(buf, 4, "abc"), 3);
	cr_expect_str_eq(buf, "abc");
}
