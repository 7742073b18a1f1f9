/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grid is cut into runs of blocks, which the stream's thread and a few
 * helpers take in turn. Blocks of a grid may run in any order; helpers serve
 * all streams.
 */
#include <setjmp.h>
#include "soft.h"

struct job {
	TAILQ_ENTRY(job) link;
	const struct soft_launch *launch;
	const void *params;
	int dev;
	uint64_t total, step;
	_Atomic uint64_t next;
	_Atomic bool failed;
	unsigned helpers; /* at work; jobs_lock */
};

static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t jobs_new = PTHREAD_COND_INITIALIZER;
static pthread_cond_t jobs_done = PTHREAD_COND_INITIALIZER;
static TAILQ_HEAD(job_list, job) jobs = TAILQ_HEAD_INITIALIZER(jobs);
static unsigned helpers_started, helpers_idle;

static void run_range(const struct job *j, uint64_t from, uint64_t to)
{
	const struct soft_launch *l = j->launch;
	struct softcuda_block b = {.grid = l->grid,
				   .block = l->block,
				   .dynamic_shared = l->shared,
				   .params = j->params};

	b.index.x = (uint32_t)(from % l->grid.x);
	b.index.y = (uint32_t)(from / l->grid.x % l->grid.y);
	b.index.z = (uint32_t)(from / l->grid.x / l->grid.y);
	for (; from < to; from++) {
		l->kernel->run_block(&b);
		if (++b.index.x < l->grid.x)
			continue;
		b.index.x = 0;
		if (++b.index.y < l->grid.y)
			continue;
		b.index.y = 0;
		b.index.z++;
	}
}

/* Until nothing is left. A fault ends the grid for all. */
static void work(struct job *j)
{
	sigjmp_buf env, *volatile outer = soft_fault_env;

	if (sigsetjmp(env, 0)) {
		atomic_store(&j->failed, true);
		atomic_store(&j->next, j->total);
		soft_fault_env = outer;
		return;
	}
	soft_fault_env = &env;
	for (;;) {
		uint64_t from = atomic_fetch_add(&j->next, j->step);
		uint64_t to = from + j->step;

		if (from >= j->total)
			break;
		run_range(j, from, to < j->total ? to : j->total);
	}
	soft_fault_env = outer;
}

static struct job *job_with_work(void)
{
	struct job *j;

	TAILQ_FOREACH(j, &jobs, link)
		if (atomic_load(&j->next) < j->total)
			return j;
	return NULL;
}

static void *helper(void *unused)
{
	struct job *j;

	pthread_mutex_lock(&jobs_lock);
	for (;;) {
		while (!(j = job_with_work())) {
			helpers_idle++;
			pthread_cond_wait(&jobs_new, &jobs_lock);
			helpers_idle--;
		}
		j->helpers++;
		pthread_mutex_unlock(&jobs_lock);
		soft_running_on = j->dev;
		work(j);
		soft_running_on = -1;
		pthread_mutex_lock(&jobs_lock);
		if (!--j->helpers)
			pthread_cond_broadcast(&jobs_done);
	}
	return NULL;
}

static void job_offer(struct job *j)
{
	soft_guard(jobs_lock);
	while (helpers_started + 1 < soft_set.workers) {
		pthread_t thread;

		helpers_started++;
		soft_thread_start(&thread, helper, NULL);
	}
	TAILQ_INSERT_TAIL(&jobs, j, link);
	if (helpers_idle)
		pthread_cond_broadcast(&jobs_new);
}

static void job_withdraw(struct job *j)
{
	soft_guard(jobs_lock);
	TAILQ_REMOVE(&jobs, j, link);
	while (j->helpers)
		pthread_cond_wait(&jobs_done, &jobs_lock);
}

void soft_run_grid(CUcontext ctx, struct soft_launch *l)
{
	struct job j = {.launch = l,
			.params = l->params ? l->params : l->inline_params,
			.dev = ctx->dev->index};
	bool shared;

	j.total = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
	j.step = j.total / (soft_set.workers * 8) + 1;
	shared = j.total > 1 && soft_set.workers > 1;
	soft_phys_device_begins();
	if (shared)
		job_offer(&j);
	work(&j);
	if (shared)
		job_withdraw(&j);
	soft_count(launches, 1);
	soft_count(blocks, j.total);
	if (atomic_load(&j.failed)) {
		soft_count(stray_accesses, 1);
		soft_ctx_kill(ctx, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
}
