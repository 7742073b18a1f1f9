/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of one block as fibers of one worker. A fiber runs until it
 * meets a barrier or ends; the worker then runs the next one of its warp. All
 * of it belongs to the worker that entered run_block, so nothing is locked.
 *
 * Even blocks run their threads upwards, odd ones downwards: a barrier that
 * is missing then shows as a wrong number, as it may on a GPU.
 *
 * CUDA_CPU_UCONTEXT: switch by ucontext, as all but x86-64 do; slow.
 */
#ifndef CUDA_CPU_FIBER_H
#define CUDA_CPU_FIBER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__) && !defined(CUDA_CPU_UCONTEXT)
#define CUDA_CPU_JUMPS 1
#else
#include <ucontext.h>
#endif

#include "module.h"

enum {
	CUDA_CPU_WARP = 32,
	CUDA_CPU_THREADS = 1024,
	CUDA_CPU_STACK = 64 << 10,
	CUDA_CPU_GUARD = 4096,
};

/* A kernel that breaks the rules has no right answer: stop the program. */
#define CUDA_CPU_DIE(what_)                                    \
	do {                                                   \
		fprintf(stderr, "cuda_cpu: %s: %s\n",          \
			cuda_cpu_worker.kernel, what_);        \
		abort();                                       \
	} while (0)

enum cuda_cpu_state : uint8_t {
	CPU_READY,
	CPU_AT_WARP,
	CPU_AT_BLOCK,
	CPU_DONE
};

struct cuda_cpu_thread {
	softcuda_dim3 index;
	uint32_t rank, turn; /* in the block; shuffles done */
	uint64_t slot[2];    /* its word in this shuffle, and the next */
	cuda_cpu_state state;
#ifdef CUDA_CPU_JUMPS
	void *sp;
#else
	ucontext_t context;
#endif
};

/* Of one worker; lives as long as the module is loaded. */
struct cuda_cpu_pool {
	cuda_cpu_pool *next;
	uint32_t stacks; /* mapped so far */
	char *stack[CUDA_CPU_THREADS / CUDA_CPU_WARP];
	cuda_cpu_thread thread[CUDA_CPU_THREADS];
};

struct cuda_cpu_worker {
	const char *kernel;
	const softcuda_block *block;
	cuda_cpu_thread *self;
	cuda_cpu_pool *pool;
	void (*body)(void *args);
	void *args;
	uint32_t threads;
	bool fibers;
#ifdef CUDA_CPU_JUMPS
	void *home;
#else
	ucontext_t home;
#endif
	char *dynamic; /* shared memory of the launch's size */
	size_t dynamic_room;
};

static thread_local struct cuda_cpu_worker cuda_cpu_worker;
static cuda_cpu_pool *cuda_cpu_pools; /* all workers'; pushed atomically */

/* Not a mapping that a preloaded library would take for the program's. */
static void *cuda_cpu_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		CUDA_CPU_DIE("no memory for its threads");
	return p;
}

