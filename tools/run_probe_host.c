/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of --check about the rest of the machine: kernel, filter of system
 * calls, our own library, the CUDA driver.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/os.h"
#include "base/util.h"
#include "run_probe.h"

void run_probe_kernel(struct line *l)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	line_ok(l);
	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2) {
		line_say(l, "unknown");
		return;
	}
	line_say(l, "%s %s", u.sysname, u.release);
	if (major < 6 || (major == 6 && minor < 8))
		line_poor(l, "boot Linux 6.8 or later (UFFDIO_MOVE)");
}

void run_probe_preload(struct line *l)
{
	const char *path = run_find_preload();

	line_ok(l);
	run_found.preload = path != NULL;
	line_say(l, "%s", path ? path : "not found");
	if (!path)
		line_off(l, "make install (or set HORIZON_PRELOAD to the "
			    "library)");
}

bool run_is_filtered(void)
{
	char text[4096];
	const char *at;

	if (hz_os_slurp("/proc/self/status", text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, "\nSeccomp:");
	return at && atoi(at + strlen("\nSeccomp:")) > 0;
}

void run_probe_seccomp(struct line *l)
{
	bool filtered = run_is_filtered();

	line_ok(l);
	line_say(l, !filtered ? "no filter"
		    : run_found.refused
			    ? "a filter, and calls are refused"
			    : "a filter, which refuses nothing that "
			      "is used here");
	if (filtered && run_found.refused)
		line_poor(l, FIX_FILTER);
}

/* ---- the CUDA driver, which is only looked for: to load it would start
 * it ---- */

#define CUDA "libcuda.so.1"

static const char *const usual[] = {
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/lib64",
	"/usr/lib",
	"/usr/lib/wsl/lib",
	"/usr/local/nvidia/lib64",
	"/usr/local/nvidia/lib",
	"/run/opengl-driver/lib",
};

static bool in_dir(const char *dir, size_t n, char *path, size_t len)
{
	snprintf(path, len, "%.*s/" CUDA, (int)n, dir);
	return n && !access(path, R_OK);
}

static bool in_search_path(char *path, size_t len)
{
	const char *dirs = getenv("LD_LIBRARY_PATH");

	while (dirs && *(dirs += strspn(dirs, ":;"))) {
		size_t n = strcspn(dirs, ":;");

		if (in_dir(dirs, n, path, len))
			return true;
		dirs += n;
	}
	return false;
}

/* The loader's cache ends with its strings, each with a NUL behind. */
static bool in_cache(char *path, size_t len)
{
	FILE *f = fopen("/etc/ld.so.cache", "re");
	char *text = NULL;
	size_t room = 0;
	bool found = false;

	while (f && !found && getdelim(&text, &room, '\0', f) > 0) {
		const char *name = strrchr(text, '/');

		found = *text == '/' && name && !strcmp(name, "/" CUDA) &&
			!access(text, R_OK);
		if (found)
			snprintf(path, len, "%s", text);
	}
	free(text);
	if (f)
		fclose(f);
	return found;
}

static bool find_cuda(char *path, size_t len)
{
	if (*hz_knobs.cuda_driver) {
		snprintf(path, len, "%s", hz_knobs.cuda_driver);
		return !access(path, R_OK);
	}
	if (in_search_path(path, len) || in_cache(path, len))
		return true;
	for (unsigned i = 0; i < hz_array_len(usual); i++)
		if (in_dir(usual[i], strlen(usual[i]), path, len))
			return true;
	return false;
}

void run_probe_cuda(struct line *l)
{
	bool observe = hz_knobs.gpu == HZ_GPU_KNOB_OBSERVE;
	char path[300];

	line_ok(l);
	if (find_cuda(path, sizeof(path))) {
		line_say(l,
			 observe ? "%s, gpu = observe: allocations and "
				   "launches are followed"
				 : "%s, gpu = off: programs get it as it is; "
				   "observe would follow their allocations "
				   "and launches",
			 path);
		return;
	}
	line_say(l, *hz_knobs.cuda_driver
			    ? "the file of the knob cuda_driver is not there"
			    : "not found: gpu = observe has nothing to follow");
	if (observe || *hz_knobs.cuda_driver)
		line_poor(l, "install the GPU's driver, or horizon-run --set "
			     "cuda_driver=FILE");
}
