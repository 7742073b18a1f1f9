/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reaches stderr: whole lines, one write each, of at most 512 bytes.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include "base/log.h"
#include "base/os.h"

static char seen[1024];
static int writes, last_fd;

static ssize_t record(int fd, const void *buf, size_t len)
{
	writes++;
	last_fd = fd;
	cr_assert_lt(len, sizeof(seen));
	memcpy(seen, buf, len);
	seen[len] = '\0';
	errno = EIO;
	return -EIO;
}

static void setup(void)
{
	hz_os.write = record;
}

TestSuite(log, .init = setup);

Test(log, one_write_to_stderr)
{
	hz_log(HZ_WARN, "store", "no %s (%m)", "O_DIRECT", -ENOENT);
	cr_expect_str_eq(seen, "horizon: store: no O_DIRECT (No such file or "
			       "directory)\n");
	cr_expect_eq(writes, 1);
	cr_expect_eq(last_fd, 2);
}

Test(log, level)
{
	hz_log(HZ_INFO, "x", "not said by default");
	cr_expect_eq(writes, 0);
	cr_expect_not(hz_log_on(HZ_INFO));
	cr_expect(hz_log_on(HZ_WARN));
	hz_log_set_level(HZ_DEBUG_LOG);
	hz_log(HZ_INFO, "x", "said");
	hz_log(HZ_TRACE, "x", "not said");
	cr_expect_eq(writes, 1);
	hz_log_set_level(HZ_ERROR);
	hz_log(HZ_WARN, "x", "not said");
	cr_expect_eq(writes, 1);
	hz_log(HZ_ERROR, "x", "said");
	cr_expect_eq(writes, 2);
}

Test(log, errno_is_kept)
{
	errno = EAGAIN;
	hz_log(HZ_ERROR, "x", "y");
	cr_expect_eq(errno, EAGAIN);
}

Test(log, a_long_line_is_cut)
{
	char text[900];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	hz_log(HZ_ERROR, "x", "%s", text);
	cr_expect_eq(strlen(seen), 512);
	cr_expect_str_eq(seen + 512 - 5, "a...\n");
	hz_log(HZ_ERROR, text, "y");
	cr_expect_eq(strlen(seen), 512);
	cr_expect_str_eq(seen + 512 - 5, "a...\n");
}

Test(log, the_longest_line_is_not_cut)
{
	char text[900];
	size_t n = 512 - strlen("horizon: x: \n");

	memset(text, 'a', n);
	text[n] = '\0';
	hz_log(HZ_ERROR, "x", "%s", text);
	cr_expect_eq(strlen(seen), 512);
	cr_expect_str_eq(seen + 512 - 5, "aaaa\n");
}

Test(log, a_line_stays_one_line)
{
	hz_log(HZ_ERROR, "x", "%s", "a\nb\x1b[1mc\xc3\xa4");
	cr_expect_str_eq(seen, "horizon: x: a?b?[1mc\xc3\xa4\n");
}

static void say_once(void)
{
	hz_log_once(HZ_ERROR, "x", "again %d", 1);
}

Test(log, once)
{
	say_once();
	say_once();
	cr_expect_eq(writes, 1);
}
