/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See awake.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <sched.h>
#include <semaphore.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/knobs.h"
#include "base/log.h"
#include "base/numa.h"
#include "base/os.h"
#include "base/raw.h"
#include "base/stats.h"
#include "engine/awake.h"
#include "engine/budget.h"
#include "policy/awake.h"

/* The processor is wanted by others if this thread was off it for so long: it
 * leaves it alone for a while. */
#define GONE_NS 4000000u
#define NAP_NS	50000000u
#define LOOK_NS 200000u /* between two looks at where a thread runs */
#define MASK	(8 * sizeof(unsigned long))
#define FEW	4u /* processors */
#define NICE	19

/* The fields that two threads use are atomic. */
struct keeper {
	sem_t wake;
	bool asleep;
	int follows; /* a thread's id */
	int cpu;     /* that this thread is bound to, or -1 */
};

enum { PROGRAM, FAULT, FOLLOWERS, KEEPERS = FEW - 1 };

static struct {
	bool wanted, made;
	bool few;	/* processors: nobody is followed */
	unsigned n;	/* keepers; 0: not here */
	int self;	/* hz-fault's id */
	uint64_t until; /* ns */
	struct hz_awake_rate rate;
	struct keeper keeper[KEEPERS];
} awake;

/* ---- a keeper ---- */

static bool is_over(void)
{
	return hz_os.now() >= __atomic_load_n(&awake.until, __ATOMIC_SEQ_CST);
}

static void rest(struct keeper *k)
{
	while (is_over()) {
		__atomic_store_n(&k->asleep, true, __ATOMIC_SEQ_CST);
		/* Who set `until` before may not have seen that. */
		if (is_over())
			sem_wait(&k->wake);
		__atomic_store_n(&k->asleep, false, __ATOMIC_SEQ_CST);
	}
}

static void bind_to(struct keeper *k, int cpu)
{
	unsigned long mask[HZ_CPUS / MASK] = {0};

	if (cpu < 0 || cpu >= (int)HZ_CPUS || cpu == k->cpu)
		return;
	mask[(unsigned)cpu / MASK] = 1ul << (unsigned)cpu % MASK;
	if (hz_numa_sys.setaffinity(mask, sizeof(mask)) >= 0)
		k->cpu = cpu;
}

static void follow(struct keeper *k)
{
	int tid = __atomic_load_n(&k->follows, __ATOMIC_RELAXED);
	char path[48], text[512];

	hz_format(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	if (hz_os_slurp(path, text, sizeof(text)) > 0)
		bind_to(k, hz_numa_last_cpu(text, "hz-awake"));
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* False: somebody else had the processor meanwhile. */
static bool stay_awake(void)
{
	uint64_t now = hz_os.now(), end = now + LOOK_NS, before;

	do {
		relax();
		before = now;
		now = hz_os.now();
		if (now - before > GONE_NS)
			return false;
	} while (now < end && !is_over());
	return true;
}

static void note_time(uint64_t *before)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	hz_stat_add(HZ_STAT_awake_time, now - *before);
	*before = now;
}

/* False: a filter forbids it. */
static bool give_way(void)
{
	struct sched_param none = {0};

	if (!awake.few)
		return hz_syscall(SYS_sched_setscheduler, 0, SCHED_IDLE,
				  &none) == 0;
	return hz_syscall(SYS_setpriority, PRIO_PROCESS, 0, NICE) == 0;
}

static void *keep_awake(void *arg)
{
	struct keeper *k = arg;
	uint64_t used = 0;

	hz_thread_begin("hz-awake");
	hz_log_apart = true;
	if (!give_way())
		return NULL;
	for (;;) {
		rest(k);
		if (!awake.few)
			follow(k);
		if (!stay_awake())
			hz_thread_nap(&k->wake, NAP_NS);
		note_time(&used);
	}
	return NULL;
}

/* ---- who keeps them busy ---- */

static unsigned processors(void)
{
	unsigned long mask[HZ_CPUS / MASK] = {0};
	unsigned n = 0;

	hz_numa_sys.getaffinity(mask, sizeof(mask));
	for (unsigned i = 0; i < hz_array_len(mask); i++)
		n += (unsigned)__builtin_popcountl(mask[i]);
	return n;
}

void hz_awake_start(void)
{
	unsigned n;

	memset(&awake, 0, sizeof(awake));
	if (!hz_knobs.keep_awake || hz_cgroup_has_quota())
		return;
	n = processors();
	awake.few = n <= FEW;
	awake.n = !awake.few ? FOLLOWERS : n ? n - 1 : 0;
	for (unsigned i = 0; i < KEEPERS; i++) {
		sem_init(&awake.keeper[i].wake, 0, 0);
		awake.keeper[i].cpu = -1;
	}
}

void hz_awake_make(struct hz_engine *e)
{
	if (awake.made || e->frozen ||
	    !__atomic_load_n(&awake.wanted, __ATOMIC_RELAXED))
		return;
	awake.made = true;
	hz_unlock(&e->lock);
	for (unsigned i = 0; i < awake.n; i++)
		hz_thread_make(keep_awake, &awake.keeper[i]);
	hz_lock(&e->lock);
}

static void go_on(struct keeper *k, int tid)
{
	if (!awake.few)
		__atomic_store_n(&k->follows, tid, __ATOMIC_RELAXED);
	if (__atomic_load_n(&k->asleep, __ATOMIC_SEQ_CST) &&
	    __atomic_exchange_n(&k->asleep, false, __ATOMIC_SEQ_CST))
		sem_post(&k->wake);
}

void hz_awake_fault(int tid, uint64_t now)
{
	if (!awake.n || !hz_awake_often(&awake.rate, now))
		return;
	if (!awake.self)
		awake.self = (int)hz_syscall(SYS_gettid);
	__atomic_store_n(&awake.until, now + HZ_AWAKE_NS, __ATOMIC_SEQ_CST);
	__atomic_store_n(&awake.wanted, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < awake.n; i++)
		go_on(&awake.keeper[i], i == FAULT ? awake.self : tid);
}
