/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where knobs come from: the files, then the environment.
 *
 * A set-user-ID program reads the system's file alone: whoever starts it may
 * not choose where its memory is written to.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "base/parse.h"
#include "base/util.h"

#ifndef HZ_SYSCONFDIR
#define HZ_SYSCONFDIR "/etc"
#endif
#define FILE_NAME      "horizon.conf"
#define FILE_MAX_BYTES 65536
#define PREFIX	       "HORIZON_"

/* One at a time: knobs are loaded by one thread. Two bytes more than a file
 * may have: one tells "too large", one is the NUL. */
static char content[FILE_MAX_BYTES + 2];

/* Counts what it passes on. */
struct listener {
	hz_knob_complain *complain;
	void *arg;
	int count;
};

static void hear(void *arg, const char *message)
{
	struct listener *to = arg;

	to->count++;
	if (to->complain)
		to->complain(to->arg, message);
}

/* The value of `name` in the environment, NULL without one. */
static const char *lookup(char **envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

/* A '#' starts a comment at the beginning of a line or behind a blank; a
 * path may hold one elsewhere. */
static void cut_comment(char *line)
{
	for (char *p = line; *p; p++) {
		if (*p != '#' || (p > line && p[-1] != ' ' && p[-1] != '\t'))
			continue;
		*p = '\0';
		return;
	}
}

static void load_line(char *line, const char *place, struct listener *to)
{
	char *key, *eq;

	cut_comment(line);
	key = hz_trim(line);
	if (!*key)
		return;
	eq = strchr(key, '=');
	if (!eq) {
		hz_knob_say(hear, to, "%s: no '=' in this line (key = value)",
			    place);
		return;
	}
	*eq = '\0';
	hz_knob_set(hz_trim(key), hz_trim(eq + 1), place, hear, to);
}

/* "path:line"; the file's name alone where the path is very long. */
static void place_text(char *buf, size_t len, const char *path, unsigned line)
{
	const char *name = strrchr(path, '/');

	if (hz_format(buf, len, "%s:%u", path, line) >= (int)len && name)
		hz_format(buf, len, "%s:%u", name + 1, line);
}

static void load_lines(char *text, const char *path, struct listener *to)
{
	char place[160];
	char *next;

	for (unsigned line = 1; text; line++, text = next) {
		next = strchr(text, '\n');
		if (next)
			*next++ = '\0';
		place_text(place, sizeof(place), path, line);
		load_line(text, place, to);
	}
}

/* A file that nobody named may be missing, or be out of our reach because
 * HOME is another user's. */
static void load_file(const char *path, bool named, struct listener *to)
{
	ssize_t n = hz_os_slurp(path, content, sizeof(content));

	if (!named && (n == -ENOENT || n == -ENOTDIR || n == -EACCES))
		return;
	if (n < 0)
		hz_knob_say(hear, to, "%s%s: cannot be read (%m)",
			    named ? PREFIX "CONF: " : "", path, (int)n);
	else if (n > FILE_MAX_BYTES)
		hz_knob_say(hear, to, "%s: is larger than 64 KiB", path);
	else if (strlen(content) != (size_t)n)
		hz_knob_say(hear, to, "%s: is no text (it has a NUL byte)",
			    path);
	else
		load_lines(content, path, to);
}

/* Relative paths do not count, as the XDG specification has it. */
static void load_user_file(char **envp, struct listener *to)
{
	char path[4096];
	const char *dir = lookup(envp, "XDG_CONFIG_HOME");
	const char *below = "";

	if (!dir || *dir != '/') {
		dir = lookup(envp, "HOME");
		below = "/.config";
	}
	if (!dir || *dir != '/')
		return;
	if (hz_format(path, sizeof(path), "%s%s/" FILE_NAME, dir, below) <
	    (int)sizeof(path))
		load_file(path, false, to);
}

/* HORIZON_STORE_SIZE=... sets store_size. */
static void load_variable(const char *var, struct listener *to)
{
	char source[80], name[64];
	const char *eq = strchr(var, '=');
	size_t n;

	if (!eq)
		return;
	n = hz_min((size_t)(eq - var), sizeof(source) - 1);
	memcpy(source, var, n);
	source[n] = '\0';
	if (!strcmp(source, PREFIX "CONF") || !strcmp(source, PREFIX "PRELOAD"))
		return;
	hz_format(name, sizeof(name), "%s", source + strlen(PREFIX));
	/* the other way too: HORIZON_ram must not be taken for ram */
	for (char *p = name; *p; p++)
		if ((*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z'))
			*p ^= 'a' ^ 'A';
	hz_knob_set(name, eq + 1, source, hear, to);
}

static void load_environment(char **envp, struct listener *to)
{
	for (; envp && *envp; envp++)
		if (!strncmp(*envp, PREFIX, strlen(PREFIX)))
			load_variable(*envp, to);
}

int hz_knobs_load(char **envp, hz_knob_complain *complain, void *arg)
{
	struct listener to = {.complain = complain, .arg = arg};
	bool secure = getauxval(AT_SECURE) != 0;
	const char *named = secure ? NULL : lookup(envp, PREFIX "CONF");

	hz_knobs_reset();
	load_file(HZ_SYSCONFDIR "/" FILE_NAME, false, &to);
	if (secure)
		return to.count;
	load_user_file(envp, &to);
	if (named && *named)
		load_file(named, true, &to);
	load_environment(envp, &to);
	return to.count;
}
