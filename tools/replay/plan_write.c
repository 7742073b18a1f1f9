/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --write-plan: hot and cold, a line for each tensor.
 */
#include "config.h"
#include "replay/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/log.h"
#include "replay/follow.h"
#include "replay/mem.h"

/* Of a tensor, over its gaps. */
struct about {
	uint64_t evict, store;
	uint32_t uses, gaps, emptied;
};

/* A tensor that leaves whenever it is not used is the host's. */
static const char *class_of(const struct about *a)
{
	if (!a->evict)
		return "resident";
	return a->emptied == a->gaps ? "host_only" : "offloadable";
}

static void gather(struct about *about, const struct hz_step *s,
		   const struct hz_gap *gap)
{
	for (uint32_t u = 0; u < s->first[s->kernels]; u++) {
		uint32_t t = hz_use_tensor(s->use[u]);
		const struct hz_gap *g = &gap[u];
		bool open = g->next != HZ_NONE && g->closes > g->opened + 1;

		about[t].uses++;
		about[t].gaps += open;
		about[t].emptied += open && g->evict == s->bytes[t];
		about[t].evict += g->evict;
		about[t].store += g->store;
	}
}

static void print(FILE *out, const struct about *about, const struct hz_step *s)
{
	fputs("# tensor\tbytes\tclass\taccesses_per_step\t"
	      "evicted_bytes_per_step\tstore_bytes_per_step\n",
	      out);
	for (uint32_t t = 0; t < s->tensors; t++)
		fprintf(out,
			"%" PRIu32 "\t%" PRIu64 "\t%s\t%" PRIu32 "\t%" PRIu64
			"\t%" PRIu64 "\n",
			t, s->bytes[t], class_of(&about[t]), about[t].uses,
			about[t].evict, about[t].store);
}

bool plan_write(const char *path, const struct work *work,
		const struct profile *profile, enum hz_goal goal)
{
	const struct hz_step *s = &work->step;
	struct hz_plan_for machine = follow_machine(profile, goal);
	struct about *about = mem_zeroed(s->tensors, sizeof(*about));
	void *mem = mem_resize(NULL, hz_tensor_plan_bytes(s), 1);
	struct hz_tensor_plan plan;
	FILE *out = fopen(path, "we");
	bool good = out;

	if (out) {
		hz_tensor_plan_make(&plan, mem, s, &machine);
		gather(about, s, plan.gap);
		print(out, about, s);
		good = !ferror(out);
		good &= !fclose(out);
	}
	if (!good)
		hz_log(HZ_ERROR, "replay", "%s: %m", path, -errno);
	free(mem);
	free(about);
	return good;
}
