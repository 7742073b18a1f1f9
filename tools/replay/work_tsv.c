/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace as two tables of text: T lines (tensor, bytes, weight) and K lines
 * (kernel, nanoseconds, reads, writes, name), separated by tabs. A tensor with
 * weight 0 is born and dies inside the step.
 */
#include "config.h"
#include "replay/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "replay/mem.h"

/* Ids are the file's own; beyond this one it is not such a table. */
#define TENSORS_MAX (1u << 24)

struct tsv {
	struct work *work;
	uint8_t *known; /* by tensor: 1 + weight */
	uint32_t known_max;
	const char *path;
	unsigned line;
};

static bool complain(const struct tsv *f, const char *what)
{
	hz_log(HZ_ERROR, "replay", "%s: line %u: %s", f->path, f->line, what);
	return false;
}

/* The next field of the line, ended by a tab; NULL: there is none. */
static char *field(char **at)
{
	return *at ? strsep(at, "\t") : NULL;
}

static bool number(const char *text, uint64_t max, uint64_t *out)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return !errno && !*end && *out <= max;
}

static void know(struct tsv *f, uint32_t tensor, uint8_t weight)
{
	uint32_t was = f->known_max;

	if (tensor >= was) {
		f->known_max = hz_max(tensor + 1, 2 * was);
		f->known = mem_resize(f->known, f->known_max, 1);
		memset(f->known + was, 0, f->known_max - was);
	}
	f->known[tensor] = (uint8_t)(1 + weight);
}

static bool tensor_line(struct tsv *f, char *at)
{
	uint64_t id, bytes, weight;

	if (!number(field(&at), TENSORS_MAX - 1, &id) ||
	    !number(field(&at), INT64_MAX >> 16, &bytes) ||
	    !number(field(&at), 1, &weight))
		return complain(f, "not a tensor, its bytes, and 0 or 1");
	if (id < f->known_max && f->known[id])
		return complain(f, "a tensor that has a T line already");
	work_tensor(f->work, (uint32_t)id, bytes);
	know(f, (uint32_t)id, (uint8_t)weight);
	return true;
}

static bool uses(struct tsv *f, char *list, unsigned how)
{
	const char *one;
	uint64_t id;

	if (!*list)
		return true;
	while ((one = strsep(&list, ","))) {
		if (!number(one, TENSORS_MAX - 1, &id))
			return complain(f, "not a list of tensors");
		if (id >= f->known_max || !f->known[id])
			return complain(f, "a tensor that has no T line");
		work_use(f->work, (uint32_t)id, how);
	}
	return true;
}

static bool kernel_line(struct tsv *f, char *at)
{
	uint64_t id, ns;
	char *reads, *writes;

	if (!number(field(&at), UINT32_MAX, &id) ||
	    !number(field(&at), INT64_MAX >> 16, &ns))
		return complain(f, "not a kernel and its nanoseconds");
	reads = field(&at);
	writes = field(&at);
	if (!writes)
		return complain(f, "a kernel without reads and writes");
	work_kernel(f->work, ns);
	return uses(f, reads, HZ_USE_READ) && uses(f, writes, HZ_USE_WRITE);
}

static bool one_line(struct tsv *f, char *line)
{
	char *at = line, *kind;

	line[strcspn(line, "\r\n")] = '\0';
	if (!*line || *line == '#')
		return true;
	kind = field(&at);
	if (!strcmp(kind, "T"))
		return tensor_line(f, at);
	if (!strcmp(kind, "K"))
		return kernel_line(f, at);
	return complain(f, "neither T nor K");
}

/* Lines are copied: fields end where tabs were. */
static bool all_lines(struct tsv *f, const char *data, size_t size)
{
	const char *end = data + size, *next;
	char *line = NULL;
	size_t len, max = 0;
	bool good = true;

	for (; good && data < end; data = next) {
		next = memchr(data, '\n', (size_t)(end - data));
		len = (size_t)((next ? next : end) - data);
		next = next ? next + 1 : end;
		f->line++;
		if (len >= max) {
			max = 2 * len + 1;
			line = mem_resize(line, max, 1);
		}
		memcpy(line, data, len);
		line[len] = '\0';
		good = strlen(line) == len ? one_line(f, line)
					   : complain(f, "a NUL byte");
	}
	free(line);
	if (!good || f->work->step.kernels)
		return good;
	hz_log(HZ_ERROR, "replay", "%s: no kernel in it", f->path);
	return false;
}

struct work *work_parse_tsv(const char *path, const char *data, size_t size)
{
	struct tsv f = {.path = path};
	bool good;

	f.work = mem_zeroed(1, sizeof(*f.work));
	f.work->name = mem_text(path);
	f.work->repeats = true;
	good = all_lines(&f, data, size);
	if (good) {
		for (uint32_t t = 0; t < f.known_max; t++)
			f.known[t] = f.known[t] == 2;
		work_finish(f.work, f.known);
	} else {
		work_free(f.work);
	}
	free(f.known);
	return good ? f.work : NULL;
}
