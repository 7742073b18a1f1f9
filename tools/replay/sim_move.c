/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces and where they are. See sim.h.
 */
#include "config.h"
#include "replay/sim.h"

#include "replay/sim_int.h"

uint64_t sim_dirty(const struct tensor *t)
{
	return t->vram - t->clean - t->flying[CH_OUT];
}

void sim_drop(struct sim *sim, uint32_t tensor, uint64_t bytes)
{
	struct tensor *t = &sim->tensor[tensor];

	bytes = hz_min(bytes, t->clean);
	t->vram -= bytes;
	t->clean -= bytes;
	t->ram += bytes;
	sim->vram_used -= bytes;
}

void sim_forget_copy(struct sim *sim, uint32_t tensor, uint64_t bytes)
{
	struct tensor *t = &sim->tensor[tensor];

	bytes = hz_min(bytes, t->clean);
	t->clean -= bytes;
	sim->ram_used -= bytes;
}

/* What the kernel that waits lacks, at this channel. */
static struct move demanded(const struct sim *sim, enum channel ch)
{
	const struct run *r = sim->run;
	uint64_t piece = sim->policy->serial_faults ? FAULT_BATCH : PIECE;

	if (!sim->arrived || sim->running || (ch != CH_IN && ch != CH_READ))
		return (struct move){HZ_NONE, 0};
	for (uint32_t u = r->first_use[sim->pos];
	     u < r->first_use[sim->pos + 1]; u++) {
		uint32_t id = hz_use_tensor(r->use[u]);
		const struct tensor *t = &sim->tensor[id];
		uint64_t have = ch == CH_IN ? t->ram : t->store;

		if (have)
			return (struct move){id, hz_min(have, piece)};
	}
	return (struct move){HZ_NONE, 0};
}

/* Memory where the piece goes to, or false. */
static bool take_memory(struct sim *sim, enum channel ch, struct move m,
			bool demand)
{
	switch (ch) {
	case CH_IN:
		if (sim_free_vram(sim) < m.bytes && sim->policy->room)
			sim->policy->room(sim, m.bytes,
					  demand ? HZ_NONE : m.tensor);
		if (sim_free_vram(sim) < m.bytes)
			return false;
		sim->vram_used += m.bytes;
		return true;
	case CH_READ:
		/* Who waits is served through a small buffer. */
		if (sim->policy->direct || demand) {
			sim->ram_used += m.bytes;
			sim->passing += m.bytes;
			sim->tensor[m.tensor].passing += m.bytes;
			return true;
		}
		/* fall through */
	case CH_OUT:
		if (sim_free_ram(sim) < m.bytes)
			return false;
		sim->ram_used += m.bytes;
		return true;
	default:
		if (sim->profile->store - sim->store_used < m.bytes)
			return false;
		sim->store_used += m.bytes;
		return true;
	}
}

/* Bytes that leave where they were can be sent once only. */
static void leave(struct tensor *t, enum channel ch, uint64_t bytes)
{
	if (ch == CH_IN || ch == CH_WRITE)
		t->ram -= bytes;
	else if (ch == CH_READ)
		t->store -= bytes;
	t->flying[ch] += bytes;
}

static uint64_t duration(const struct sim *sim, enum channel ch, uint64_t bytes,
			 bool demand)
{
	const struct profile *p = sim->profile;
	bool both = sim->op[ch ^ 1].busy;
	uint64_t bps = both ? p->bps_both[ch] : p->bps[ch];
	uint64_t ns = p->latency_ns[ch] +
		      (uint64_t)((double)bytes * 1e9 / (double)bps);

	if (demand && ch == CH_IN)
		ns += p->fault_ns * ((bytes + FAULT_BATCH - 1) / FAULT_BATCH);
	return ns;
}

void sim_start(struct sim *sim, enum channel ch)
{
	struct op *op = &sim->op[ch];
	struct move m;
	bool demand;

	if (op->busy || (ch >= CH_WRITE && !sim->profile->store))
		return;
	m = demanded(sim, ch);
	demand = m.tensor != HZ_NONE;
	if (!demand)
		m = sim->policy->pick(sim, ch);
	if (m.tensor == HZ_NONE || !m.bytes || !take_memory(sim, ch, m, demand))
		return;
	leave(&sim->tensor[m.tensor], ch, m.bytes);
	*op = (struct op){.busy = true,
			  .tensor = m.tensor,
			  .bytes = m.bytes,
			  .start = sim->now,
			  .end = sim->now + duration(sim, ch, m.bytes, demand)};
	sim->tally.moved[ch] += m.bytes;
	sim->tally.faults += demand && ch == CH_IN;
}

static void came_in(struct sim *sim, uint32_t id, uint64_t bytes)
{
	struct tensor *t = &sim->tensor[id];
	uint64_t passed = hz_min(bytes, t->passing);

	t->passing -= passed;
	sim->passing -= passed;
	t->vram += bytes;
	t->clean += bytes;
	if (!sim->policy->keep_copy || !sim->policy->keep_copy(sim, id))
		sim_forget_copy(sim, id, bytes);
}

/* The tensor died, or was written, on the way. */
static void stale(struct sim *sim, enum channel ch, uint64_t bytes)
{
	if (ch == CH_OUT || ch == CH_IN || ch == CH_READ)
		sim->ram_used -= bytes;
	if (ch == CH_IN)
		sim->vram_used -= bytes;
	if (ch == CH_WRITE) {
		sim->ram_used -= bytes;
		sim->store_used -= bytes;
	}
	if (ch == CH_READ)
		sim->store_used -= bytes;
}

void sim_finish(struct sim *sim, enum channel ch)
{
	struct op *op = &sim->op[ch];
	struct tensor *t = &sim->tensor[op->tensor];

	op->busy = false;
	t->flying[ch] -= op->bytes;
	if (sim->view)
		view_op(sim, ch);
	if (op->stale) {
		stale(sim, ch, op->bytes);
		return;
	}
	switch (ch) {
	case CH_OUT:
		t->clean += op->bytes;
		break;
	case CH_IN:
		came_in(sim, op->tensor, op->bytes);
		break;
	case CH_WRITE:
		t->store += op->bytes;
		sim->ram_used -= op->bytes;
		break;
	default:
		t->ram += op->bytes;
		sim->store_used -= op->bytes;
	}
}
