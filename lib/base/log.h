/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-line messages on stderr: `horizon: <subsystem>: <what> (<why>)`.
 *
 * The formatter is our own: it never allocates, never takes a stdio lock and
 * makes one write(2) a line (at most 512 bytes), so it may be called from any
 * thread, from a hook and from a fork handler. It knows
 *   %s %c %d %u %ld %lu %llu %lld %zu %zd %x %lx %llx %p %%   and
 *   %m   the text of the negative errno given as an int argument
 *   %B   a uint64_t of bytes as "1.5 GiB"
 * with no widths. Anything else is printed as it stands.
 *
 * The library is silent at the default level except for errors and for the
 * one line that says that a part is off (HZ_WARN).
 */
#ifndef HZ_LOG_H
#define HZ_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum hz_log_level { HZ_ERROR, HZ_WARN, HZ_INFO, HZ_DEBUG_LOG, HZ_TRACE };

/* Set on threads that have a descriptor table of their own: stderr is then the
 * program's, reached for each message by pidfd_getfd(2) (Linux 5.6) or
 * /proc/self/fd/2, so that we never hold the program's pipe open. */
extern __thread bool hz_log_apart __attribute__((tls_model("initial-exec")));

/* Set once at start from the knob `log`. */
void hz_log_set_level(enum hz_log_level level);
bool hz_log_on(enum hz_log_level level);

void hz_log(enum hz_log_level level, const char *subsys, const char *fmt, ...);
void hz_vlog(enum hz_log_level level, const char *subsys, const char *fmt,
	     va_list ap);

/* Format into buf with the same letters; returns the bytes that the whole
 * text takes (as snprintf). */
int hz_format(char *buf, size_t len, const char *fmt, ...);
int hz_vformat(char *buf, size_t len, const char *fmt, va_list ap);

/* Say something once in this process. */
#define hz_log_once(level_, subsys_, ...)                                 \
	do {                                                              \
		static int hz_said_;                                      \
		if (!__atomic_exchange_n(&hz_said_, 1, __ATOMIC_RELAXED)) \
			hz_log(level_, subsys_, __VA_ARGS__);             \
	} while (0)

#endif
