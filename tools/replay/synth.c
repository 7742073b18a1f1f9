/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --synth: KEY=VALUE lists, and the order of a synthetic step that only tests
 * the planner. See synth.h.
 */
#include "config.h"
#include "replay/synth_int.h"

#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "replay/mem.h"

#define FIELD(name_, low_, high_)                                  \
	{                                                          \
#name_, offsetof(struct synth, name_), low_, high_ \
	}

static const struct {
	const char *name;
	size_t offset;
	uint64_t low, high;
} numbers[] = {
	FIELD(layers, 1, 100000),     FIELD(hidden, 1, 1u << 20),
	FIELD(heads, 1, 65536),	      FIELD(seq, 1, 1u << 24),
	FIELD(batch, 1, 1u << 20),    FIELD(micro, 1, 65536),
	FIELD(vocab, 1, 1u << 24),    FIELD(recompute, 0, 1),
	FIELD(tensors, 16, 1u << 22), FIELD(events, 16, 1u << 26),
	FIELD(efficiency, 1, 100),
};

static const struct {
	const char *name, *words;
	size_t offset;
} words[] = {
	{"dtype", "bf16|f32", offsetof(struct synth, f32)},
	{"optimizer", "adam|sgd", offsetof(struct synth, sgd)},
	{"place", "gpu|cpu", offsetof(struct synth, cpu)},
	{"order", "loop|random", offsetof(struct synth, random)},
};

static bool complain(const char *what, const char *key)
{
	hz_log(HZ_ERROR, "replay", "--synth: %s: %s", key, what);
	return false;
}

static bool take_number(struct synth *s, unsigned i, const char *value)
{
	char *end;
	unsigned long long v = strtoull(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || v < numbers[i].low ||
	    v > numbers[i].high)
		return complain("out of range, or not a number",
				numbers[i].name);
	*(uint64_t *)((char *)s + numbers[i].offset) = v;
	return true;
}

static bool take_word(struct synth *s, unsigned i, const char *value)
{
	const char *bar = strchr(words[i].words, '|');
	size_t len = (size_t)(bar - words[i].words);
	bool second = !strcmp(value, bar + 1);

	if (!second &&
	    (strlen(value) != len || strncmp(value, words[i].words, len)))
		return complain(words[i].words, words[i].name);
	*(bool *)((char *)s + words[i].offset) = second;
	return true;
}

static bool take_pair(struct synth *s, char *pair)
{
	char *value = strchr(pair, '=');

	if (!value)
		return complain("KEY=VALUE is wanted", pair);
	*value++ = '\0';
	for (unsigned i = 0; i < hz_array_len(numbers); i++)
		if (!strcmp(pair, numbers[i].name))
			return take_number(s, i, value);
	for (unsigned i = 0; i < hz_array_len(words); i++)
		if (!strcmp(pair, words[i].name))
			return take_word(s, i, value);
	return complain("not a key that is known", pair);
}

/* A loop over tensors, or uses in a random order: for the planner's cost. */
static struct work *make_uses(const struct synth *s)
{
	struct work *w = mem_zeroed(1, sizeof(*w));
	uint64_t state = 88172645463325252ull;

	for (uint32_t t = 0; t < s->tensors; t++)
		work_tensor(w, t, (uint64_t)1 << 20);
	for (uint64_t e = 0; e < s->events; e++) {
		uint64_t t = e % s->tensors;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (s->random)
			t = (state >> 11) % s->tensors;
		if (e % 8 == 0)
			work_kernel(w, 100000);
		work_use(w, (uint32_t)t,
			 e & 3 ? HZ_USE_READ : HZ_USE_READ | HZ_USE_WRITE);
	}
	work_finish(w, NULL);
	return w;
}

static struct work *make(struct synth *s, const char *kind)
{
	if (!strcmp(kind, "uses"))
		return make_uses(s);
	if (!strcmp(kind, "gpt")) {
		if (s->batch % s->micro) {
			complain("does not divide batch", "micro");
			return NULL;
		}
		return synth_gpt(s);
	}
	complain("neither gpt nor uses", kind);
	return NULL;
}

struct work *synth_make(const char *spec, const struct profile *profile)
{
	struct synth s = {.profile = profile,
			  .layers = 12,
			  .hidden = 768,
			  .heads = 12,
			  .seq = 1024,
			  .batch = 8,
			  .micro = 1,
			  .vocab = 50304,
			  .efficiency = 50,
			  .tensors = 10000,
			  .events = 100000};
	char *text = mem_text(spec), *rest = text;
	char *kind = strsep(&rest, ":");
	struct work *w = NULL;
	bool good = true;

	while (good && rest && *rest)
		good = take_pair(&s, strsep(&rest, ","));
	if (good)
		w = make(&s, kind);
	if (w) {
		w->name = mem_text(spec);
		w->repeats = true;
	}
	free(text);
	return w;
}
