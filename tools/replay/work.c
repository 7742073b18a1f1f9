/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and tensors of a trace. See work.h.
 */
#include "config.h"
#include "replay/work.h"

#include <stdlib.h>
#include <string.h>

#include "replay/mem.h"

void work_kernel(struct work *w, uint64_t ns)
{
	uint32_t k = w->step.kernels++;

	if (k + 1 >= w->kernels_max) {
		w->kernels_max = hz_max(1024u, 2 * w->kernels_max);
		w->ns = mem_resize(w->ns, w->kernels_max, sizeof(*w->ns));
		w->first = mem_resize(w->first, w->kernels_max + 1,
				      sizeof(*w->first));
	}
	w->ns[k] = ns;
	if (!k)
		w->first[0] = 0;
	w->first[k + 1] = w->first[k];
}

/* Uses of one tensor in one kernel are one use. */
void work_use(struct work *w, uint32_t tensor, unsigned how)
{
	uint32_t k = w->step.kernels - 1, n = w->first[k + 1];

	if (w->last[tensor] > w->first[k]) {
		w->use[w->last[tensor] - 1] |= how;
		return;
	}
	if (n >= w->uses_max) {
		w->uses_max = hz_max(4096u, 2 * w->uses_max);
		w->use = mem_resize(w->use, w->uses_max, sizeof(*w->use));
	}
	w->use[n] = hz_use(tensor, how);
	w->first[k + 1] = w->last[tensor] = n + 1;
}

void work_tensor(struct work *w, uint32_t tensor, uint64_t bytes)
{
	while (tensor >= w->tensors_max) {
		uint32_t was = w->tensors_max;

		w->tensors_max = hz_max(1024u, 2 * was);
		w->bytes =
			mem_resize(w->bytes, w->tensors_max, sizeof(*w->bytes));
		w->last = mem_resize(w->last, w->tensors_max, sizeof(*w->last));
		memset(w->bytes + was, 0,
		       (w->tensors_max - was) * sizeof(*w->bytes));
		memset(w->last + was, 0,
		       (w->tensors_max - was) * sizeof(*w->last));
	}
	w->bytes[tensor] = bytes;
	w->step.tensors = hz_max(w->step.tensors, tensor + 1);
}

void work_host(struct work *w, uint32_t kernels, uint64_t store, uint64_t wait)
{
	uint32_t k = w->step.kernels - 1;

	if (!w->host_store) {
		w->host_store = mem_zeroed(kernels, sizeof(*w->host_store));
		w->host_wait = mem_zeroed(kernels, sizeof(*w->host_wait));
	}
	w->host_store[k] = store;
	w->host_wait[k] = wait;
}

uint64_t work_waits(const struct work *w)
{
	uint64_t ns = 0;

	for (uint32_t k = 0; w->host_wait && k < w->step.kernels; k++)
		ns += w->host_wait[k];
	return ns;
}

static void mark_last(struct work *w, const uint8_t *keep)
{
	uint8_t *seen = mem_zeroed(w->step.tensors, 1);

	for (uint32_t u = w->first[w->step.kernels]; u-- > 0;) {
		uint32_t t = hz_use_tensor(w->use[u]);

		if (!keep[t] && !seen[t])
			w->use[u] |= HZ_USE_LAST;
		seen[t] = 1;
	}
	free(seen);
}

static uint32_t sign_of(const struct work *w, uint32_t k)
{
	uint32_t h = 2166136261u;

	for (uint32_t u = w->first[k]; u < w->first[k + 1]; u++)
		h = (h ^ w->use[u]) * 16777619u;
	return h;
}

void work_finish(struct work *w, const uint8_t *keep)
{
	uint32_t n = w->step.kernels;

	if (keep)
		mark_last(w, keep);
	w->sign = mem_resize(NULL, n, sizeof(*w->sign));
	for (uint32_t k = 0; k < n; k++)
		w->sign[k] = sign_of(w, k);
	free(w->last);
	w->last = NULL;
	w->step.ns = w->ns;
	w->step.first = w->first;
	w->step.use = w->use;
	w->step.bytes = w->bytes;
}

uint64_t work_host_ram(const struct work *w, uint64_t ram)
{
	return hz_min(w->host_bytes, ram / 2);
}

void work_free(struct work *w)
{
	free(w->name);
	free(w->ns);
	free(w->first);
	free(w->use);
	free(w->bytes);
	free(w->sign);
	free(w->last);
	free(w->host_store);
	free(w->host_wait);
	free(w);
}
