/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knobs: the table itself, one value by each source, which source wins, and
 * the message for each mistake.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/os.h"
#include "base/util.h"

static char dir[64];
static int complaints;
static char last[1024];

static void hear(void *arg, const char *message)
{
	complaints++;
	snprintf(last, sizeof(last), "%s", message);
	cr_expect_eq(arg, &complaints);
}

/* The machine's own horizon.conf is none of the test's business. */
static int open_ours(const char *path, int flags, int mode)
{
	if (!*dir || strncmp(path, dir, strlen(dir)))
		return -ENOENT;
	return hz_os_linux.open(path, flags, mode);
}

static void setup(void)
{
	hz_os.open = open_ours;
	strcpy(dir, "/tmp/base-knobs-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_expect_eq(system(command), 0);
}

TestSuite(knobs, .init = setup, .fini = teardown);

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void write_bytes(const char *name, const void *text, size_t len)
{
	FILE *f = fopen(path_of(name), "w");

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(text, 1, len, f), len);
	cr_assert_eq(fclose(f), 0);
}

static void write_file(const char *name, const char *text)
{
	write_bytes(name, text, strlen(text));
}

/* The environment's type has no const, but nobody writes to it. */
static int load(const char *const *envp)
{
	complaints = 0;
	last[0] = '\0';
	return hz_knobs_load((char **)envp, hear, &complaints);
}

/* Load the file alone, through HORIZON_CONF. */
static int load_conf(const char *text)
{
	char var[160];
	const char *envp[] = {var, NULL};

	write_file("a.conf", text);
	snprintf(var, sizeof(var), "HORIZON_CONF=%s", path_of("a.conf"));
	return load(envp);
}

static int set(const char *name, const char *value)
{
	complaints = 0;
	last[0] = '\0';
	return hz_knob_set(name, value, "--set", hear, &complaints);
}

static const struct hz_knob_row *row(const char *name)
{
	for (unsigned i = 0; i < hz_knob_count; i++)
		if (!strcmp(hz_knob_rows[i].name, name))
			return &hz_knob_rows[i];
	cr_assert_fail("no row %s", name);
	return NULL;
}

static const char *source(const char *name)
{
	return hz_knob_source(row(name));
}

#define expect_said(want_)                     \
	do {                                   \
		cr_expect_str_eq(last, want_); \
		cr_expect_eq(complaints, 1);   \
	} while (0)

/* Said of a file: the directory in front is the test's. */
#define expect_said_of(file_, want_)                                           \
	do {                                                                   \
		char want_buf_[512];                                           \
		snprintf(want_buf_, sizeof(want_buf_), "%s%s", path_of(file_), \
			 want_);                                               \
		expect_said(want_buf_);                                        \
	} while (0)

Test(knobs, every_default_is_a_right_value)
{
	const char *none[] = {NULL};
	char text[300];

	cr_expect_eq(load(none), 0);
	for (unsigned i = 0; i < hz_knob_count; i++) {
		const struct hz_knob_row *r = &hz_knob_rows[i];

		cr_expect_eq(set(r->name, r->def), 0, "%s: %s", r->name, last);
		hz_knob_print(r, text, sizeof(text));
		cr_expect_str_eq(text, r->def, "%s", r->name);
		cr_expect_not(hz_knob_is_set(r), "%s", r->name);
		cr_expect_eq(r->words != NULL, r->type == HZ_KNOB_ENUM);
		cr_expect_gt(strlen(r->text), 20);
	}
}

Test(knobs, defaults_hold_before_and_after_loading)
{
	const char *none[] = {NULL};

	cr_expect_eq(set("io_depth", "32"), 0);
	cr_expect_eq(hz_knobs.ram.percent, 80);
	cr_expect_eq(load(none), 0);
	cr_expect_eq(hz_knobs.enable, 1);
	cr_expect_eq(hz_knobs.ram.percent, 80);
	cr_expect_eq(hz_knobs.headroom.bytes, HZ_SIZE_AUTO);
	cr_expect_eq(hz_knobs.min_size.bytes, 1 << 20);
	cr_expect_eq(hz_knobs.io_depth, 16); /* loading starts anew */
	cr_expect_eq(hz_knobs.fault, HZ_FAULT_AUTO);
	cr_expect_eq(hz_knobs.log, 1);
	cr_expect_str_eq(hz_knobs.store, "/var/tmp");
	cr_expect_str_eq(source("ram"), "built-in");
}

