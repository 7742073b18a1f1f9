/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of knobs as data, the values in force, and the one place where a
 * value is checked and set, whatever its source.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/util.h"

/* Only an ENUM has words, and only its HZ_WORDS_<name> exists. */
#define WORDS_BOOL(name_)   NULL
#define WORDS_INT(name_)    NULL
#define WORDS_SIZE(name_)   NULL
#define WORDS_STRING(name_) NULL
#define WORDS_ENUM(name_)   HZ_WORDS_##name_

#define HZ_KNOB(name_, type_, def_, min_, max_, text_)      \
	{                                                   \
		.name = #name_,                             \
		.type = HZ_KNOB_##type_,                    \
		.def = (def_),                              \
		.min = (min_),                              \
		.max = (max_),                              \
		.words = WORDS_##type_(name_),              \
		.text = (text_),                            \
		.offset = offsetof(struct hz_knobs, name_), \
	},
const struct hz_knob_row hz_knob_rows[] = {
#include "base/knobs.def"
};
#undef HZ_KNOB

#define ROWS hz_array_len(hz_knob_rows)
const unsigned hz_knob_count = ROWS;

struct hz_knobs hz_knobs;

static const char built_in[] = "built-in";

/* Beside each row, what it was last set by. A path that does not fit is cut
 * at its beginning by the loader. */
static char sources[ROWS][160];
static bool have_defaults;

/* A value of any type, on its way from text into hz_knobs. */
union value {
	int64_t number;
	struct hz_size size;
	hz_knob_STRING string;
};

/* A value in a message, cut so that the rest of the message is seen. */
struct clip {
	char text[80];
};

static struct clip clip(const char *value)
{
	struct clip c;

	if (hz_format(c.text, sizeof(c.text), "%s", value) >=
	    (int)sizeof(c.text))
		memcpy(c.text + sizeof(c.text) - 4, "...", 4);
	return c;
}

void hz_knob_say(hz_knob_complain *complain, void *arg, const char *fmt, ...)
{
	char message[1024];
	va_list ap;

	if (!complain)
		return;
	va_start(ap, fmt);
	hz_vformat(message, sizeof(message), fmt, ap);
	va_end(ap);
	/* One line, whatever a variable of the environment holds. */
	for (char *p = message; *p; p++)
		if ((unsigned char)*p < ' ' || *p == '\177')
			*p = '?';
	complain(arg, message);
}

static const struct hz_knob_row *find(const char *name)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (!strcmp(hz_knob_rows[i].name, name))
			return &hz_knob_rows[i];
	return NULL;
}

static const char *nearest(const char *name)
{
	const char *best = hz_knob_rows[0].name;

	for (unsigned i = 1; i < ROWS; i++)
		if (hz_typos(name, hz_knob_rows[i].name) < hz_typos(name, best))
			best = hz_knob_rows[i].name;
	return best;
}

/* Does the source say the name itself, as HORIZON_RAM and --store-size do? */
static bool says_name(const char *source, const char *name)
{
	if (!strncmp(source, "HORIZON_", 8))
		return true;
	if (strncmp(source, "--", 2))
		return false;
	for (source += 2; *source && *name; source++, name++)
		if (*source != *name && !(*source == '-' && *name == '_'))
			return false;
	return !*source && !*name;
}

/* Who is told about a value, and how its place is called. */
struct place {
	const struct hz_knob_row *row;
	const char *value;
	char prefix[256];
	hz_knob_complain *complain;
	void *arg;
};

#define say(p_, fmt_, ...)                                                \
	hz_knob_say((p_)->complain, (p_)->arg, "%s: " fmt_, (p_)->prefix, \
		    __VA_ARGS__)

static int not_a(const struct place *p, const char *what)
{
	say(p, "'%s' is not %s", clip(p->value).text, what);
	return -EINVAL;
}

/* The bounds as the user would write them. */
static void bound_text(const struct hz_knob_row *row, int64_t bound, char *buf,
		       size_t len)
{
	if (row->type == HZ_KNOB_SIZE)
		hz_print_size(buf, len,
			      (struct hz_size){.bytes = (uint64_t)bound});
	else
		hz_format(buf, len, "%lld", (long long)bound);
}

static int outside(const struct place *p, bool above)
{
	char min[32], max[32];

	bound_text(p->row, p->row->min, min, sizeof(min));
	bound_text(p->row, p->row->max, max, sizeof(max));
	if (p->row->max == INT64_MAX && !above)
		say(p, "%s is below the minimum %s", clip(p->value).text, min);
	else
		say(p, "%s is %s %s (%s to %s)", clip(p->value).text,
		    above ? "above the maximum" : "below the minimum",
		    above ? max : min, min, max);
	return -ERANGE;
}

static int set_bool(const struct place *p, union value *v)
{
	if (hz_parse_bool(p->value, &v->number))
		return not_a(p, "a switch (0, 1, off, on, no, yes, false or "
				"true)");
	return 0;
}

static int set_int(const struct place *p, union value *v)
{
	int err = hz_parse_int(p->value, &v->number);

	if (err == -EINVAL)
		return not_a(p, "a whole number");
	if (err)
		return outside(p, *p->value != '-');
	if (v->number < p->row->min || v->number > p->row->max)
		return outside(p, v->number > p->row->max);
	return 0;
}

/* The sentence of the table says what a percentage is of. Where it says
 * nothing there is no whole to take it of. */
