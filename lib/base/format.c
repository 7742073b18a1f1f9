/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formatter behind every message: the letters that log.h lists, into a
 * fixed buffer, without a call that could allocate or lock.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* strerrordesc_np */
#endif
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include "base/log.h"

struct out {
	char *buf;
	size_t len;  /* of buf */
	size_t want; /* bytes of the whole text */
};

/* Length modifiers. */
enum size { SIZE_INT, SIZE_LONG, SIZE_LLONG, SIZE_SIZE };

static void put(struct out *o, char c)
{
	if (o->want + 1 < o->len)
		o->buf[o->want] = c;
	o->want++;
}

static void put_text(struct out *o, const char *s)
{
	for (s = s ? s : "(null)"; *s; s++)
		put(o, *s);
}

static void put_unsigned(struct out *o, uint64_t v, unsigned base)
{
	char digits[24];
	unsigned n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	while (n)
		put(o, digits[--n]);
}

static void put_signed(struct out *o, int64_t v)
{
	if (v < 0)
		put(o, '-');
	put_unsigned(o, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10);
}

/* -ENOENT and ENOENT alike. */
static void put_error(struct out *o, int err)
{
	const char *text = strerrordesc_np(err < 0 ? -err : err);

	if (text) {
		put_text(o, text);
		return;
	}
	put_text(o, "error ");
	put_signed(o, err);
}

/* At most one decimal, rounded; none where the value is whole. */
static void put_bytes(struct out *o, uint64_t bytes)
{
	static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
					    "TiB", "PiB", "EiB"};
	uint64_t tenths = 0, unit;
	unsigned i = 0;

	while (i < 6 && bytes >> (10 * i) >= 1024)
		i++;
	for (;; i++) {
		unit = (uint64_t)1 << (10 * i);
		tenths = bytes / unit * 10 +
			 (bytes % unit * 10 + unit / 2) / unit;
		if (tenths < 10240 || i == 6)
			break; /* 1023.96 KiB is "1 MiB" */
	}
	put_unsigned(o, tenths / 10, 10);
	if (tenths % 10) {
		put(o, '.');
		put_unsigned(o, tenths % 10, 10);
	}
	put(o, ' ');
	put_text(o, units[i]);
}

static const char *parse_size_letters(const char *f, enum size *size)
{
	*size = SIZE_INT;
	if (*f == 'z') {
		*size = SIZE_SIZE;
		return f + 1;
	}
	for (; *f == 'l' && *size < SIZE_LLONG; f++)
		(*size)++;
	return f;
}

/* A va_list behind a pointer, so that the helpers advance one and the same. */
struct args {
	va_list ap;
};

static int64_t next_signed(struct args *a, enum size size)
{
	switch (size) {
	case SIZE_INT:
		return va_arg(a->ap, int);
	case SIZE_LONG:
		return va_arg(a->ap, long);
	case SIZE_LLONG:
		return va_arg(a->ap, long long);
	case SIZE_SIZE:
		break;
	}
	return va_arg(a->ap, ssize_t);
}

static uint64_t next_unsigned(struct args *a, enum size size)
{
	return size == SIZE_INT ? va_arg(a->ap, unsigned)
				: (uint64_t)next_signed(a, size);
}

/* The letters that take no length. False where c is none of them. */
static bool put_plain(struct out *o, char c, struct args *a)
{
	switch (c) {
	case 's':
		put_text(o, va_arg(a->ap, const char *));
		return true;
	case 'c':
		put(o, (char)va_arg(a->ap, int));
		return true;
	case 'p':
		put_text(o, "0x");
		put_unsigned(o, (uintptr_t)va_arg(a->ap, void *), 16);
		return true;
	case 'm':
		put_error(o, va_arg(a->ap, int));
		return true;
	case 'B':
		put_bytes(o, va_arg(a->ap, uint64_t));
		return true;
	case '%':
		put(o, '%');
		return true;
	}
	return false;
}

/* `f` stands after the '%'. Returns what follows the conversion; what is not
 * known is printed as it stands and takes no argument. */
static const char *convert(struct out *o, const char *f, struct args *a)
{
	enum size size;
	const char *letter = parse_size_letters(f, &size);

	if (*letter == 'd') {
		put_signed(o, next_signed(a, size));
	} else if (*letter == 'u' || *letter == 'x') {
		put_unsigned(o, next_unsigned(a, size),
			     *letter == 'x' ? 16 : 10);
	} else if (letter != f || !put_plain(o, *f, a)) {
		put(o, '%');
		return f;
	}
	return letter + 1;
}

int hz_vformat(char *buf, size_t len, const char *fmt, va_list ap)
{
	struct out o = {.buf = buf, .len = len};
	struct args a;

	va_copy(a.ap, ap);
	while (*fmt) {
		if (*fmt == '%')
			fmt = convert(&o, fmt + 1, &a);
		else
			put(&o, *fmt++);
	}
	va_end(a.ap);
	if (len)
		buf[o.want < len ? o.want : len - 1] = '\0';
	return (int)o.want;
}

int hz_format(char *buf, size_t len, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = hz_vformat(buf, len, fmt, ap);
	va_end(ap);
	return n;
}
