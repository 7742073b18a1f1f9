/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NUMA: the choice on machines that are not here, and what our threads tell
 * the kernel, on a machine made of files.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/numa.h"
#include "base/os.h"

/* ---- the choice ---- */

/* Two nodes, alike: threads on the first. */
static struct hz_numa_facts two_nodes(void)
{
	return (struct hz_numa_facts){
		.memory = 3, .cpus = 3, .threads = {4, 0}};
}

static void expect(int how, const struct hz_numa_facts *f, uint64_t nodes,
		   uint64_t run)
{
	struct hz_numa_choice c = hz_numa_choose(how, f);

	cr_expect_eq(c.nodes, nodes, "nodes %llx", (unsigned long long)c.nodes);
	cr_expect_eq(c.run, run, "run %llx", (unsigned long long)c.run);
}

Test(numa_choice, one_node_is_left_alone)
{
	struct hz_numa_facts f = {.memory = 1, .cpus = 1, .threads = {9}};

	for (int how = HZ_NUMA_AUTO; how <= HZ_NUMA_OFF; how++)
		expect(how, &f, 0, 0);
	f.memory = 0;
	expect(HZ_NUMA_INTERLEAVE, &f, 0, 0);
}

Test(numa_choice, off_is_off)
{
	struct hz_numa_facts f = two_nodes();

	expect(HZ_NUMA_OFF, &f, 0, 0);
}

Test(numa_choice, pages_come_from_where_the_threads_are)
{
	struct hz_numa_facts f = two_nodes();

	expect(HZ_NUMA_AUTO, &f, 1, 1);
	f.threads[0] = 0;
	f.threads[1] = 1;
	expect(HZ_NUMA_AUTO, &f, 2, 2);
}

Test(numa_choice, from_all_nodes_when_threads_are_on_all)
{
	struct hz_numa_facts f = two_nodes();

	f.threads[1] = 3;
	expect(HZ_NUMA_AUTO, &f, 3, 3);
	expect(HZ_NUMA_LOCAL, &f, 1, 1);
	f.threads[1] = 5;
	expect(HZ_NUMA_LOCAL, &f, 2, 2);
}

Test(numa_choice, a_straggler_does_not_count)
{
	struct hz_numa_facts f = two_nodes();

	f.threads[0] = 31;
	f.threads[1] = 1;
	expect(HZ_NUMA_AUTO, &f, 1, 1);
	f.threads[0] = 7;
	expect(HZ_NUMA_AUTO, &f, 3, 3);
}

Test(numa_choice, no_thread_was_seen)
{
	struct hz_numa_facts f = {.memory = 3, .cpus = 3};

	expect(HZ_NUMA_AUTO, &f, 0, 0);
	expect(HZ_NUMA_LOCAL, &f, 0, 0);
	expect(HZ_NUMA_INTERLEAVE, &f, 3, 0);
}

Test(numa_choice, memory_without_processors_is_for_overflow)
{
	struct hz_numa_facts f = two_nodes();

	f.memory = 7;
	f.threads[1] = 4;
	expect(HZ_NUMA_INTERLEAVE, &f, 3, 0);
	expect(HZ_NUMA_AUTO, &f, 3, 3);
	f.cpus = 8; /* all memory is of that kind */
	expect(HZ_NUMA_INTERLEAVE, &f, 7, 0);
}

Test(numa_choice, processors_without_memory)
{
	struct hz_numa_facts f = {.memory = 6, .cpus = 7, .threads = {4, 0, 0}};

	/* The kernel goes to the nearest node by itself. */
	expect(HZ_NUMA_AUTO, &f, 0, 1);
	f.threads[1] = 4;
	expect(HZ_NUMA_AUTO, &f, 2, 3);
}

Test(numa_choice, cpuset_with_memory_of_one_node)
{
	struct hz_numa_facts f = two_nodes();

	f.memory = 2; /* hz_numa_start() takes the others away */
	expect(HZ_NUMA_AUTO, &f, 0, 0);
	expect(HZ_NUMA_INTERLEAVE, &f, 0, 0);
}

