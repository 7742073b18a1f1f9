/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be said about the store and the sizes before anything runs. The
 * store is only looked at: nothing is written or made.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "backend/store_guard.h"
#include "base/knobs.h"
#include "base/log.h"
#include "run.h"

static int refuse(char *why, size_t len, int err, const char *what)
{
	hz_format(why, len, "%s (%m)", what, err);
	return err;
}

/* access(2) for the effective user, so that root of a container and set-user
 * programs get the right answer. */
static int may(const char *path, int how)
{
	return faccessat(AT_FDCWD, path, how, AT_EACCESS) ? -errno : 0;
}

static uint64_t free_space(const char *dir)
{
	struct statvfs fs;

	if (statvfs(dir, &fs))
		return 0;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static void set_parent(const char *path, struct run_store *s)
{
	char *slash;

	snprintf(s->parent, sizeof(s->parent), "%s", path);
	slash = strrchr(s->parent, '/');
	if (!slash)
		snprintf(s->parent, sizeof(s->parent), ".");
	else
		slash[slash == s->parent] = '\0';
}

/* A file that is not there yet: its directory must take it. */
static int look_at_parent(const char *path, struct run_store *s, char *why,
			  size_t len)
{
	struct stat st;
	int err;

	set_parent(path, s);
	s->kind = RUN_STORE_FILE;
	s->bytes = free_space(s->parent);
	if (stat(s->parent, &st))
		return refuse(why, len, -errno, "not there");
	if (!S_ISDIR(st.st_mode))
		return refuse(why, len, -ENOTDIR, "not there");
	err = may(s->parent, W_OK | X_OK);
	return err ? refuse(why, len, err, "cannot be made") : 0;
}

/* Has it content that somebody would miss? */
static int look_into(const char *path, struct run_store *s, char *why,
		     size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	s->foreign =
		fd >= 0 && !hz_knobs.store_overwrite && hz_store_foreign(fd);
	if (fd >= 0)
		close(fd);
	if (!s->foreign)
		return 0;
	hz_format(why, len, "has content that is not from Horizon");
	return -EEXIST;
}

static int look_at_file_system(const char *path, char *why, size_t len)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	const char *type = fd < 0 ? NULL : hz_store_pseudo(fd);

	if (fd >= 0)
		close(fd);
	if (!type)
		return 0;
	hz_format(why, len, "is on %s, which stores nothing", type);
	return -EINVAL;
}

static int look_at(const char *path, const struct stat *st, struct run_store *s,
		   char *why, size_t len)
{
	int err;

	if (S_ISDIR(st->st_mode)) {
		s->kind = RUN_STORE_DIR;
		s->bytes = free_space(path);
		err = may(path, W_OK | X_OK);
	} else if (S_ISREG(st->st_mode)) {
		s->kind = RUN_STORE_FILE;
		/* an empty file is filled like a new one */
		s->bytes =
			st->st_size ? (uint64_t)st->st_size : free_space(path);
		err = may(path, R_OK | W_OK);
	} else if (S_ISBLK(st->st_mode)) {
		s->kind = RUN_STORE_DEVICE;
		err = may(path, R_OK | W_OK);
	} else {
		return refuse(why, len, -EINVAL,
			      "neither directory, file nor block device");
	}
	if (err)
		return refuse(why, len, err, "cannot be written");
	return s->kind == RUN_STORE_FILE ? look_into(path, s, why, len) : 0;
}

int run_store_look(const char *path, struct run_store *s, char *why, size_t len)
{
	struct stat st;
	int err;

	memset(s, 0, sizeof(*s));
	if (!*path)
		return refuse(why, len, -ENOENT, "no path");
	if (stat(path, &st)) {
		if (errno != ENOENT)
			return refuse(why, len, -errno, "not there");
		err = look_at_parent(path, s, why, len);
		return err ? err : look_at_file_system(s->parent, why, len);
	}
	s->exists = true;
	snprintf(s->parent, sizeof(s->parent), "%s", path);
	err = look_at_file_system(path, why, len);
	return err ? err : look_at(path, &st, s, why, len);
}

/* ---- pre-flight ---- */

static const struct hz_knob_row *find_row(const char *name)
{
	for (unsigned i = 0; i < hz_knob_count; i++)
		if (!strcmp(hz_knob_rows[i].name, name))
			return &hz_knob_rows[i];
	cli_die(&run_cli, RUN_FAILED, "no knob %s", name);
}

const char *run_source(const char *knob)
{
	return hz_knob_source(find_row(knob));
}

/* --store and HORIZON_STORE say the knob themselves, other places do not. */
static const char *place_of(const char *knob)
{
	static char text[256];
	const char *source = run_source(knob);
	bool says = !strncmp(source, "HORIZON_", 8) ||
		    (!strncmp(source, "--", 2) && strcmp(source, "--set"));

	hz_format(text, sizeof(text), says ? "%s" : "%s: %s", source, knob);
	return text;
}

/* A percentage is only checked here, where 100 % is known. */
static void check_ram(void)
{
	const struct hz_knob_row *row = find_row("ram");
	struct run_memory m;
	uint64_t ram;

	run_memory(&m);
	ram = hz_size_resolve(hz_knobs.ram, m.whole);
	if (ram < (uint64_t)row->min)
		cli_die(&run_cli, RUN_FAILED,
			"%s: %u%% of %B is below the minimum of %B, give more",
			place_of("ram"), hz_knobs.ram.percent, m.whole,
			row->min);
	if (ram != HZ_SIZE_AUTO && ram > m.whole && m.whole)
		cli_warn(&run_cli,
			 "%s: %B is more than the %B there are, the budget "
			 "will be lower",
			 place_of("ram"), ram, m.whole);
}

static void check_store(void)
{
	struct run_store s;
	char why[256];
	uint64_t size;

	if (run_store_look(hz_knobs.store, &s, why, sizeof(why)))
		cli_die(&run_cli, RUN_FAILED, "%s: %s: %s, %s",
			place_of("store"), hz_knobs.store, why,
			s.foreign ? "name another file, or set "
				    "store_overwrite=1 to lose it"
				  : "name a directory, file or block device "
				    "that you can write");
	size = hz_size_resolve(hz_knobs.store_size, s.bytes);
	if (s.bytes && size != HZ_SIZE_AUTO && size > s.bytes)
		cli_warn(&run_cli, "%s: %B is more than the %B of %s",
			 place_of("store_size"), size, s.bytes, hz_knobs.store);
}

void run_preflight(void)
{
	if (!hz_knobs.enable)
		return;
	check_ram();
	check_store();
}

/* Each process makes its own, when it has something to record. */
void run_clear_trace(void)
{
	const char *path = hz_knobs.trace_file;
	struct stat st;
	int fd;

	/* From the environment: it may be that of the run that we are part of,
	 * which writes it now. */
	if (!*path || strncmp(run_source("trace_file"), "--", 2))
		return;
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		cli_die(&run_cli, RUN_FAILED,
			"trace_file: %s: not a regular file, name another one",
			path);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		cli_die(&run_cli, RUN_FAILED,
			"trace_file: %s: cannot be made (%s)", path,
			strerror(errno));
	close(fd);
	unlink(path);
}
