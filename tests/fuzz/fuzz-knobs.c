/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers of knobs: the bytes as the text of a configuration file, as the
 * variables of an environment (a NUL between them), and as what --set is
 * given (one a line). Whatever they are, each value stays in its range, can
 * be printed and is taken back as it is printed, and what is wrong is said in
 * a line each.
 */
#include "config.h"
#include "fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/parse.h"
#include "base/util.h"

#define PREFIX	 "HORIZON_"
#define PATH	 "/fuzz.conf"
#define FILE_FD	 1000
#define VARS_MAX 64

static const uint8_t *content;
static size_t content_size, content_at;

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* ---- a file system of one file ---- */

static int open_it(const char *path, int flags, int mode)
{
	(void)flags;
	(void)mode;
	content_at = 0;
	return strcmp(path, PATH) ? -ENOENT : FILE_FD;
}

/* In pieces, as files may come. */
static ssize_t read_it(int fd, void *buf, size_t len)
{
	size_t n = hz_min(len, content_size - content_at);

	must(fd == FILE_FD);
	n = hz_min(n, (size_t)1000);
	if (n)
		memcpy(buf, content + content_at, n);
	content_at += n;
	return (ssize_t)n;
}

static int close_it(int fd)
{
	must(fd == FILE_FD);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	hz_os.open = open_it;
	hz_os.read = read_it;
	hz_os.close = close_it;
	return 0;
}

/* ---- what holds of every value ---- */

static bool in_range(const struct hz_knob_row *row)
{
	const void *at = (const char *)&hz_knobs + row->offset;
	int64_t n = *(const int64_t *)at;
	const struct hz_size *size = at;
	char word[32];

	switch (row->type) {
	case HZ_KNOB_SIZE:
		if (size->percent)
			return size->percent <= 100;
		if (size->bytes == HZ_SIZE_AUTO)
			return !strcmp(row->def, "auto");
		return size->bytes >= (uint64_t)row->min &&
		       size->bytes <= (uint64_t)row->max;
	case HZ_KNOB_STRING:
		return memchr(at, '\0', sizeof(hz_knob_STRING)) != NULL;
	case HZ_KNOB_ENUM:
		return n >= 0 &&
		       hz_word_at(row->words, (unsigned)n, word, sizeof(word));
	default:
		return n >= row->min && n <= row->max;
	}
}

static void unwanted(void *arg, const char *message)
{
	(void)arg;
	(void)message;
	abort();
}

static void check_values(void)
{
	for (unsigned i = 0; i < hz_knob_count; i++) {
		const struct hz_knob_row *row = &hz_knob_rows[i];
		char text[512], again[512];
		int n;

		must(in_range(row) && hz_knob_source(row));
		n = hz_knob_print(row, text, sizeof(text));
		must(n >= 0 && n < (int)sizeof(text));
		must(!hz_knob_set(row->name, text, "again", unwanted, NULL));
		hz_knob_print(row, again, sizeof(again));
		must(!strcmp(text, again));
	}
}

static void hear(void *arg, const char *message)
{
	must(*message && !strchr(message, '\n'));
	++*(int *)arg;
}

/* ---- the three ways in ---- */

static void as_file(const uint8_t *data, size_t size)
{
	static char conf[] = PREFIX "CONF=" PATH;
	char *envp[] = {conf, NULL};
	int heard = 0;

	content = data;
	content_size = size;
	must(hz_knobs_load(envp, hear, &heard) == heard);
	check_values();
}

/* The next piece of [*at, end) up to `stop`, as text of its own, with
 * `before` in front. NULL at the end. */
static char *piece(const char **at, const char *end, char stop,
		   const char *before)
{
	size_t head = strlen(before), n;
	const char *to;
	char *text;

	if (*at >= end)
		return NULL;
	to = memchr(*at, stop, (size_t)(end - *at));
	n = (size_t)((to ? to : end) - *at);
	text = malloc(head + n + 1);
	must(text);
	memcpy(text, before, head);
	memcpy(text + head, *at, n);
	text[head + n] = '\0';
	*at += n + 1;
	return text;
}

/* Each variable as it is, or as one of ours. */
static void as_environment(const char *data, size_t size)
{
	char *envp[VARS_MAX + 1] = {NULL};
	const char *at = data, *end = data + size;
	int heard = 0;

	content_size = 0;
	for (unsigned n = 0; n < VARS_MAX; n++)
		if (!(envp[n] = piece(&at, end, '\0', n % 4 ? PREFIX : "")))
			break;
	must(hz_knobs_load(envp, hear, &heard) == heard);
	for (unsigned n = 0; envp[n]; n++)
		free(envp[n]);
	check_values();
}

static void as_settings(const char *data, size_t size)
{
	const char *at = data, *end = data + size;
	char *pair;

	hz_knobs_reset();
	while ((pair = piece(&at, end, '\n', ""))) {
		int heard = 0;
		int rc = hz_knob_set_pair(pair, "--set", hear, &heard);

		must((rc < 0) == (heard == 1) && heard <= 1);
		must(!rc || rc == -ENOENT || rc == -EINVAL || rc == -ERANGE);
		free(pair);
	}
	check_values();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_file(data, size);
	as_environment((const char *)data, size);
	as_settings((const char *)data, size);
	return 0;
}