Test(numa_choice, full_nodes_are_passed_over)
{
	struct hz_numa_facts f = two_nodes();

	f.threads[1] = 4;
	f.full = 1;
	expect(HZ_NUMA_AUTO, &f, 2, 3);
	expect(HZ_NUMA_INTERLEAVE, &f, 2, 0);
	expect(HZ_NUMA_LOCAL, &f, 0, 1);
	f.full = 3;
	expect(HZ_NUMA_AUTO, &f, 0, 3);
}

Test(numa_choice, the_policy_of_the_process_is_kept)
{
	struct hz_numa_facts f = two_nodes();
	static const int kept[] = {HZ_MPOL_PREFERRED, HZ_MPOL_BIND,
				   HZ_MPOL_INTERLEAVE, 5, 6};

	f.policy_nodes = 2;
	for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		f.policy = kept[i];
		expect(HZ_NUMA_AUTO, &f, 0, 0);
		/* The knob asks for it; only `bind` is strict. */
		expect(HZ_NUMA_INTERLEAVE, &f, kept[i] == HZ_MPOL_BIND ? 2 : 3,
		       0);
	}
	f.policy = HZ_MPOL_BIND;
	expect(HZ_NUMA_LOCAL, &f, 0, 1);
	f.policy = HZ_MPOL_LOCAL;
	f.policy_nodes = 0;
	expect(HZ_NUMA_AUTO, &f, 1, 1);
	f.policy = HZ_MPOL_PREFERRED;
	expect(HZ_NUMA_AUTO, &f, 1, 1);
}

/* ---- texts ---- */

Test(numa_text, lists)
{
	cr_expect_eq(hz_numa_mask("0\n"), 1);
	cr_expect_eq(hz_numa_mask("0-1,3,62-70\n"), 0xc00000000000000bull);
	cr_expect_eq(hz_numa_mask("\n"), 0);
	cr_expect_eq(hz_numa_mask("5-2,x"), 0);
	cr_expect_eq(hz_numa_mask("0-99999999999"), 0);
}

Test(numa_text, last_cpu)
{
	char line[512] = "17 (a) b (c) S";

	for (int i = 4; i < 39; i++)
		sprintf(line + strlen(line), " %d", -i);
	cr_expect_eq(hz_numa_last_cpu(line, "hz-"), -1, "cut");
	strcat(line, " 13 0 0\n");
	cr_expect_eq(hz_numa_last_cpu(line, "hz-"), 13);
	cr_expect_eq(hz_numa_last_cpu(line, "a"), -1);
	cr_expect_eq(hz_numa_last_cpu("", "hz-"), -1);
}

Test(numa_text, full)
{
	cr_expect(hz_numa_is_full("Node 0 MemTotal: 6400 kB\n"
				  "Node 0 MemFree: 40 kB\n"
				  "Node 0 Inactive(file): 59 kB\n"));
	cr_expect_not(hz_numa_is_full("Node 0 MemTotal: 6400 kB\n"
				      "Node 0 MemFree: 40 kB\n"
				      "Node 0 Inactive(file): 60 kB\n"));
	cr_expect_not(hz_numa_is_full(""));
}

/* ---- a machine of two nodes with two processors each, made of files ---- */

static char root[64];
static uint64_t clock_ns;
static int policy, fail_policy;
static unsigned long policy_mask, mems;
static unsigned long affinity; /* of the one thread that there is */
static char calls[4096];

static void note(const char *fmt, ...)
{
	size_t n = strlen(calls);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(calls + n, sizeof(calls) - n, fmt, ap);
	va_end(ap);
}

static void said(const char *want)
{
	cr_expect_str_eq(calls, want);
	calls[0] = '\0';
}

static long get_mempolicy(int *mode, unsigned long *mask, unsigned long bits,
			  unsigned long flags)
{
	cr_assert_eq(bits, 1025);
	*mask = flags ? mems : policy_mask;
	if (mode)
		*mode = policy;
	return 0;
}

static long set_mempolicy(int mode, const unsigned long *mask,
			  unsigned long bits)
{
	note("policy %d %lx\n", mode, mask[0]);
	return fail_policy;
}

static long getaffinity(unsigned long *mask, size_t len)
{
	mask[0] = affinity;
	return 8;
}

