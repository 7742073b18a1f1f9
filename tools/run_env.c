/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of the command: LD_PRELOAD and HORIZON_<NAME>.
 */
#include "config.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/log.h"
#include "run.h"

/* Another library has the names of the CUDA driver. */
static const char *preload_name(void)
{
	return hz_knobs.gpu == HZ_GPU_KNOB_OFF ? "libhorizon-preload.so"
					       : "libhorizon-cuda.so";
}

/* In the directory `relative` to that of this executable; NULL if it is not
 * there. */
static char *beside_us(const char *relative)
{
	char exe[PATH_MAX], *path, *real;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	if (asprintf(&path, "%s/%s/%s", exe, relative, preload_name()) < 0)
		return NULL;
	real = realpath(path, NULL);
	free(path);
	return real;
}

/* An uninstalled build comes first: it must not pick up an older library
 * that happens to be installed. */
const char *run_find_preload(void)
{
	static const char *const places[] = {
		"../shim/.libs", "../../shim/.libs", "../lib/horizon"};
	static char installed[PATH_MAX];
	const char *forced = secure_getenv("HORIZON_PRELOAD");
	const char *found;

	if (forced && *forced)
		return access(forced, R_OK) ? NULL : forced;
	for (unsigned i = 0; i < 2; i++)
		if ((found = beside_us(places[i])))
			return found;
	hz_format(installed, sizeof(installed), "%s/%s", HZ_PKGLIBDIR,
		  preload_name());
	if (!access(installed, R_OK))
		return installed;
	return beside_us(places[2]);
}

const char *run_preload(void)
{
	const char *forced = secure_getenv("HORIZON_PRELOAD");
	const char *path = run_find_preload();
	char *full;

	if (!path && forced && *forced)
		cli_die(&run_cli, RUN_FAILED,
			"HORIZON_PRELOAD: %s: cannot be read, name the library "
			"or unset the variable",
			forced);
	if (!path)
		cli_die(&run_cli, RUN_FAILED,
			"%s/%s: not found, run 'make install' or set "
			"HORIZON_PRELOAD to the library",
			HZ_PKGLIBDIR, preload_name());
	full = realpath(path, NULL);
	if (full)
		path = full;
	/* ld.so takes both as separators and knows no way to quote them */
	if (strpbrk(path, ": "))
		cli_die(&run_cli, RUN_FAILED,
			"%s: LD_PRELOAD cannot hold a path with a blank or a "
			"colon, install Horizon elsewhere",
			path);
	return path;
}

void run_env_add(struct run_env *env, const char *name, const char *value)
{
	if (env->count >= RUN_ENV_MAX ||
	    asprintf(&env->var[env->count], "%s=%s", name, value) < 0)
		cli_die(&run_cli, RUN_FAILED, "out of memory");
	env->count++;
}

static bool listed(const char *list, const char *path)
{
	size_t len = strlen(path);

	while (*(list += strspn(list, ": "))) {
		size_t n = strcspn(list, ": ");

		if (n == len && !memcmp(list, path, n))
			return true;
		list += n;
	}
	return false;
}

static void add_preload(struct run_env *env, const char *path)
{
	const char *old = getenv("LD_PRELOAD");
	char *value;

	if (!old || !old[strspn(old, ": ")]) {
		run_env_add(env, "LD_PRELOAD", path);
	} else if (listed(old, path)) {
		run_env_add(env, "LD_PRELOAD", old);
	} else {
		if (asprintf(&value, "%s:%s", path, old) < 0)
			cli_die(&run_cli, RUN_FAILED, "out of memory");
		run_env_add(env, "LD_PRELOAD", value);
		free(value);
	}
}

void run_env_build(struct run_env *env, const char *preload)
{
	char name[64], value[512];

	add_preload(env, preload);
	for (unsigned i = 0; i < hz_knob_count; i++) {
		const struct hz_knob_row *row = &hz_knob_rows[i];

		if (strncmp(hz_knob_source(row), "--", 2))
			continue;
		snprintf(name, sizeof(name), "HORIZON_%s", row->name);
		for (char *c = name; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		hz_knob_print(row, value, sizeof(value));
		run_env_add(env, name, value);
	}
}

void run_env_apply(const struct run_env *env)
{
	for (unsigned i = 0; i < env->count; i++)
		if (putenv(env->var[i]))
			cli_die(&run_cli, RUN_FAILED, "out of memory");
}

/* Quotes only where the shell would see more than a plain word. */
static void print_quoted(const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789%+,-./:=@_";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*word);
	}
	putchar('\'');
}

void run_env_print(const struct run_env *env, char **command)
{
	for (unsigned i = 0; i < env->count; i++) {
		const char *value = strchr(env->var[i], '=') + 1;

		printf("%.*s", (int)(value - env->var[i]), env->var[i]);
		print_quoted(value);
		putchar('\n');
	}
	for (; *command; command++) {
		print_quoted(*command);
		putchar(command[1] ? ' ' : '\n');
	}
}
