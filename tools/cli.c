/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options, --help and errors of the tools.
 */
#include "config.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "cli.h"

#define HELP_COLUMN 26
#define HELP_WIDTH  79

/* getopt's view of the table: val is the row's number plus this, so that it
 * cannot be taken for a letter. */
#define ROW_BASE 256

static struct option long_options[CLI_OPTIONS_MAX + 1];
static char letters[2 * CLI_OPTIONS_MAX + 3] = "+:";

static void build(const struct cli *cli)
{
	char *l = letters + 2;

	if (cli->count > CLI_OPTIONS_MAX)
		abort();
	for (unsigned i = 0; i < cli->count; i++) {
		const struct cli_option *o = &cli->options[i];

		long_options[i] = (struct option){
			o->name, o->arg ? required_argument : no_argument, NULL,
			ROW_BASE + (int)i};
		if (!o->letter)
			continue;
		*l++ = o->letter;
		if (o->arg)
			*l++ = ':';
	}
	*l = '\0';
}

static const struct cli_option *find(const struct cli *cli, int val)
{
	if (val >= ROW_BASE)
		return &cli->options[val - ROW_BASE];
	for (unsigned i = 0; i < cli->count; i++)
		if (val && cli->options[i].letter == val)
			return &cli->options[i];
	return NULL;
}

/* Words of `text` from HELP_COLUMN on, wrapped. `at` is the cursor. */
static void print_wrapped(const char *text, int at)
{
	if (at > HELP_COLUMN - 2) {
		putchar('\n');
		at = 0;
	}
	printf("%*s", HELP_COLUMN - at, "");
	at = HELP_COLUMN;
	while (*text) {
		int len = (int)strcspn(text, " ");

		if (at > HELP_COLUMN && at + 1 + len > HELP_WIDTH) {
			printf("\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
		} else if (at > HELP_COLUMN) {
			putchar(' ');
			at++;
		}
		printf("%.*s", len, text);
		at += len;
		text += len + (text[len] == ' ');
	}
	putchar('\n');
}

static void print_help(const struct cli *cli)
{
	printf("Usage: %s %s\n%s\n\nOptions:\n", cli->program, cli->usage,
	       cli->about);
	for (unsigned i = 0; i < cli->count; i++) {
		const struct cli_option *o = &cli->options[i];
		int at;

		if (!o->help)
			continue;
		if (o->letter)
			at = printf("  -%c, --%s", o->letter, o->name);
		else
			at = printf("      --%s", o->name);
		if (o->arg)
			at += printf(" %s", o->arg);
		print_wrapped(o->help, at);
	}
	printf("\nFull description: man %s\n", cli->program);
}

static void print_long_options(const struct cli *cli)
{
	for (unsigned i = 0; i < cli->count; i++)
		if (cli->options[i].help)
			printf("--%s\n", cli->options[i].name);
}

static _Noreturn void answer(const struct cli *cli, enum cli_id id)
{
	if (id == CLI_HELP)
		print_help(cli);
	else if (id == CLI_VERSION)
		printf("%s (Horizon) %s\n", cli->program, PACKAGE_VERSION);
	else
		print_long_options(cli);
	cli_flush(cli, cli->bad_usage);
	exit(0);
}

/* argv[optind - 1] is what getopt looked at last; for a letter inside a
 * cluster only optopt tells it. */
static _Noreturn void bad_option(const struct cli *cli, char **argv, int what)
{
	const struct cli_option *o = find(cli, optopt);
	const char *problem = what == ':' ? "needs an argument"
			      : o         ? "takes no argument"
					  : "unknown option";
	const char *given = argv[optind - 1];

	if (o)
		cli_die(cli, cli->bad_usage, "--%s: %s, try '%s --help'",
			o->name, problem, cli->program);
	if (optopt)
		cli_die(cli, cli->bad_usage, "-%c: %s, try '%s --help'", optopt,
			problem, cli->program);
	cli_die(cli, cli->bad_usage, "%s: %s, try '%s --help'", given, problem,
		cli->program);
}

const struct cli_option *cli_next(const struct cli *cli, int argc, char **argv)
{
	const struct cli_option *o;
	int val;

	if (!long_options[0].name)
		build(cli);
	opterr = 0;
	val = getopt_long(argc, argv, letters, long_options, NULL);
	if (val < 0)
		return NULL;
	if (val == '?' || val == ':')
		bad_option(cli, argv, val);
	o = find(cli, val);
	if (o->id < CLI_KNOB)
		answer(cli, (enum cli_id)o->id);
	return o;
}

static void complain(const struct cli *cli, const char *fmt, va_list ap)
{
	char text[1024];

	hz_vformat(text, sizeof(text), fmt, ap);
	/* a name on the command line may hold anything; a line stays one */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", cli->program, text);
}

void cli_warn(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(cli, fmt, ap);
	va_end(ap);
}

void cli_die(const struct cli *cli, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	complain(cli, fmt, ap);
	va_end(ap);
	exit(status);
}

void cli_flush(const struct cli *cli, int failed)
{
	if (fflush(stdout) || ferror(stdout))
		cli_die(cli, failed, "standard output: %m", -errno);
}

bool cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;
	unsigned long long v;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v < min || v > max)
		return false;
	*out = v;
	return true;
}