static long setaffinity(const unsigned long *mask, size_t len)
{
	note("cpus %lx\n", mask[0]);
	affinity = mask[0];
	return 0;
}

static uint64_t now(void)
{
	return clock_ns;
}

static int open_in_root(const char *path, int flags, int mode)
{
	char there[512];

	snprintf(there, sizeof(there), "%s%s", root, path);
	return hz_os_linux.open(there, flags, mode);
}

static void put(const char *path, const char *text)
{
	char there[512];
	FILE *f;

	snprintf(there, sizeof(there), "%s%s", root, path);
	for (char *c = there + strlen(root) + 1; (c = strchr(c, '/')); c++) {
		*c = '\0';
		mkdir(there, 0700);
		*c = '/';
	}
	f = fopen(there, "w");
	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_thread(int tid, const char *name, int cpu)
{
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	snprintf(line, sizeof(line), "%d (%s) S", tid, name);
	for (int i = 4; i < 39; i++)
		strcat(line, " 0");
	sprintf(line + strlen(line), " %d 0\n", cpu);
	put(path, line);
}

#define NODE "/sys/devices/system/node/"
#define FREE "Node 0 MemTotal: 1000 kB\nNode 0 MemFree: 900 kB\n"
#define FULL "Node 0 MemTotal: 1000 kB\nNode 0 MemFree: 1 kB\n"

static void make_machine(void)
{
	strcpy(root, "numa-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	put(NODE "online", "0-1\n");
	put(NODE "has_cpu", "0-1\n");
	put(NODE "has_memory", "0-1\n");
	put(NODE "node0/cpulist", "0-1\n");
	put(NODE "node1/cpulist", "2,3\n");
	put(NODE "node0/meminfo", FREE);
	put(NODE "node1/meminfo", FREE);
	put_thread(10, "train", 1);
	put_thread(11, "hz-aux", 3);
	mems = 3;
	affinity = 0xf;
	hz_os.open = open_in_root;
	hz_os.now = now;
	hz_numa_sys.get_mempolicy = get_mempolicy;
	hz_numa_sys.set_mempolicy = set_mempolicy;
	hz_numa_sys.getaffinity = getaffinity;
	hz_numa_sys.setaffinity = setaffinity;
}

static void remove_machine(void)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(numa, .init = make_machine, .fini = remove_machine);

static void a_second_later(void)
{
	clock_ns += 1000000000;
	hz_numa_look();
	hz_numa_follow();
}

Test(numa, pages_and_threads_go_to_the_programs_node)
{
	cr_assert(hz_numa_start(HZ_NUMA_AUTO));
	said("cpus 3\npolicy 1 1\n");
	hz_numa_follow();
	said("");
}

Test(numa, the_choice_follows_the_program)
{
	hz_numa_start(HZ_NUMA_AUTO);
	said("cpus 3\npolicy 1 1\n");
	put_thread(12, "worker", 2);
	hz_numa_look();
	hz_numa_follow();
	said(""); /* not so soon */
	a_second_later();
	said("cpus f\npolicy 3 3\n");
	put_thread(10, "train", 3);
	a_second_later();
	said("cpus c\npolicy 1 2\n");
	a_second_later();
	said("");
}

Test(numa, a_full_node_is_left_to_the_kernels_order)
{
	hz_numa_start(HZ_NUMA_LOCAL);
	said("cpus 3\npolicy 1 1\n");
	put(NODE "node0/meminfo", FULL);
	a_second_later();
	said("policy 0 0\n");
}

Test(numa, within_the_processors_that_are_allowed)
{
	affinity = 0x2;
	hz_numa_start(HZ_NUMA_AUTO);
	said("policy 1 1\n");
	put_thread(10, "train", 3);
	a_second_later();
	said("policy 1 2\n"); /* none of node 1's is ours */
}

Test(numa, what_others_set_since_is_kept)
{
	hz_numa_start(HZ_NUMA_AUTO);
	said("cpus 3\npolicy 1 1\n");
	affinity = 0x1; /* taskset -ap */
	put_thread(10, "train", 3);
	a_second_later();
	said("policy 1 2\n");
}

Test(numa, memory_of_the_cpuset)
{
	mems = 2;
	cr_assert(hz_numa_start(HZ_NUMA_AUTO));
	said("");
}

Test(numa, a_policy_of_the_process_is_inherited)
{
	policy = HZ_MPOL_INTERLEAVE | 1 << 15; /* MPOL_F_STATIC_NODES */
	policy_mask = 3;
	cr_assert(hz_numa_start(HZ_NUMA_AUTO));
	said("");
}

Test(numa, the_inherited_policy_comes_back)
{
	policy = HZ_MPOL_BIND | 1 << 15;
	policy_mask = 1;
	hz_numa_start(HZ_NUMA_LOCAL);
	said("cpus 3\npolicy 1 1\n");
	put_thread(10, "train", 3);
	a_second_later();
	said("cpus c\npolicy 32770 1\n");
}

Test(numa, a_refusal_is_survived)
{
	fail_policy = -EPERM;
	cr_assert(hz_numa_start(HZ_NUMA_INTERLEAVE));
	said("policy 3 3\n");
	a_second_later();
	said("");
}

Test(numa, one_node_asks_for_nothing)
{
	put(NODE "online", "0\n");
	cr_expect_not(hz_numa_start(HZ_NUMA_AUTO));
	a_second_later();
	said("");
}

Test(numa, a_kernel_without_nodes)
{
	char path[128];

	snprintf(path, sizeof(path), "%s" NODE "online", root);
	unlink(path);
	cr_expect_not(hz_numa_start(HZ_NUMA_AUTO));
	said("");
}

Test(numa, off)
{
	cr_expect_not(hz_numa_start(HZ_NUMA_OFF));
	a_second_later();
	said("");
}

Test(numa, a_forked_child_starts_anew)
{
	hz_numa_start(HZ_NUMA_AUTO);
	said("cpus 3\npolicy 1 1\n");
	put_thread(10, "train", 3);
	a_second_later();
	said("cpus c\npolicy 1 2\n");
	hz_numa_start(HZ_NUMA_AUTO); /* with what the parent's thread had */
	said("policy 1 2\n");
}

static pthread_barrier_t all_there, all_seen;

static void *stay(void *name)
{
	prctl(PR_SET_NAME, name);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_seen);
	return NULL;
}

/* The real threads of this process. */
Test(numa_here, threads_are_counted_but_ours)
{
	static char names[][16] = {"train", "hz-fault", "a) b (c", "hz-io"};
	static uint8_t node_of[HZ_CPUS]; /* all on node 0 */
	struct hz_numa_facts before = {0}, f = {.threads = {99}};
	pthread_t id[4];

	hz_numa_threads(&before, node_of);
	pthread_barrier_init(&all_there, NULL, 5);
	pthread_barrier_init(&all_seen, NULL, 5);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&id[i], NULL, stay, names[i]), 0);
	pthread_barrier_wait(&all_there);
	hz_numa_threads(&f, node_of);
	pthread_barrier_wait(&all_seen);
	for (int i = 0; i < 4; i++)
		pthread_join(id[i], NULL);
	cr_expect_geq(before.threads[0], 1);
	cr_expect_eq(f.threads[0], before.threads[0] + 2);
	memset(node_of, HZ_NODES, sizeof(node_of));
	hz_numa_threads(&f, node_of);
	cr_expect_eq(f.threads[0], 0);
}

/* The real system calls of this machine, whatever it has. */
Test(numa_here, the_kernel_answers)
{
	unsigned long cpus[HZ_CPUS / 64] = {0};
	char buf[1024];
	int fd = hz_os.open("/proc/self/task", 0, 0);

	errno = 0;
	cr_expect_gt(hz_numa_sys.getaffinity(cpus, sizeof(cpus)), 0);
	cr_expect_eq(hz_numa_sys.setaffinity(cpus, sizeof(cpus)), 0);
	cr_expect_gt(hz_numa_sys.getdents(fd, buf, sizeof(buf)), 0);
	hz_numa_start(HZ_NUMA_INTERLEAVE);
	cr_expect_eq(errno, 0);
	hz_os.close(fd);
}
