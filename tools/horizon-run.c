/* SPDX-License-Identifier: Apache-2.0 */
/*
 * horizon-run: run a command with its big allocations tiered.
 *
 * All settings travel in the environment, so they reach the command's
 * children too. Without --report this process becomes the command.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/knobs.h"
#include "base/log.h"
#include "base/util.h"
#include "run.h"

enum { OPT_REPORT = CLI_OWN, OPT_SET, OPT_CHECK, OPT_SHOW, OPT_DRY_RUN };

static const struct cli_option options[] = {
	{"ram", 0, CLI_KNOB, "SIZE|PCT", "ram",
	 "RAM for the command's big allocations: K M G T, or N% of the "
	 "memory there is (knob ram)"},
	{"store", 0, CLI_KNOB, "PATH", "store",
	 "where cold memory goes: a directory, a file or a block device "
	 "(knob store)"},
	{"store-size", 0, CLI_KNOB, "SIZE", "store_size",
	 "bytes that the store may hold (knob store_size)"},
	{"verify", 0, CLI_KNOB, NULL, "verify",
	 "check the hash of all that comes back from the store (knob verify)"},
	{"trace", 't', CLI_KNOB, "FILE", "trace_file",
	 "record the command's access events for horizon-replay(1) (knob "
	 "trace_file)"},
	{"set", 's', OPT_SET, "KNOB=VALUE", NULL,
	 "set any knob of horizon.conf(5); may be repeated"},
	{"report", 'r', OPT_REPORT, "FILE", NULL,
	 "write a JSON report when the command ends; - is standard error"},
	{"check", 0, OPT_CHECK, NULL, NULL,
	 "print what this machine supports and which mode would run"},
	{"show", 0, OPT_SHOW, NULL, NULL,
	 "print every knob with its value and where that comes from"},
	{"dry-run", 'n', OPT_DRY_RUN, NULL, NULL,
	 "print the environment and the command, run nothing"},
	{"vram", 0, CLI_ABSENT, "SIZE|PCT", NULL, NULL},
	{"plan", 0, CLI_ABSENT, "FILE", NULL, NULL},
	CLI_COMMON_OPTIONS,
};

const struct cli run_cli = {
	.program = "horizon-run",
	.usage = "[OPTION...] [--] COMMAND [ARG...]",
	.about = "Run COMMAND with its big allocations tiered between RAM and "
		 "a store.\nWhat it computes does not change.",
	.options = options,
	.count = hz_array_len(options),
	.bad_usage = RUN_FAILED,
};

struct choice {
	const char *report;
	bool check, show, dry_run;
};

/* A bad value ends the program, so the first message is the only one. */
static void fatal_complaint(void *arg, const char *message)
{
	cli_die(&run_cli, RUN_FAILED, "%s", message);
}

/* --show names the option as the source. */
static void set_knob(const struct cli_option *o)
{
	char source[64];

	hz_format(source, sizeof(source), "--%s", o->name);
	hz_knob_set(o->knob, o->arg ? optarg : "1", source, fatal_complaint,
		    NULL);
}

static void take(const struct cli_option *o, struct choice *c)
{
	switch (o->id) {
	case CLI_KNOB:
		set_knob(o);
		break;
	case CLI_ABSENT:
		cli_die(&run_cli, RUN_FAILED,
			"--%s: not in this release (host memory only)",
			o->name);
	case OPT_SET:
		hz_knob_set_pair(optarg, "--set", fatal_complaint, NULL);
		break;
	case OPT_REPORT:
		c->report = optarg;
		break;
	case OPT_CHECK:
		c->check = true;
		break;
	case OPT_SHOW:
		c->show = true;
		break;
	case OPT_DRY_RUN:
		c->dry_run = true;
		break;
	}
}

/* The command may change its directory before the file is opened. */
static void make_absolute(const char *knob, const char *value)
{
	char path[sizeof(hz_knobs.store)], cwd[sizeof(path)], source[160];

	if (value[0] == '/' || !value[0])
		return;
	if (!getcwd(cwd, sizeof(cwd)) ||
	    hz_format(path, sizeof(path), "%s/%s", cwd, value) >=
		    (int)sizeof(path))
		cli_die(&run_cli, RUN_FAILED,
			"%s: %s: the full path is too long, name a shorter one",
			knob, value);
	hz_format(source, sizeof(source), "%s", run_source(knob));
	hz_knob_set(knob, path, source, fatal_complaint, NULL);
}

static void show(void)
{
	char value[512];
	int name_width = 0, value_width = 0;

	for (unsigned i = 0; i < hz_knob_count; i++) {
		int len = hz_min(
			hz_knob_print(&hz_knob_rows[i], value, sizeof(value)),
			24);

		name_width =
			hz_max(name_width, (int)strlen(hz_knob_rows[i].name));
		value_width = hz_max(value_width, len);
	}
	for (unsigned i = 0; i < hz_knob_count; i++) {
		const struct hz_knob_row *row = &hz_knob_rows[i];

		hz_knob_print(row, value, sizeof(value));
		printf("%-*s  %-*s  %s%s\n", name_width, row->name, value_width,
		       *value ? value : "\"\"", hz_knob_source(row),
		       run_ram_here(row->name));
	}
	cli_flush(&run_cli, RUN_FAILED);
}

static int run(char **command, const struct choice *c)
{
	struct run_env env = {.count = 0};

	run_preflight();
	run_env_build(&env, run_preload());
	if (c->dry_run) {
		run_env_print(&env, command);
		cli_flush(&run_cli, RUN_FAILED);
		return 0;
	}
	run_clear_trace();
	if (c->report)
		return run_report(command, c->report, &env);
	run_env_apply(&env);
	return run_exec(command);
}

int main(int argc, char **argv)
{
	const struct cli_option *o;
	struct choice c = {.report = NULL};

	hz_knobs_load(environ, fatal_complaint, NULL);
	while ((o = cli_next(&run_cli, argc, argv)))
		take(o, &c);
	make_absolute("store", hz_knobs.store);
	make_absolute("trace_file", hz_knobs.trace_file);
	if (c.show)
		show();
	if (c.check)
		return run_check();
	if (optind < argc)
		return run(argv + optind, &c);
	if (c.show)
		return 0;
	cli_die(&run_cli, RUN_FAILED,
		"no command given, try 'horizon-run --help'");
}