Test(knobs, each_type_is_set_and_printed)
{
	static const char *const cases[][3] = {
		{"enable", "off", "0"},	      {"io_depth", "64", "64"},
		{"ram", "1.5G", "1536M"},     {"ram", "50%", "50%"},
		{"headroom", "auto", "auto"}, {"write_cap", "0", "0"},
		{"store", "/a b", "/a b"},    {"io", "threads", "threads"},
		{"fault", "OFF", "off"},      {"read_ahead", "0", "0"},
	};
	char text[300];

	for (unsigned i = 0; i < hz_array_len(cases); i++) {
		cr_expect_eq(set(cases[i][0], cases[i][1]), 0, "%s", last);
		cr_expect_eq(
			hz_knob_print(row(cases[i][0]), text, sizeof(text)),
			(int)strlen(cases[i][2]));
		cr_expect_str_eq(text, cases[i][2]);
		cr_expect_str_eq(source(cases[i][0]), "--set");
	}
	cr_expect_eq(hz_knobs.io, HZ_IO_THREADS);
	cr_expect_eq(hz_knobs.fault, HZ_FAULT_OFF);
	cr_expect(hz_knob_is_set(row("store")));
	cr_expect_not(hz_knob_is_set(row("headroom")));
}

Test(knobs, malformed)
{
	static const char *const cases[][3] = {
		{"ram", "12Q",
		 "--set: ram: '12Q' is not a size (bytes with K, M, G or T, "
		 "or N%)"},
		{"ram", "",
		 "--set: ram: '' is not a size (bytes with K, M, G or T, or "
		 "N%)"},
		{"ram", "auto",
		 "--set: ram: 'auto' is not a size (bytes with K, M, G or T, "
		 "or N%)"},
		{"headroom", "x",
		 "--set: headroom: 'x' is not a size (bytes with K, M, G or T, "
		 "or auto)"},
		{"min_size", "50%",
		 "--set: min_size: '50%' is not a size (bytes with K, M, G or "
		 "T)"},
		{"io_depth", "4K",
		 "--set: io_depth: '4K' is not a whole "
		 "number"},
		{"enable", "maybe",
		 "--set: enable: 'maybe' is not a switch (0, 1, off, on, no, "
		 "yes, false or true)"},
		{"fault", "mvoe",
		 "--set: fault: 'mvoe' is not one of auto, move, off (did you "
		 "mean 'move'?)"},
	};

	for (unsigned i = 0; i < hz_array_len(cases); i++) {
		cr_expect_eq(set(cases[i][0], cases[i][1]), -EINVAL);
		expect_said(cases[i][2]);
	}
}

Test(knobs, out_of_range)
{
	static const char *const cases[][3] = {
		{"ram", "1K", "--set: ram: 1K is below the minimum 64M"},
		{"ram", "101%", "--set: ram: 101% is outside 1% to 100%"},
		{"ram", "0%", "--set: ram: 0% is outside 1% to 100%"},
		{"io_depth", "0",
		 "--set: io_depth: 0 is below the minimum 1 (1 to 256)"},
		{"io_depth", "257",
		 "--set: io_depth: 257 is above the maximum 256 (1 to 256)"},
		{"io_depth", "99999999999999999999",
		 "--set: io_depth: 99999999999999999999 is above the maximum "
		 "256 (1 to 256)"},
		{"read_ahead", "-1",
		 "--set: read_ahead: -1 is below the minimum 0 (0 to 64)"},
		{"write_cap", "16777215T",
		 "--set: write_cap: 16777215T is above the maximum "
		 "9223372036854775807 (0 to 9223372036854775807)"},
		{"write_cap", "99999999T",
		 "--set: write_cap: 99999999T is above the maximum "
		 "9223372036854775807 (0 to 9223372036854775807)"},
	};

	for (unsigned i = 0; i < hz_array_len(cases); i++) {
		cr_expect_eq(set(cases[i][0], cases[i][1]), -ERANGE);
		expect_said(cases[i][2]);
	}
}

Test(knobs, a_refused_value_changes_nothing)
{
	cr_expect_eq(set("io_depth", "32"), 0);
	cr_expect_eq(hz_knob_set("io_depth", "1000", "--io", hear, &complaints),
		     -ERANGE);
	cr_expect_eq(hz_knobs.io_depth, 32);
	cr_expect_str_eq(source("io_depth"), "--set");
	cr_expect_eq(hz_knob_set("io_depth", "1000", "--io", NULL, NULL),
		     -ERANGE);
}

