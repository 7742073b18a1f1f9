/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One message, one line, one write(2) to stderr.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"

#define LINE_MAX_BYTES 512 /* newline included */

__thread bool hz_log_apart;

/* Relaxed atomic: set once at start, read everywhere. */
static int threshold = HZ_WARN;

void hz_log_set_level(enum hz_log_level level)
{
	__atomic_store_n(&threshold, (int)level, __ATOMIC_RELAXED);
}

bool hz_log_on(enum hz_log_level level)
{
	return (int)level <= __atomic_load_n(&threshold, __ATOMIC_RELAXED);
}

/* A path or a name in the message may hold anything; a line stays a line. */
static void one_line(char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			s[i] = '?';
}

/* A descriptor of the program's stderr, to be closed, or -errno. */
static int borrow_stderr(void)
{
	int self = hz_os.pidfd_open(getpid());
	int fd = self < 0 ? self : hz_os.pidfd_getfd(self, 2);

	if (self >= 0)
		hz_os.close(self);
	if (fd < 0)
		fd = hz_os.open("/proc/self/fd/2",
				O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC |
					O_NONBLOCK,
				0);
	return fd;
}

static void put_line(const char *line, size_t n)
{
	int fd = hz_log_apart ? borrow_stderr() : 2;

	if (fd < 0)
		return;
	hz_os.write(fd, line, n);
	if (fd != 2)
		hz_os.close(fd);
}

void hz_vlog(enum hz_log_level level, const char *subsys, const char *fmt,
	     va_list ap)
{
	char line[LINE_MAX_BYTES + 1];
	int saved = errno;
	size_t room = LINE_MAX_BYTES, n;

	if (!hz_log_on(level))
		return;
	/* room for the text, its NUL standing where the newline goes */
	n = (size_t)hz_format(line, room, "horizon: %s: ", subsys);
	if (n < room)
		n += (size_t)hz_vformat(line + n, room - n, fmt, ap);
	if (n >= room) {
		n = room - 1;
		memcpy(line + n - 3, "...", 3);
	}
	one_line(line, n);
	line[n++] = '\n';
	put_line(line, n);
	errno = saved;
}

void hz_log(enum hz_log_level level, const char *subsys, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	hz_vlog(level, subsys, fmt, ap);
	va_end(ap);
}