static bool takes_percent(const struct hz_knob_row *row)
{
	return strstr(row->text, "percentage") != NULL;
}

static int not_a_size(const struct place *p)
{
	char what[80];

	hz_format(what, sizeof(what), "a size (bytes with K, M, G or T%s%s)",
		  takes_percent(p->row) ? ", or N%" : "",
		  strcmp(p->row->def, "auto") ? "" : ", or auto");
	return not_a(p, what);
}

static int set_size(const struct place *p, union value *v)
{
	bool is_percent = strchr(p->value, '%') != NULL;
	int err = 0;

	if (!strcmp(p->value, "auto") && !strcmp(p->row->def, "auto"))
		v->size = (struct hz_size){.bytes = HZ_SIZE_AUTO};
	else
		err = hz_parse_size(p->value, &v->size);
	if (err == -EINVAL || (is_percent && !takes_percent(p->row)))
		return not_a_size(p);
	if (is_percent) {
		if (err)
			say(p, "%s is outside 1%% to 100%%",
			    clip(p->value).text);
		return err;
	}
	if (err)
		return outside(p, true);
	if (v->size.bytes == HZ_SIZE_AUTO)
		return 0;
	if (v->size.bytes < (uint64_t)p->row->min ||
	    v->size.bytes > (uint64_t)p->row->max)
		return outside(p, v->size.bytes > (uint64_t)p->row->max);
	return 0;
}

static int set_string(const struct place *p, union value *v)
{
	size_t n = strlen(p->value);

	if (n >= sizeof(v->string)) {
		say(p, "'%s' is longer than %zu bytes", clip(p->value).text,
		    sizeof(v->string) - 1);
		return -ERANGE;
	}
	memset(v->string, 0, sizeof(v->string));
	memcpy(v->string, p->value, n);
	return 0;
}

static int set_enum(const struct place *p, union value *v)
{
	char what[160], word[32], best[32];
	unsigned least = UINT32_MAX;
	size_t n;
	int at = hz_parse_word(p->row->words, p->value);

	if (at >= 0) {
		v->number = at;
		return 0;
	}
	n = (size_t)hz_format(what, sizeof(what), "one of");
	for (unsigned i = 0; hz_word_at(p->row->words, i, word, sizeof(word));
	     i++) {
		unsigned typos = hz_typos(p->value, word);

		n += (size_t)hz_format(what + n, sizeof(what) - n, "%s %s",
				       i ? "," : "", word);
		if (typos < least)
			memcpy(best, word, sizeof(best));
		least = hz_min(least, typos);
	}
	hz_format(what + n, sizeof(what) - n, " (did you mean '%s'?)", best);
	return not_a(p, what);
}

static int (*const setters[])(const struct place *, union value *) = {
	[HZ_KNOB_BOOL] = set_bool, [HZ_KNOB_INT] = set_int,
	[HZ_KNOB_SIZE] = set_size, [HZ_KNOB_STRING] = set_string,
	[HZ_KNOB_ENUM] = set_enum,
};

static size_t value_bytes(const struct hz_knob_row *row)
{
	switch (row->type) {
	case HZ_KNOB_SIZE:
		return sizeof(hz_knob_SIZE);
	case HZ_KNOB_STRING:
		return sizeof(hz_knob_STRING);
	default:
		return sizeof(int64_t);
	}
}

/* Set only if it is right. */
static int set(struct place *p, const char *source)
{
	union value v;
	int err;

	memset(&v, 0, sizeof(v));
	err = setters[p->row->type](p, &v);
	if (err)
		return err;
	memcpy((char *)&hz_knobs + p->row->offset, &v, value_bytes(p->row));
	hz_format(sources[p->row - hz_knob_rows], sizeof(sources[0]), "%s",
		  source);
	return 0;
}

void hz_knobs_reset(void)
{
	have_defaults = true;
	for (unsigned i = 0; i < ROWS; i++) {
		struct place p = {.row = &hz_knob_rows[i],
				  .value = hz_knob_rows[i].def};

		set(&p, built_in);
	}
}

int hz_knob_set(const char *name, const char *value, const char *source,
		hz_knob_complain *complain, void *arg)
{
	struct place p = {.row = find(name),
			  .value = value,
			  .complain = complain,
			  .arg = arg};

	if (!have_defaults)
		hz_knobs_reset();
	if (!p.row) {
		hz_knob_say(complain, arg,
			    "%s: unknown knob '%s' (did you mean '%s'?)",
			    source, clip(name).text, nearest(name));
		return -ENOENT;
	}
	hz_format(p.prefix, sizeof(p.prefix),
		  says_name(source, name) ? "%s" : "%s: %s", source, name);
	return set(&p, source);
}

int hz_knob_set_pair(const char *pair, const char *source,
		     hz_knob_complain *complain, void *arg)
{
	char name[64];
	const char *eq = strchr(pair, '=');
	size_t n;

	if (!eq) {
		hz_knob_say(complain, arg, "%s: '%s' is not NAME=VALUE", source,
			    clip(pair).text);
		return -EINVAL;
	}
	n = hz_min((size_t)(eq - pair), sizeof(name) - 1);
	memcpy(name, pair, n);
	name[n] = '\0';
	return hz_knob_set(name, eq + 1, source, complain, arg);
}

const char *hz_knob_source(const struct hz_knob_row *row)
{
	return have_defaults ? sources[row - hz_knob_rows] : built_in;
}