Test(knobs, text_of_255_bytes_at_most)
{
	char text[260];

	memset(text, 'a', sizeof(text));
	text[255] = '\0';
	cr_expect_eq(set("store", text), 0);
	cr_expect_str_eq(hz_knobs.store, text);
	text[255] = 'a';
	text[256] = '\0';
	cr_expect_eq(set("store", text), -ERANGE);
	cr_expect(strstr(last, "...' is longer than 255 bytes"), "%s", last);
	cr_expect_eq(strlen(hz_knobs.store), 255);
	cr_expect_eq(set("store", ""), 0);
	cr_expect_str_eq(hz_knobs.store, "");
}

Test(knobs, unknown_names_get_the_nearest)
{
	cr_expect_eq(set("rma", "1G"), -ENOENT);
	expect_said("--set: unknown knob 'rma' (did you mean 'ram'?)");
	cr_expect_eq(set("store-size", "1G"), -ENOENT);
	expect_said("--set: unknown knob 'store-size' (did you mean "
		    "'store_size'?)");
	cr_expect_eq(set("RAM", "1G"), -ENOENT);
	expect_said("--set: unknown knob 'RAM' (did you mean 'ram'?)");
	cr_expect_eq(set("", "1G"), -ENOENT);
}

Test(knobs, pairs)
{
	complaints = 0;
	cr_expect_eq(hz_knob_set_pair("io_depth=8", "--set", hear, &complaints),
		     0);
	cr_expect_eq(hz_knobs.io_depth, 8);
	cr_expect_eq(hz_knob_set_pair("store=/a=b", "--set", hear, &complaints),
		     0);
	cr_expect_str_eq(hz_knobs.store, "/a=b");
	cr_expect_eq(complaints, 0);
	cr_expect_eq(hz_knob_set_pair("io_depth", "--set", hear, &complaints),
		     -EINVAL);
	expect_said("--set: 'io_depth' is not NAME=VALUE");
}

Test(knobs, a_source_that_says_the_name)
{
	hz_knob_set("store_size", "x", "--store-size", hear, &complaints);
	expect_said("--store-size: 'x' is not a size (bytes with K, M, G or T, "
		    "or N%, or auto)");
	complaints = 0;
	hz_knob_set("ram", "x", "--ramp", hear, &complaints);
	cr_expect(!strncmp(last, "--ramp: ram: ", 13), "%s", last);
}

Test(knobs, environment)
{
	const char *envp[] = {"PATH=/bin",
			      "HORIZON_RAM=1G",
			      "HORIZON_STORE_SIZE=2T",
			      "HORIZON_PRELOAD=/x.so",
			      "HORIZON_CONF=",
			      NULL};

	cr_expect_eq(load(envp), 0, "%s", last);
	cr_expect_eq(hz_knobs.ram.bytes, 1 << 30);
	cr_expect_eq(hz_knobs.store_size.bytes, 2ull << 40);
	cr_expect_str_eq(source("ram"), "HORIZON_RAM");
	cr_expect_str_eq(source("io"), "built-in");
}

Test(knobs, mistakes_in_the_environment)
{
	const char *below[] = {"HORIZON_RAM=1K", NULL};
	const char *unknown[] = {"HORIZON_RMA=1G", NULL};
	const char *lower[] = {"HORIZON_ram=1G", NULL};
	const char *two[] = {"HORIZON_IO=x", "HORIZON_IOO=x",
			     "HORIZON_LOG=info", NULL};

	cr_expect_eq(load(below), 1);
	expect_said("HORIZON_RAM: 1K is below the minimum 64M");
	cr_expect_eq(hz_knobs.ram.percent, 80);
	cr_expect_eq(load(unknown), 1);
	expect_said("HORIZON_RMA: unknown knob 'rma' (did you mean 'ram'?)");
	cr_expect_eq(load(lower), 1);
	expect_said("HORIZON_ram: unknown knob 'RAM' (did you mean 'ram'?)");
	cr_expect_eq(hz_knobs.ram.percent, 80);
	cr_expect_eq(load(two), 2);
	cr_expect_eq(hz_knobs.log, 2); /* a mistake stops no other knob */
}

