/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of launches whose words nobody has looked up yet, and hz-launch,
 * which works it off.
 *
 * An entry is a header of two words and what was launched, without a gap: the
 * rest of the ring is skipped where an entry does not fit. Those who put in
 * have `launching`, those who take out have `lock`; so a word is written by one
 * and read by one, and the two counters are all that both sides look at. What
 * is taken out stays counted as in the ring until it is worked off: an empty
 * ring means that all is done.
 *
 * hz-launch naps; no launch wakes it but the one that fills half of the ring.
 * It holds `lock` for a few dozen microseconds at a time, and for no other
 * entry once somebody wants it. It also writes the segment's rows, once a
 * second. It has no descriptors, so it shares the program's table; signals are
 * blocked in it; nobody waits for it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "base/log.h"
#include "base/os.h"
#include "engine/engine.h"
#include "engine/gpu_int.h"

#define HEADER	   2u
#define WAKE_WORDS (HZ_GPU_LATER_WORDS / 2)
#define SLICE	   1024u /* words that are looked up without a break */
#define BREAK_NS   50000
#define NAP_MIN_NS 10000000ull
#define NAP_MAX_NS 100000000ull

/* In place of the number of words. */
#define SKIP (UINT32_MAX) /* the rest of the ring */
#define SET  (UINT32_MAX - 1)

static struct {
	sem_t wake;
	bool called; /* atomic: it was woken and did not look yet */
} hz_launch;

/* ---- putting in, with `launching` ---- */

static uint64_t header(uint32_t kernel, uint32_t n)
{
	return (uint64_t)kernel << 32 | n;
}

