/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and time. See sim.h.
 */
#include "config.h"
#include "replay/sim.h"

#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "replay/mem.h"
#include "replay/sim_int.h"

static const uint32_t *uses(const struct sim *sim, uint32_t *n)
{
	const struct run *r = sim->run;

	*n = r->first_use[sim->pos + 1] - r->first_use[sim->pos];
	return r->use + r->first_use[sim->pos];
}

bool sim_active(const struct sim *sim, uint32_t tensor)
{
	return sim->arrived && sim->tensor[tensor].used == sim->pos + 1ull;
}

/* Memory for a tensor that is born. All or nothing. */
static bool be_born(struct sim *sim, uint32_t tensor)
{
	struct tensor *t = &sim->tensor[tensor];

	if (sim_free_vram(sim) < t->size && sim->policy->room)
		sim->policy->room(sim, t->size, HZ_NONE);
	if (sim_free_vram(sim) < t->size) {
		sim->need += t->size;
		return false;
	}
	sim->vram_used += t->size;
	t->vram = t->size;
	t->alive = true;
	return true;
}

static void arrive(struct sim *sim)
{
	uint32_t n;
	const uint32_t *use = uses(sim, &n);

	sim->arrived = true;
	sim->waiting_since = sim->now;
	for (uint32_t i = 0; i < n; i++)
		sim->tensor[hz_use_tensor(use[i])].used = sim->pos + 1ull;
	if (sim->policy->begin)
		sim->policy->begin(sim);
}

static bool ready(struct sim *sim)
{
	uint32_t n;
	const uint32_t *use = uses(sim, &n);
	bool all = true;

	sim->need = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = hz_use_tensor(use[i]);
		struct tensor *t = &sim->tensor[id];

		if (!t->alive && !be_born(sim, id))
			all = false;
		if (t->alive && t->vram < t->size) {
			sim->need += t->size - t->vram - t->flying[CH_IN];
			all = false;
		}
	}
	return all;
}

/* Bytes that are written have no valid copy any more. */
static void written(struct sim *sim, uint32_t id)
{
	sim_forget_copy(sim, id, sim->tensor[id].clean);
	if (sim->tensor[id].flying[CH_OUT])
		sim->op[CH_OUT].stale = true;
}

/* The store's traffic of the host's own; waiting for it is a stall. */
static void host_part(struct sim *sim)
{
	const struct work *w = sim->run->work;
	uint32_t k = sim->run->kernel[sim->pos];
	uint64_t wait;

	if (!w->host_store)
		return;
	wait = hz_min(w->host_wait[k], sim->run->ns[sim->pos]);
	sim->tally.moved[CH_WRITE] += w->host_store[k];
	sim->tally.moved[CH_READ] += w->host_store[k];
	sim->tally.ideal_ns -= wait;
	sim->tally.stall_ns += wait;
}

static void start_kernel(struct sim *sim)
{
	uint32_t n;
	const uint32_t *use = uses(sim, &n);

	for (uint32_t i = 0; i < n; i++)
		if (hz_use_how(use[i]) & HZ_USE_WRITE)
			written(sim, hz_use_tensor(use[i]));
	sim->running = true;
	sim->tally.stall_ns += sim->now - sim->waiting_since;
	sim->tally.ideal_ns += sim->run->ns[sim->pos];
	host_part(sim);
	sim->kernel_end = sim->now + sim->run->ns[sim->pos];
	if (sim->view)
		view_kernel(sim);
}

static void die(struct sim *sim, uint32_t id)
{
	struct tensor *t = &sim->tensor[id];

	sim->vram_used -= t->vram;
	sim->ram_used -= t->ram + t->clean;
	sim->store_used -= t->store;
	for (unsigned c = 0; c < CHANNELS; c++)
		if (t->flying[c])
			sim->op[c].stale = true;
	t->vram = t->clean = t->ram = t->store = 0;
	t->alive = false;
}

static void end_step(struct sim *sim)
{
	struct tally *t = &sim->step[sim->steps_done];
	uint64_t before = 0;

	for (uint32_t i = 0; i < sim->steps_done; i++)
		before += sim->step[i].ns;
	*t = sim->tally;
	t->ns = sim->now - before;
	memset(&sim->tally, 0, sizeof(sim->tally));
	sim->steps_done++;
}

static void end_kernel(struct sim *sim)
{
	uint32_t n;
	const uint32_t *use = uses(sim, &n);

	sim->running = sim->arrived = false;
	if (sim->policy->end)
		sim->policy->end(sim);
	for (uint32_t i = 0; i < n && !sim->policy->no_free; i++)
		if (hz_use_how(use[i]) & HZ_USE_LAST)
			die(sim, hz_use_tensor(use[i]));
	sim->pos++;
	if (sim->pos == sim->run->step_start[sim->steps_done + 1])
		end_step(sim);
}

static uint64_t next_event(const struct sim *sim)
{
	uint64_t at = sim->running ? sim->kernel_end : UINT64_MAX;

	for (unsigned c = 0; c < CHANNELS; c++)
		if (sim->op[c].busy)
			at = hz_min(at, sim->op[c].end);
	return at;
}

static void advance(struct sim *sim, uint64_t to)
{
	sim->now = to;
	for (unsigned c = 0; c < CHANNELS; c++)
		if (sim->op[c].busy && sim->op[c].end <= to)
			sim_finish(sim, c);
	if (sim->running && sim->kernel_end <= to)
		end_kernel(sim);
}

static bool turn(struct sim *sim)
{
	uint64_t at;

	if (!sim->running) {
		if (!sim->arrived)
			arrive(sim);
		if (ready(sim))
			start_kernel(sim);
	}
	for (unsigned c = 0; c < CHANNELS; c++)
		sim_start(sim, c);
	at = next_event(sim);
	if (at == UINT64_MAX) {
		sim->stuck = "the kernel's tensors do not fit, or no tier "
			     "has room for what must leave";
		return false;
	}
	advance(sim, at);
	return true;
}

bool sim_run(struct sim *sim, const struct run *run,
	     const struct profile *profile, const struct policy *policy,
	     enum hz_goal goal, struct view *view)
{
	*sim = (struct sim){.run = run,
			    .profile = profile,
			    .policy = policy,
			    .goal = goal,
			    .view = view};
	sim->tensor = mem_zeroed(run->tensors, sizeof(*sim->tensor));
	sim->step = mem_zeroed(run->steps, sizeof(*sim->step));
	for (uint32_t t = 0; t < run->tensors; t++)
		sim->tensor[t].size = run->bytes[t];
	if (policy->init)
		policy->init(sim);
	while (sim->pos < run->n && turn(sim))
		;
	if (sim->stuck)
		hz_log(HZ_ERROR, "replay", "%s: %s: kernel %u: %s",
		       run->work->name, policy->name, sim->pos, sim->stuck);
	return !sim->stuck;
}

void sim_free(struct sim *sim)
{
	if (sim->policy->fini)
		sim->policy->fini(sim);
	free(sim->tensor);
	free(sim->step);
}