Test(knobs, a_file)
{
	cr_expect_eq(load_conf("# a comment\n"
			       "\n"
			       "ram = 2G\n"
			       "  io_depth=4  # behind a value\r\n"
			       "store = /data#1/hz\n"
			       "only =\n"
			       "\t# another\n"
			       "fault = move"),
		     0, "%s", last);
	cr_expect_eq(hz_knobs.ram.bytes, 2ull << 30);
	cr_expect_eq(hz_knobs.io_depth, 4);
	cr_expect_str_eq(hz_knobs.store, "/data#1/hz");
	cr_expect_str_eq(hz_knobs.only, "");
	cr_expect_eq(hz_knobs.fault, HZ_FAULT_MOVE);
	cr_expect(strstr(source("ram"), "/a.conf:3"), "%s", source("ram"));
	cr_expect(strstr(source("fault"), "/a.conf:8"), "%s", source("fault"));
}

Test(knobs, mistakes_in_a_file)
{
	cr_expect_eq(load_conf("\n\nram = 12Q\nio_depth = 5\n"), 1);
	expect_said_of("a.conf", ":3: ram: '12Q' is not a size (bytes with K, "
				 "M, G or T, or N%)");
	cr_expect_eq(hz_knobs.io_depth, 5);
	cr_expect_eq(load_conf("iodepth = 1"), 1);
	expect_said_of("a.conf", ":1: unknown knob 'iodepth' (did you mean "
				 "'io_depth'?)");
	cr_expect_eq(load_conf("ram 5G\n"), 1);
	expect_said_of("a.conf", ":1: no '=' in this line (key = value)");
	cr_expect_eq(load_conf("= 5G\nram=1\nx"), 3);
}

Test(knobs, files_that_cannot_be)
{
	static char big[65537];
	const char *missing[] = {"HORIZON_CONF=/no/such/file", NULL};

	cr_expect_eq(load(missing), 1);
	expect_said("HORIZON_CONF: /no/such/file: cannot be read (No such file "
		    "or directory)");

	memset(big, '\n', sizeof(big));
	big[65536] = '\0';
	memcpy(big + 65536 - 9, "\nram = 1G", 9);
	cr_expect_eq(load_conf(big), 0, "%s", last);
	cr_expect_eq(hz_knobs.ram.bytes, 1 << 30);

	write_bytes("a.conf", big, 65536);
	write_bytes("big.conf", big, sizeof(big));
	{
		char var[160];
		const char *envp[] = {var, NULL};

		snprintf(var, sizeof(var), "HORIZON_CONF=%s",
			 path_of("big.conf"));
		cr_expect_eq(load(envp), 1);
		expect_said_of("big.conf", ": is larger than 64 KiB");
		write_bytes("big.conf", "ram = 1G\0\n", 10);
		cr_expect_eq(load(envp), 1);
		expect_said_of("big.conf", ": is no text (it has a NUL byte)");
	}
}

/* User's file, then the named one, then the environment, then --set; each
 * leaves what the next one does not name. */
Test(knobs, later_sources_win)
{
	char xdg[160], conf[160];
	const char *envp[] = {"HOME=/nowhere", xdg, conf, "HORIZON_IO_DEPTH=3",
			      NULL};

	snprintf(xdg, sizeof(xdg), "XDG_CONFIG_HOME=%s", dir);
	snprintf(conf, sizeof(conf), "HORIZON_CONF=%s", path_of("named.conf"));
	write_file("horizon.conf", "io_depth = 1\nio_threads = 1\n"
				   "read_ahead = 1\nfree_frames = 1\n");
	write_file("named.conf", "io_depth = 2\nio_threads = 2\n"
				 "read_ahead = 2\n");
	cr_expect_eq(load(envp), 0, "%s", last);
	cr_expect_eq(set("io_threads", "4"), 0);

	cr_expect_eq(hz_knobs.free_frames, 1);
	cr_expect_eq(hz_knobs.read_ahead, 2);
	cr_expect_eq(hz_knobs.io_depth, 3);
	cr_expect_eq(hz_knobs.io_threads, 4);
	cr_expect(strstr(source("free_frames"), "/horizon.conf:4"));
	cr_expect(strstr(source("read_ahead"), "/named.conf:3"));
}

Test(knobs, the_users_file_under_home)
{
	char home[160], xdg[] = "XDG_CONFIG_HOME=relative/is/ignored";
	const char *envp[] = {xdg, home, NULL};

	snprintf(home, sizeof(home), "HOME=%s", dir);
	cr_assert_eq(mkdir(path_of(".config"), 0700), 0);
	cr_expect_eq(load(envp), 0); /* without the file */
	write_file(".config/horizon.conf", "io_depth = 7\n");
	cr_expect_eq(load(envp), 0);
	cr_expect_eq(hz_knobs.io_depth, 7);
}