static void call(void)
{
	if (__atomic_load_n(&hz_launch.called, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&hz_launch.called, true, __ATOMIC_RELAXED);
	sem_post(&hz_launch.wake);
}

/* So many words, counted from what was taken out when somebody last looked: the
 * other side writes that all the time. */
static bool fits(struct hz_gpu *g, uint64_t end, uint64_t most)
{
	if (hz_likely(end - g->later_was <= most))
		return true;
	g->later_was = __atomic_load_n(&g->later_out, __ATOMIC_ACQUIRE);
	return end - g->later_was <= most;
}

/* Where an entry of so many words goes, NULL if nowhere; *end is for publish().
 */
static uint64_t *place_for(struct hz_gpu *g, uint32_t words, uint64_t *end)
{
	uint64_t in = g->later_in;
	uint32_t at = (uint32_t)(in % HZ_GPU_LATER_WORDS), skip = 0;

	if (at + words > HZ_GPU_LATER_WORDS)
		skip = HZ_GPU_LATER_WORDS - at;
	*end = in + skip + words;
	if (hz_unlikely(!fits(g, *end, HZ_GPU_LATER_WORDS)))
		return NULL;
	if (hz_likely(!skip))
		return &g->later[at];
	g->later[at] = header(0, SKIP);
	return g->later;
}

static void publish(struct hz_gpu *g, uint64_t end)
{
	__atomic_store_n(&g->later_in, end, __ATOMIC_RELEASE);
	if (hz_unlikely(!fits(g, end, WAKE_WORDS)) && g->later_on)
		call();
}

bool hz_gpu_later(struct hz_gpu *g, uint32_t kernel, const uint64_t *word,
		  uint32_t n, uint64_t now)
{
	uint64_t end, *e = place_for(g, HEADER + n, &end);

	if (!e)
		return false;
	e[0] = header(kernel, n);
	e[1] = now;
	memcpy(e + HEADER, word, n * sizeof(*word));
	publish(g, end);
	return true;
}

bool hz_gpu_later_set(struct hz_gpu *g, const struct hz_gpu_set *s)
{
	uint64_t end, *e = place_for(g, HEADER, &end);

	if (!e)
		return false;
	e[0] = header(0, SET);
	e[1] = (uint64_t)(s - g->set);
	publish(g, end);
	return true;
}

/* ---- taking out, with `lock` ---- */

static bool is_empty(const struct hz_gpu *g)
{
	return g->later_out == __atomic_load_n(&g->later_in, __ATOMIC_ACQUIRE);
}

/* The oldest entry; returns how many words it named. */
static uint32_t work_off(struct hz_gpu *g)
{
	uint32_t at = (uint32_t)(g->later_out % HZ_GPU_LATER_WORDS);
	const uint64_t *e = &g->later[at];
	uint32_t n = (uint32_t)e[0], named = n, words = HEADER + n;

	switch (n) {
	case SKIP:
		named = 0;
		words = HZ_GPU_LATER_WORDS - at;
		break;
	case SET:
		named = g->set[e[1]].n;
		words = HEADER;
		hz_gpu_set_resolve(g, &g->set[e[1]]);
		break;
	default:
		hz_gpu_named_once(g, (uint32_t)(e[0] >> 32), e + HEADER, n,
				  e[1]);
		break;
	}
	__atomic_store_n(&g->later_out, g->later_out + words, __ATOMIC_RELEASE);
	return named;
}

void hz_gpu_drain(struct hz_gpu *g)
{
	uint64_t until = __atomic_load_n(&g->later_in, __ATOMIC_ACQUIRE);

	while (g->later_out != until)
		work_off(g);
}

/* With what may have to be skipped. */
void hz_gpu_make_room(struct hz_gpu *g, uint32_t n)
{
	uint64_t need = 2 * (HEADER + (uint64_t)n);

	while (!is_empty(g) && __atomic_load_n(&g->later_in, __ATOMIC_ACQUIRE) -
					       g->later_out + need >
				       HZ_GPU_LATER_WORDS)
		work_off(g);
}

/* ---- hz-launch ---- */

/* False: nothing is left. */
static bool slice(void)
{
	struct hz_gpu *g = &hz_gpu;
	HZ_GPU_SECTION(false);

	for (uint32_t n = 0; n < SLICE && !is_empty(g);) {
		n += work_off(g) + 1;
		if (__atomic_load_n(&g->wanted, __ATOMIC_RELAXED))
			break;
	}
	return !is_empty(g);
}

static void take_a_break(void)
{
	const struct timespec t = {.tv_nsec = BREAK_NS};

	while (__atomic_load_n(&hz_gpu.wanted, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&hz_gpu.lost, __ATOMIC_RELAXED))
		nanosleep(&t, NULL);
}

/* Was there anything? */
static bool pass(void)
{
	struct hz_gpu *g = &hz_gpu;

	__atomic_store_n(&hz_launch.called, false, __ATOMIC_RELAXED);
	if (__atomic_load_n(&g->lost, __ATOMIC_RELAXED))
		return false;
	if (__atomic_load_n(&g->later_out, __ATOMIC_RELAXED) ==
	    __atomic_load_n(&g->later_in, __ATOMIC_ACQUIRE))
		return false;
	while (slice())
		take_a_break();
	return true;
}

/* Sets that launch again and again put nothing into the ring. */
static void write_rows(bool worked)
{
	struct hz_gpu *g = &hz_gpu;
	uint64_t now = hz_os.now();

	if (!worked && !__atomic_load_n(&g->dirty, __ATOMIC_RELAXED))
		return;
	if (now < __atomic_load_n(&g->refreshed, __ATOMIC_RELAXED) +
			  HZ_GPU_REFRESH_NS)
		return;
	HZ_GPU_SECTION();
	hz_gpu_rows_write(g, now);
}

/* Launches shall not wait for the kernel to clear the ring's pages. */
static void *launch_main(void *arg)
{
	const size_t bytes = HZ_GPU_LATER_WORDS * sizeof(uint64_t);
	struct hz_gpu *g = &hz_gpu;
	uint64_t ns = NAP_MIN_NS;

	hz_thread_begin("hz-launch");
	hz_os.madvise(g->later, bytes, MADV_HUGEPAGE);
	hz_os.madvise(g->later, bytes, MADV_POPULATE_WRITE);
	__atomic_store_n(&g->later_on, true, __ATOMIC_RELEASE);
	for (;;) {
		bool worked = pass();

		write_rows(worked);
		ns = worked ? NAP_MIN_NS : hz_min(2 * ns, NAP_MAX_NS);
		hz_thread_nap(&hz_launch.wake, ns);
	}
	return NULL;
}

void hz_gpu_later_start(void)
{
	int rc = sem_init(&hz_launch.wake, 0, 0) ? -ENOSYS : 0;

	if (!hz_gpu.ready || hz_gpu_recording)
		return;
	if (!rc)
		rc = hz_thread_make(launch_main, NULL);
	if (rc)
		hz_log(HZ_INFO, "gpu",
		       "launches are looked up where they are made (%m)", rc);
}
