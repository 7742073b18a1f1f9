/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Item 3: what a prefetch costs the thread that calls it, how fast the bytes
 * move, and what it stops meanwhile: mmap and cuMemAlloc of another thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "probe.h"

#define BIG    (1 * GIB)
#define ROUNDS 5

enum direction { H2D, D2H };

static const char *const direction_name[] = {"h2d", "d2h"};
static CUfunction spin;

static CUmemLocation end_of(enum direction d)
{
	return d == H2D ? probe_gpu() : probe_cpu();
}

static void prefetch(CUdeviceptr p, size_t bytes, enum direction d, CUstream s)
{
	need(cuMemPrefetchAsync(p, bytes, end_of(d), 0, s));
}

/* All of it, synchronously. */
static void place(CUdeviceptr p, size_t bytes, enum direction d)
{
	prefetch(p, bytes, d, NULL);
	need(cuCtxSynchronize());
}

static CUstream new_stream(void)
{
	CUstream s;

	need(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	return s;
}

static void keep_busy(CUstream s, unsigned long long ns)
{
	void *args[] = {&ns};

	probe_launch(spin, 1, 1, s, args);
}

/* ---- one call ---- */

enum queue { IDLE, BUSY, OTHER_BUSY, QUEUES };

static const char *const queue_name[] = {"idle", "busy", "other_busy"};
#define BUSY_NS 20000000ull

static void one_cell(CUdeviceptr p, unsigned mib, enum direction d,
		     enum queue q)
{
	size_t bytes = mib * MIB;
	CUstream s = new_stream(), other = new_stream();
	double call[ROUNDS], done[ROUNDS];

	for (unsigned i = 0; i < ROUNDS; i++) {
		double start;

		place(p, bytes, d == H2D ? D2H : H2D);
		if (q != IDLE)
			keep_busy(q == BUSY ? s : other, BUSY_NS);
		start = now_s();
		prefetch(p, bytes, d, s);
		call[i] = now_s() - start;
		need(cuStreamSynchronize(s));
		done[i] = now_s() - start;
		need(cuCtxSynchronize());
	}
	fact_num(median(call, ROUNDS) * 1e3, "%s_%um_%s_call_ms",
		 direction_name[d], mib, queue_name[q]);
	fact_num(median(done, ROUNDS) * 1e3, "%s_%um_%s_done_ms",
		 direction_name[d], mib, queue_name[q]);
	if (q != BUSY)
		fact_num((double)bytes / (double)GIB / done[ROUNDS / 2],
			 "%s_%um_%s_gib_s", direction_name[d], mib,
			 queue_name[q]);
	need(cuStreamDestroy(s));
	need(cuStreamDestroy(other));
}

static void one_call(CUdeviceptr p)
{
	static const unsigned sizes[] = {2, 32, 256};

	for (unsigned i = 0; i < 3; i++)
		for (enum direction d = H2D; d <= D2H; d++)
			for (enum queue q = IDLE; q < QUEUES; q++)
				one_cell(p, sizes[i], d, q);
	/* Already there: the touch that refreshes the driver's order. */
	for (enum direction d = H2D; d <= D2H; d++) {
		double start;

		place(p, 256 * MIB, d);
		start = now_s();
		place(p, 256 * MIB, d);
		fact_num((now_s() - start) * 1e3, "%s_256m_again_ms",
			 direction_name[d]);
	}
}

/* ---- pieces, both ways at once ---- */

struct mover {
	CUdeviceptr p;
	size_t bytes, piece;
	enum direction d;
	double seconds, worst_call;
};

static void *move_in_pieces(void *arg)
{
	struct mover *m = arg;
	CUstream s;
	double start;

	probe_enter();
	s = new_stream();
	start = now_s();
	for (size_t at = 0; at < m->bytes; at += m->piece) {
		double before = now_s(), call;

		prefetch(m->p + at, m->piece, m->d, s);
		call = now_s() - before;
		if (call > m->worst_call)
			m->worst_call = call;
		need(cuStreamSynchronize(s));
	}
	m->seconds = now_s() - start;
	need(cuStreamDestroy(s));
	return NULL;
}

static void both_ways(CUdeviceptr a, CUdeviceptr b)
{
	struct mover m[2] = {{a, BIG, 32 * MIB, H2D, 0, 0},
			     {b, BIG, 32 * MIB, D2H, 0, 0}};
	pthread_t t[2];

	place(a, BIG, D2H);
	place(b, BIG, H2D);
	for (unsigned i = 0; i < 2; i++)
		need(pthread_create(&t[i], NULL, move_in_pieces, &m[i]));
	for (unsigned i = 0; i < 2; i++) {
		need(pthread_join(t[i], NULL));
		fact_num((double)BIG / (double)GIB / m[i].seconds,
			 "both_ways_%s_32m_gib_s", direction_name[m[i].d]);
	}
}

/* ---- what waits meanwhile ---- */

struct watch {
	atomic_bool stop;
	double worst_mmap, worst_alloc;
};

static void *watch_mmap(void *arg)
{
	struct watch *w = arg;

	while (!atomic_load(&w->stop)) {
		double start = now_s(), took;
		void *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		need_true(p != MAP_FAILED);
		*(volatile char *)p = 1;
		munmap(p, MIB);
		took = now_s() - start;
		if (took > w->worst_mmap)
			w->worst_mmap = took;
	}
	return NULL;
}

static void *watch_alloc(void *arg)
{
	struct watch *w = arg;

	probe_enter();
	while (!atomic_load(&w->stop)) {
		CUdeviceptr p;
		double start = now_s(), took;

		need(cuMemAlloc(&p, 4 * MIB));
		need(cuMemFree(p));
		took = now_s() - start;
		if (took > w->worst_alloc)
			w->worst_alloc = took;
	}
	return NULL;
}

typedef void *thread_body(void *);

/* While a BIG range moves in pieces (none at all where PIECE is 0). */
static void watched(CUdeviceptr p, size_t piece, enum direction d,
		    thread_body *body, struct watch *w)
{
	struct mover m = {p, BIG, piece, d, 0, 0};
	pthread_t t;

	place(p, BIG, d == H2D ? D2H : H2D);
	atomic_store(&w->stop, false);
	need(pthread_create(&t, NULL, body, w));
	for (double end = now_s() + 0.05; now_s() < end;)
		;
	if (piece)
		move_in_pieces(&m);
	atomic_store(&w->stop, true);
	need(pthread_join(t, NULL));
	if (piece)
		fact_num(m.worst_call * 1e3, "%s_%zum_pieces_worst_call_ms",
			 direction_name[d], piece / MIB);
}

static void meanwhile(CUdeviceptr p)
{
	static const size_t pieces[] = {0, 2 * MIB, 32 * MIB, BIG};

	for (unsigned i = 0; i < 4; i++)
		for (enum direction d = H2D; d <= D2H; d++) {
			struct watch w = {.worst_mmap = 0};

			if (!pieces[i] && d == D2H)
				continue;
			watched(p, pieces[i], d, watch_mmap, &w);
			fact_num(w.worst_mmap * 1e3,
				 "%s_%zum_pieces_worst_mmap_ms",
				 pieces[i] ? direction_name[d] : "quiet",
				 pieces[i] / MIB);
			watched(p, pieces[i], d, watch_alloc, &w);
			fact_num(w.worst_alloc * 1e3,
				 "%s_%zum_pieces_worst_cumemalloc_ms",
				 pieces[i] ? direction_name[d] : "quiet",
				 pieces[i] / MIB);
		}
}

int main(void)
{
	CUdeviceptr a, b;

	probe_open();
	spin = probe_kernel("probe_spin");
	a = probe_managed(BIG);
	b = probe_managed(BIG);
	place(a, BIG, H2D);
	need(cuMemsetD8(a, 1, BIG));
	place(b, BIG, H2D);
	need(cuMemsetD8(b, 2, BIG));
	one_call(a);
	both_ways(a, b);
	meanwhile(a);
	need(cuMemFree(a));
	need(cuMemFree(b));
	return 0;
}
