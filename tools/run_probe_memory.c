/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of --check about memory: huge pages, how much there is and may be
 * used, swap, NUMA.
 */
#include "config.h"
#include <dlfcn.h>
#include <string.h>
#include <sys/prctl.h>
#include "base/knobs.h"
#include "base/numa.h"
#include "base/parse.h"
#include "run_probe.h"

/* ---- huge pages ---- */

#define THP "/sys/kernel/mm/transparent_hugepage/"
#define SMALL_WHY                                                    \
	"frames are 4 KiB pages: it works, moves are several times " \
	"slower"

/* The word in brackets of "always [madvise] never"; "" where there is none. */
static const char *chosen(const char *file, char *text, size_t len)
{
	char *word, *end;

	if (!line_of_file(file, text, len))
		return "";
	word = strchr(text, '[');
	end = word ? strchr(word, ']') : NULL;
	if (!end)
		return text;
	*end = '\0';
	return word + 1;
}

void run_probe_thp(struct line *l)
{
	char enabled[128], defrag[128];
	const char *on = chosen(THP "enabled", enabled, sizeof(enabled));
	const char *how = chosen(THP "defrag", defrag, sizeof(defrag));

	line_ok(l);
	line_say(l, "%s, defrag %s", on, how);
	if (!*on) {
		line_say(l, "not in this kernel; " SMALL_WHY);
		line_poor(l, "boot a kernel with CONFIG_TRANSPARENT_HUGEPAGE");
	} else if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1) {
		line_say(l, "off for this process; " SMALL_WHY);
		line_poor(l, "start from a process that did not inherit "
			     "PR_SET_THP_DISABLE");
	} else if (!strcmp(on, "never")) {
		line_say(l, "never; " SMALL_WHY);
		line_poor(l, "echo madvise | sudo tee " THP "enabled");
	} else if (!strcmp(how, "never") || !strcmp(how, "defer")) {
		line_say(l,
			 "%s, defrag %s: in fragmented memory frames are "
			 "made huge one by one",
			 on, how);
		line_poor(l, "echo defer+madvise | sudo tee " THP "defrag");
	}
}

/* ---- how much ---- */

void run_probe_memory(struct line *l)
{
	line_ok(l);
	line_say(l, "%B", run_found.memory.total);
}

void run_probe_limit(struct line *l)
{
	const struct run_memory *m = &run_found.memory;

	line_ok(l);
	if (m->limit == UINT64_MAX) {
		line_say(l, "none");
		return;
	}
	line_say(l, "%B (cgroup v%d)", m->limit, m->version);
	if (run_spare(m) < RUN_LEAST_RAM)
		line_poor(l, "docker run --memory SIZE, or systemd-run --scope "
			     "-p MemoryMax=SIZE");
}

void run_probe_budget(struct line *l)
{
	const struct run_memory *m = &run_found.memory;
	uint64_t budget = run_budget(m);
	bool lowered = budget < hz_size_resolve(hz_knobs.ram, m->whole);
	char knob[32];

	hz_print_size(knob, sizeof(knob), hz_knobs.ram);
	line_ok(l);
	line_say(l,
		 hz_knobs.ram.percent ? "%B: %s of %s%s" : "%B: ram = %s%s%s",
		 budget, knob,
		 !hz_knobs.ram.percent	  ? ""
		 : m->limit == UINT64_MAX ? "the machine's memory"
					  : "the cgroup's limit",
		 lowered ? ", less the headroom below the limit" : "");
	if (budget < RUN_LEAST_RAM)
		line_poor(l, "horizon-run --ram SIZE, and a higher memory "
			     "limit");
}

void run_probe_swap(struct line *l)
{
	line_ok(l);
	if (!run_found.memory.swap) {
		line_say(l, "none");
		return;
	}
	line_say(l, "%B", run_found.memory.swap);
	line_poor(l, "sudo swapoff -a (the kernel may page out what is kept in "
		     "RAM)");
}

/* ---- NUMA ---- */

/* How far apart two of these nodes are at most, 10 being near; 0: unknown.
 * libnuma has the firmware's table, where it is installed. */
static int farthest(uint64_t nodes)
{
	void *lib = dlopen("libnuma.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*available)(void) = NULL;
	int (*distance)(int, int) = NULL;
	int most = 0;

	if (lib) {
		*(void **)&available = dlsym(lib, "numa_available");
		*(void **)&distance = dlsym(lib, "numa_distance");
	}
	if (!available || !distance || available() < 0)
		return 0;
	for (int a = 0; a < (int)HZ_NODES; a++)
		for (int b = 0; b < a; b++)
			if ((nodes >> a & 1) && (nodes >> b & 1) &&
			    distance(a, b) > most)
				most = distance(a, b);
	return most;
}

static const struct hz_knob_row *numa_row(void)
{
	const struct hz_knob_row *row = hz_knob_rows;

	while (strcmp(row->name, "numa"))
		row++;
	return row;
}

static bool one_node(uint64_t *nodes, uint64_t *cpus, uint64_t *memory)
{
	return !hz_numa_nodes(nodes, cpus, memory) || !(*nodes & (*nodes - 1));
}

void run_probe_numa(struct line *l)
{
	uint64_t nodes, cpus, memory;
	char how[32], bare[32] = "", far[32] = "";
	int most;

	line_ok(l);
	if (one_node(&nodes, &cpus, &memory)) {
		line_say(l, "1 node: nothing to choose");
		return;
	}
	hz_knob_print(numa_row(), how, sizeof(how));
	if (memory & ~cpus)
		hz_format(bare, sizeof(bare), " (%d without processors)",
			  __builtin_popcountll(memory & ~cpus));
	most = farthest(nodes);
	if (most)
		hz_format(far, sizeof(far), ", distance up to %d", most);
	line_say(l, "%d nodes%s%s, numa = %s", __builtin_popcountll(nodes),
		 bare, far, how);
}

/* The kernel's own balancing unmaps pages to see who uses them, and migrates
 * them: moves meet pages that are busy. */
void run_probe_balancing(struct line *l)
{
	uint64_t nodes, cpus, memory, on;

	line_ok(l);
	if (!number_in_file("/proc/sys/kernel/numa_balancing", &on)) {
		line_say(l, "not in this kernel");
		return;
	}
	line_say(l, on ? "on" : "off");
	if (on && !one_node(&nodes, &cpus, &memory))
		line_poor(l, "sudo sysctl -w kernel.numa_balancing=0 (it "
			     "unmaps and migrates what Horizon moves)");
}
