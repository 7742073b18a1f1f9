/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --check: what this machine offers, line by line, what would change an
 * unfavourable line, and the mode that each part would run in.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "base/knobs.h"
#include "base/os.h"
#include "base/util.h"
#include "run_probe.h"

struct run_found run_found;

void line_ok(struct line *l)
{
	l->verdict = "ok";
}

void line_poor(struct line *l, const char *fix)
{
	l->verdict = "poor";
	l->fix = fix;
}

void line_off(struct line *l, const char *fix)
{
	l->verdict = "off";
	l->fix = fix;
}

bool line_of_file(const char *path, char *buf, size_t len)
{
	if (hz_os_slurp(path, buf, len) <= 0)
		return false;
	buf[strcspn(buf, "\n")] = '\0';
	return true;
}

/* ---- memory ---- */

static void check_thp(struct line *l)
{
	char text[128];
	char *word, *end;

	if (!line_of_file("/sys/kernel/mm/transparent_hugepage/enabled", text,
			  sizeof(text))) {
		line_say(l, "not in this kernel");
		line_poor(l, "boot a kernel with CONFIG_TRANSPARENT_HUGEPAGE");
		return;
	}
	word = strchr(text, '[');
	end = word ? strchr(word, ']') : NULL;
	if (end)
		*end = '\0';
	line_ok(l);
	line_say(l, "%s", word ? word + 1 : text);
	if (!strcmp(l->value, "never"))
		line_poor(l, "echo madvise | sudo tee "
			     "/sys/kernel/mm/transparent_hugepage/enabled");
}

static void check_memory(struct line *l)
{
	const struct run_memory *m = &run_found.memory;

	line_ok(l);
	line_say(l, "%B", m->total);
}

static void check_limit(struct line *l)
{
	const struct run_memory *m = &run_found.memory;

	line_ok(l);
	if (m->limit == UINT64_MAX)
		line_say(l, "none");
	else
		line_say(l, "%B (cgroup v%d)", m->limit, m->version);
}

static void check_swap(struct line *l)
{
	line_ok(l);
	if (run_found.memory.swap)
		line_say(l, "%B", run_found.memory.swap);
	else
		line_say(l, "none");
	if (run_found.memory.swap)
		line_poor(l, "sudo swapoff -a (the kernel may page out what is "
			     "kept in RAM)");
}

static void check_memlock(struct line *l)
{
	struct rlimit r;

	line_ok(l);
	if (getrlimit(RLIMIT_MEMLOCK, &r) || r.rlim_cur == RLIM_INFINITY)
		line_say(l, "no limit");
	else
		line_say(l, "%B", (unsigned long long)r.rlim_cur);
}

static void check_maps(struct line *l)
{
	char text[32];

	line_ok(l);
	if (!line_of_file("/proc/sys/vm/max_map_count", text, sizeof(text)))
		snprintf(text, sizeof(text), "unknown");
	line_say(l, "%s", text);
	if (*text != 'u' && atol(text) < 65530)
		line_poor(l, "sudo sysctl -w vm.max_map_count=65530");
}

static void check_preload(struct line *l)
{
	const char *path = run_find_preload();

	line_ok(l);
	run_found.preload = path != NULL;
	line_say(l, "%s", path ? path : "not found");
	if (!path)
		line_off(
			l,
			"make install (or set HORIZON_PRELOAD to the library)");
}

static const struct {
	const char *item;
	void (*probe)(struct line *l);
} lines[] = {
	{"preload library", check_preload},
	{"/dev/userfaultfd", run_probe_device},
	{"userfaultfd", run_probe_syscall},
	{"UFFDIO_MOVE", run_probe_move},
	{"io_uring", run_probe_uring},
	{"huge pages", check_thp},
	{"memory", check_memory},
	{"memory limit", check_limit},
	{"swap", check_swap},
	{"locked memory", check_memlock},
	{"max_map_count", check_maps},
	{"store", run_probe_store},
};

/* What the budget is at most; others in the cgroup may lower it. */
static uint64_t budget(void)
{
	const struct run_memory *m = &run_found.memory;
	uint64_t ram = hz_size_resolve(hz_knobs.ram, m->whole);
	uint64_t room, spare;

	if (m->limit == UINT64_MAX)
		return ram;
	room = hz_size_resolve(hz_knobs.headroom, m->limit);
	if (room == HZ_SIZE_AUTO)
		room = hz_max((uint64_t)64 << 20, m->limit / 100 * 3);
	spare = m->limit > room ? m->limit - room : 0;
	return hz_min(ram, spare);
}

/* "1.5GiB": one word. */
static void print_budget(void)
{
	char text[32];

	hz_format(text, sizeof(text), "%B", budget());
	for (char *c = text; *c; c++)
		if (*c != ' ')
			putchar(*c);
}

static int print_mode(void)
{
	bool works = run_found.fault && run_found.store && run_found.preload &&
		     hz_knobs.enable;

	printf("mode: fault=%s io=%s ram=", works ? "move" : "off",
	       !works         ? "off"
	       : run_found.io ? "uring"
			      : "threads");
	print_budget();
	printf(" store=%s\n", works ? hz_knobs.store : "off");
	cli_flush(&run_cli, RUN_FAILED);
	return works ? 0 : 1;
}

int run_check(void)
{
	run_memory(&run_found.memory);
	for (unsigned i = 0; i < hz_array_len(lines); i++) {
		struct line l = {.fix = NULL};

		lines[i].probe(&l);
		printf("%-16s  %-4s  %s\n", lines[i].item, l.verdict, l.value);
		if (l.fix)
			printf("%-16s  %-4s  try: %s\n", "", "", l.fix);
	}
	if (!hz_knobs.enable)
		printf("%-16s  %-4s  the knob is 0\n%-16s  %-4s  try: "
		       "horizon-run --set enable=1\n",
		       "enable", "off", "", "");
	return print_mode();
}
