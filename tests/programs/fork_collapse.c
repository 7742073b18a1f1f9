/* SPDX-License-Identifier: Apache-2.0 */
/*
 * khugepaged comes by a child before its region is armed: a block of which
 * some pages are in the store is not to be filled up with zeros.
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include "forked_engine.h"

#define THP   "/sys/kernel/mm/transparent_hugepage/khugepaged/"
#define TRIES 300u /* of 0.1 s, for khugepaged to come by */

static long get(const char *name)
{
	char path[128], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), THP "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return text[0] ? atol(text) : -1;
}

static bool set(const char *name, long value)
{
	char path[128];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), THP "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && dprintf(fd, "%ld", value) > 0;
	close(fd);
	return ok;
}

/* The settings of this machine that make it come often, and do much. */
static struct {
	const char *name;
	long eager, was;
} settings[] = {
	{"scan_sleep_millisecs", 10, -1},
	{"alloc_sleep_millisecs", 10, -1},
	{"pages_to_scan", 1 << 20, -1},
	{"max_ptes_none", 511, -1},
	{"max_ptes_shared", 511, -1},
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static void give_back(void)
{
	for (unsigned i = 0; i < SETTINGS; i++)
		if (settings[i].was >= 0)
			set(settings[i].name, settings[i].was);
}

static bool make_eager(void)
{
	bool ok = true;

	for (unsigned i = 0; i < SETTINGS; i++) {
		settings[i].was = get(settings[i].name);
		ok = ok && settings[i].was >= 0 &&
		     set(settings[i].name, settings[i].eager);
	}
	return ok;
}

/* Two full scans: one that began after we did. */
static void wait_for_scans(void)
{
	long from = get("full_scans");

	for (unsigned i = 0; i < TRIES && get("full_scans") < from + 2; i++)
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

static void look_at_all(void)
{
	for (size_t page = 0; page < pages; page++)
		look(page);
}

static int run(void)
{
	before_armed = wait_for_scans;
	start_engine("64M");
	make_table(128 * MIB);
	for (size_t page = 0; page < pages; page++)
		put(page, 1);
	scatter(20000);
	CHECK(count("piece_faults"));
	in_a_child(look_at_all);
	scatter(1000);
	look_at_all();
	return 0;
}

/* The settings are the machine's: who changes them does nothing that fails. */
int main(void)
{
	bool eager = make_eager();
	int status = 0, pid = eager ? fork() : -1;

	if (pid == 0)
		exit(run());
	if (pid > 0)
		waitpid(pid, &status, 0);
	give_back();
	if (pid > 0)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	fprintf(stderr, "khugepaged cannot be made to come often\n");
	return 77;
}
