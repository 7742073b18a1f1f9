/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON emitter.
 */
#include "config.h"
#include <inttypes.h>
#include "json.h"

static void line_break(struct json *j)
{
	if (!j->pretty)
		return;
	putc('\n', j->out);
	for (unsigned i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

/* Length of the UTF-8 sequence at s, 0 where it is none. */
static unsigned utf8_len(const unsigned char *s)
{
	unsigned len = *s < 0x80                 ? 1
		       : *s >= 0xc2 && *s < 0xe0 ? 2
		       : *s >= 0xe0 && *s < 0xf0 ? 3
		       : *s >= 0xf0 && *s < 0xf5 ? 4
						 : 0;

	for (unsigned i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

/* A command's name is any bytes; what is not UTF-8 becomes U+FFFD. */
static void quoted(struct json *j, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putc('"', j->out);
	while (*s) {
		unsigned len = utf8_len(s);

		if (!len)
			fputs("\\ufffd", j->out);
		else if (*s == '"' || *s == '\\')
			fprintf(j->out, "\\%c", *s);
		else if (*s < ' ' || *s == 0x7f)
			fprintf(j->out, "\\u%04x", *s);
		else
			fwrite(s, 1, len, j->out);
		s += len ? len : 1;
	}
	putc('"', j->out);
}

static void begin(struct json *j, const char *key)
{
	if (j->filled)
		putc(',', j->out);
	if (j->depth)
		line_break(j);
	j->filled = true;
	if (!key)
		return;
	quoted(j, key);
	fputs(j->pretty ? ": " : ":", j->out);
}

void json_open(struct json *j, const char *key, char bracket)
{
	begin(j, key);
	putc(bracket, j->out);
	j->filled = false;
	j->depth++;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->filled)
		line_break(j);
	putc(bracket, j->out);
	j->filled = true;
	if (j->depth)
		return;
	putc('\n', j->out); /* the whole value: a line of its own */
	j->filled = false;
}

void json_string(struct json *j, const char *key, const char *value)
{
	begin(j, key);
	quoted(j, value);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	begin(j, key);
	fprintf(j->out, "%" PRIu64, value);
}

void json_seconds(struct json *j, const char *key, uint64_t nanoseconds)
{
	begin(j, key);
	fprintf(j->out, "%" PRIu64 ".%09" PRIu64, nanoseconds / 1000000000,
		nanoseconds % 1000000000);
}

void json_null(struct json *j, const char *key)
{
	begin(j, key);
	fputs("null", j->out);
}