static cuda_cpu_pool *cuda_cpu_pool_open()
{
	auto *p = (cuda_cpu_pool *)cuda_cpu_map(sizeof(cuda_cpu_pool));

	p->next = __atomic_load_n(&cuda_cpu_pools, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&cuda_cpu_pools, &p->next, p, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return p;
}

__attribute__((destructor)) static void cuda_cpu_pools_close()
{
	while (cuda_cpu_pools) {
		cuda_cpu_pool *p = cuda_cpu_pools;

		cuda_cpu_pools = p->next;
		for (uint32_t i = 0; i < p->stacks / CUDA_CPU_WARP; i++)
			munmap(p->stack[i], CUDA_CPU_WARP * CUDA_CPU_STACK);
		munmap(p, sizeof(*p));
	}
}

/* Stacks for a whole warp at once, each with a page below that faults. */
static void cuda_cpu_pool_grow(cuda_cpu_pool *p, uint32_t threads)
{
	for (; p->stacks < threads; p->stacks += CUDA_CPU_WARP) {
		char *at = (char *)cuda_cpu_map(CUDA_CPU_WARP * CUDA_CPU_STACK);

		for (int i = 0; i < CUDA_CPU_WARP; i++)
			if (mprotect(at + i * CUDA_CPU_STACK, CUDA_CPU_GUARD,
				     PROT_NONE))
				CUDA_CPU_DIE("no guard page for a stack");
		p->stack[p->stacks / CUDA_CPU_WARP] = at;
	}
}

/* The end of a thread's stack. Shifted by some lines from thread to thread:
 * at equal distances all of them would compete for one set of the cache. */
static char *cuda_cpu_stack_top(uint32_t rank)
{
	char *warp = cuda_cpu_worker.pool->stack[rank / CUDA_CPU_WARP];

	return warp + (rank % CUDA_CPU_WARP + 1) * CUDA_CPU_STACK -
	       rank * 320 % 8192;
}

static inline void cuda_cpu_leave();

static void cuda_cpu_first()
{
	struct cuda_cpu_worker *w = &cuda_cpu_worker;

	w->body(w->args);
	w->self->state = CPU_DONE;
	cuda_cpu_leave();
}

#ifdef CUDA_CPU_JUMPS
/*
 * Leaves this stack for `to`, and comes back here when `*save` is entered. By
 * jumps alone: a return would be foretold from the calls of the stack that is
 * left. All registers but two are given up; these two, and the place to come
 * back to, go onto the stack, below what a leaf may use without asking.
 */
__attribute__((always_inline)) static inline void cuda_cpu_switch(void **save,
								  void *to)
{
	asm volatile("leaq -128(%%rsp), %%rsp\n\t"
		     "pushq %%rbp\n\t"
		     "pushq %%rbx\n\t"
		     "leaq 1f(%%rip), %%rax\n\t"
		     "pushq %%rax\n\t"
		     "movq %%rsp, (%0)\n\t"
		     "movq %1, %%rsp\n\t"
		     "popq %%rax\n\t"
		     "jmpq *%%rax\n"
		     "1:\n\t"
		     "popq %%rbx\n\t"
		     "popq %%rbp\n\t"
		     "leaq 128(%%rsp), %%rsp\n\t"
		     : "+D"(save), "+S"(to)
		     :
		     : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12",
		       "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3",
		       "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
		       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc",
		       "memory");
}

static void cuda_cpu_prepare(cuda_cpu_thread *t)
{
	/* The first function, entered as by a call that has no caller. */
	auto *top = (uintptr_t *)cuda_cpu_stack_top(t->rank) - 4;

	top[0] = (uintptr_t)cuda_cpu_first;
	top[1] = 0;
	t->sp = top;
}

static inline void cuda_cpu_enter(cuda_cpu_thread *t)
{
	cuda_cpu_worker.self = t;
	cuda_cpu_switch(&cuda_cpu_worker.home, t->sp);
}

static inline void cuda_cpu_leave()
{
	struct cuda_cpu_worker *w = &cuda_cpu_worker;

	cuda_cpu_switch(&w->self->sp, w->home);
}
#else
static void cuda_cpu_prepare(cuda_cpu_thread *t)
{
	char *top = cuda_cpu_stack_top(t->rank);

	getcontext(&t->context);
	t->context.uc_stack.ss_size = CUDA_CPU_STACK / 2;
	t->context.uc_stack.ss_sp = top - CUDA_CPU_STACK / 2;
	t->context.uc_link = NULL;
	makecontext(&t->context, cuda_cpu_first, 0);
}

static inline void cuda_cpu_enter(cuda_cpu_thread *t)
{
	cuda_cpu_worker.self = t;
	swapcontext(&cuda_cpu_worker.home, &t->context);
}

static inline void cuda_cpu_leave()
{
	swapcontext(&cuda_cpu_worker.self->context, &cuda_cpu_worker.home);
}
#endif

static inline void cuda_cpu_wait(cuda_cpu_state at)
{
	struct cuda_cpu_worker *w = &cuda_cpu_worker;

	if (!w->fibers)
		CUDA_CPU_DIE("a barrier in a kernel that is declared without");
	w->self->state = at;
	cuda_cpu_leave();
}

static void cuda_cpu_threads_prepare(const softcuda_dim3 *size)
{
	cuda_cpu_thread *t = cuda_cpu_worker.pool->thread;
	softcuda_dim3 i;
	uint32_t rank = 0;

	for (i.z = 0; i.z < size->z; i.z++)
		for (i.y = 0; i.y < size->y; i.y++)
			for (i.x = 0; i.x < size->x; i.x++, rank++) {
				t[rank].index = i;
				t[rank].rank = rank;
				t[rank].turn = 0;
				t[rank].state = CPU_READY;
				cuda_cpu_prepare(&t[rank]);
			}
}

/* Runs a warp until each of its threads is at the block's barrier or at its
 * end; how many are at the barrier. */
static uint32_t cuda_cpu_warp(cuda_cpu_thread *t, uint32_t n, bool down)
{
	uint32_t at[CPU_DONE + 1];

	do {
		at[CPU_AT_WARP] = at[CPU_AT_BLOCK] = at[CPU_DONE] = 0;
		for (uint32_t i = 0; i < n; i++) {
			cuda_cpu_thread *one = &t[down ? n - 1 - i : i];

			if (one->state != CPU_DONE)
				cuda_cpu_enter(one);
			at[one->state]++;
		}
		if (at[CPU_AT_WARP] && at[CPU_AT_WARP] != n)
			CUDA_CPU_DIE("a warp is not whole at its barrier");
	} while (at[CPU_AT_WARP]);
	return at[CPU_AT_BLOCK];
}

static void cuda_cpu_fibers(bool down)
{
	struct cuda_cpu_worker *w = &cuda_cpu_worker;
	uint32_t n = w->threads, waiting;
	uint32_t warps = (n + CUDA_CPU_WARP - 1) / CUDA_CPU_WARP;

	if (!w->pool)
		w->pool = cuda_cpu_pool_open();
	cuda_cpu_pool_grow(w->pool, n);
	cuda_cpu_threads_prepare(&w->block->block);
	do {
		waiting = 0;
		for (uint32_t i = 0; i < warps; i++) {
			uint32_t warp = down ? warps - 1 - i : i;
			uint32_t at = warp * CUDA_CPU_WARP, lanes = n - at;

			if (lanes > CUDA_CPU_WARP)
				lanes = CUDA_CPU_WARP;
			waiting += cuda_cpu_warp(w->pool->thread + at, lanes,
						 down);
		}
	} while (waiting);
}

/* No barrier, hence no fiber: one thread after the other on this stack. */
static void cuda_cpu_plain(bool down)
{
	struct cuda_cpu_worker *w = &cuda_cpu_worker;
	const softcuda_dim3 *size = &w->block->block;
	cuda_cpu_thread one = {};

	w->self = &one;
	for (uint32_t i = 0; i < w->threads; i++) {
		one.rank = down ? w->threads - 1 - i : i;
		one.index.x = one.rank % size->x;
		one.index.y = one.rank / size->x % size->y;
		one.index.z = one.rank / size->x / size->y;
		w->body(w->args);
	}
}

/* Shared memory starts as garbage on a GPU: here as NaN, block after block. */
static void cuda_cpu_dynamic_prepare(size_t bytes)
{
	struct cuda_cpu_worker *w = &cuda_cpu_worker;

	if (bytes > w->dynamic_room) {
		if (w->dynamic)
			munmap(w->dynamic, w->dynamic_room);
		w->dynamic = (char *)cuda_cpu_map(bytes);
		w->dynamic_room = bytes;
	}
	if (bytes)
		memset(w->dynamic, 0xff, bytes);
}

static void cuda_cpu_block(const char *kernel, const softcuda_block *b,
			   bool fibers, void (*body)(void *), void *args)
{
	struct cuda_cpu_worker *w = &cuda_cpu_worker;
	bool down = (b->index.x + b->index.y + b->index.z) & 1;

	w->kernel = kernel;
	w->block = b;
	w->body = body;
	w->args = args;
	w->fibers = fibers;
	w->threads = b->block.x * b->block.y * b->block.z;
	if (w->threads > CUDA_CPU_THREADS)
		CUDA_CPU_DIE("more than 1024 threads");
	cuda_cpu_dynamic_prepare(b->dynamic_shared);
	if (fibers)
		cuda_cpu_fibers(down);
	else
		cuda_cpu_plain(down);
}

#endif
