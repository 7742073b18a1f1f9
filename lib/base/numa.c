/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NUMA: choosing, and how our threads follow.
 *
 * hz-aux starts it, hz-engine looks again while it takes pages. A policy and
 * the processors belong to the thread that sets them, so each of ours follows
 * by itself. Nothing here allocates or takes a lock.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/numa.h"

#include <string.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/util.h"

#define WORD	    (8 * sizeof(unsigned long))
#define KERNEL_BITS 1024 /* nodes that a kernel may have */
/* What the system calls are told: the kernel takes one off. */
#define MASK_BITS (KERNEL_BITS + 1)
#define LOOK_NS	  1000000000ull

#define MPOL_F_MEMS_ALLOWED 4ul
#define MODE_FLAGS	    (7 << 13)

struct cpus {
	unsigned long bits[HZ_CPUS / WORD];
};

struct nodes {
	unsigned long bits[KERNEL_BITS / WORD];
};

/* Written by hz_numa_start() before there is another thread of ours, and
 * fixed then, but for what is said below. */
static struct {
	bool on;
	int how, mode; /* the knob; the policy that was inherited, and flags */
	struct nodes inherited;
	struct cpus allowed;	  /* processors of the thread that started us */
	uint8_t node_of[HZ_CPUS]; /* HZ_NODES: none that counts */
	struct hz_numa_facts facts;   /* who looks */
	uint64_t looked;	      /* who looks */
	struct hz_numa_choice choice; /* atomic, each word by itself */
	unsigned turn;		      /* atomic: grows with each new choice */
} numa;

/* What this thread follows. */
static __thread struct {
	uint64_t run;
	unsigned turn;
} mine __attribute__((tls_model("initial-exec")));

static void choose(void)
{
	struct hz_numa_choice c;

	hz_numa_memory(&numa.facts);
	hz_numa_threads(&numa.facts, numa.node_of);
	c = hz_numa_choose(numa.how, &numa.facts);
	if (numa.turn && c.nodes == numa.choice.nodes &&
	    c.run == numa.choice.run)
		return;
	__atomic_store_n(&numa.choice.nodes, c.nodes, __ATOMIC_RELAXED);
	__atomic_store_n(&numa.choice.run, c.run, __ATOMIC_RELAXED);
	__atomic_store_n(&numa.turn, numa.turn + 1, __ATOMIC_RELEASE);
	hz_log(HZ_INFO, "numa",
	       "pages from nodes %llx, our threads on %llx "
	       "(bit masks; 0: as inherited)",
	       (unsigned long long)c.nodes, (unsigned long long)c.run);
}

/* The processors of these nodes that we may use; false where there is none. */
static bool find_cpus(uint64_t nodes, struct cpus *want)
{
	bool any = false;

	memset(want, 0, sizeof(*want));
	for (unsigned c = 0; c < HZ_CPUS; c++) {
		unsigned node = numa.node_of[c];

		if (!(numa.allowed.bits[c / WORD] >> c % WORD & 1))
			continue;
		if (nodes && (node >= HZ_NODES || !(nodes >> node & 1)))
			continue;
		want->bits[c / WORD] |= 1ul << c % WORD;
		any = true;
	}
	return any;
}

static void keep_to(uint64_t nodes)
{
	struct cpus now = {{0}}, last, want;

	if (hz_numa_sys.getaffinity(now.bits, sizeof(now.bits)) < 0)
		return;
	/* Not on top of what somebody else, such as taskset(1), set since. */
	find_cpus(mine.run, &last);
	if (mine.turn && memcmp(&now, &last, sizeof(now)))
		return;
	if (!find_cpus(nodes, &want))
		return;
	if (memcmp(&now, &want, sizeof(now)) &&
	    hz_numa_sys.setaffinity(want.bits, sizeof(want.bits)) < 0)
		return;
	mine.run = nodes;
}

static void take_from(uint64_t nodes, unsigned turn)
{
	struct nodes mask = {{nodes}};
	long rc;

	if (nodes)
		rc = hz_numa_sys.set_mempolicy(nodes & (nodes - 1)
						       ? HZ_MPOL_INTERLEAVE
						       : HZ_MPOL_PREFERRED,
					       mask.bits, MASK_BITS);
	else if (turn > 1) /* an earlier one may be in force */
		rc = hz_numa_sys.set_mempolicy(numa.mode, numa.inherited.bits,
					       MASK_BITS);
	else
		return;
	if (rc < 0)
		hz_log_once(HZ_INFO, "numa",
			    "the kernel refuses a policy (%m): pages come "
			    "from where our threads run",
			    (int)rc);
}

void hz_numa_follow(void)
{
	unsigned turn = __atomic_load_n(&numa.turn, __ATOMIC_ACQUIRE);

	if (hz_likely(mine.turn == turn))
		return;
	keep_to(__atomic_load_n(&numa.choice.run, __ATOMIC_RELAXED));
	take_from(__atomic_load_n(&numa.choice.nodes, __ATOMIC_RELAXED), turn);
	mine.turn = turn;
}

static bool read_policy(struct hz_numa_facts *f)
{
	struct nodes mems = {{0}};

	if (hz_numa_sys.get_mempolicy(&numa.mode, numa.inherited.bits,
				      MASK_BITS, 0) < 0 ||
	    hz_numa_sys.get_mempolicy(NULL, mems.bits, MASK_BITS,
				      MPOL_F_MEMS_ALLOWED) < 0)
		return false;
	f->memory &= mems.bits[0];
	f->policy = numa.mode & ~MODE_FLAGS;
	f->policy_nodes = numa.inherited.bits[0];
	return true;
}

bool hz_numa_start(int how)
{
	uint64_t online;
	struct hz_numa_facts *f = &numa.facts;

	/* A forked child starts anew. */
	numa.on = false;
	numa.turn = 0;
	mine.turn = 0;
	mine.run = 0;
	numa.how = how;
	memset(&numa.allowed, 0, sizeof(numa.allowed));
	if (how == HZ_NUMA_OFF ||
	    !hz_numa_nodes(&online, &f->cpus, &f->memory) ||
	    !(online & (online - 1)) || !read_policy(f))
		return false;
	if (hz_numa_sys.getaffinity(numa.allowed.bits,
				    sizeof(numa.allowed.bits)) < 0)
		return false;
	hz_numa_cpus(online, numa.node_of);
	numa.on = true;
	numa.looked = hz_os.now();
	choose();
	hz_numa_follow();
	return true;
}

void hz_numa_look(void)
{
	uint64_t now;

	if (!numa.on)
		return;
	now = hz_os.now();
	if (now - numa.looked < LOOK_NS)
		return;
	numa.looked = now;
	choose();
}
