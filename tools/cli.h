/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tools share on the command line: one table of options gives the
 * getopt array, --help and (hidden --long-options) the completion; errors are
 * one line on stderr, `PROGRAM: reason`.
 */
#ifndef HZ_CLI_H
#define HZ_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define CLI_OPTIONS_MAX 32

enum cli_id {
	CLI_HELP = 1,
	CLI_VERSION,
	CLI_LONG_OPTIONS,
	CLI_KNOB,   /* sets the knob of the row */
	CLI_ABSENT, /* a name of the contract; this release lacks the part */
	CLI_OWN,    /* the first id of the program itself */
};

struct cli_option {
	const char *name; /* long, without the dashes */
	char letter;      /* 0: no short form */
	int id;
	const char *arg;  /* how --help calls the argument; NULL: none */
	const char *knob; /* of CLI_KNOB; without an argument it gets "1" */
	const char *help; /* NULL: hidden */
};

/* Rows that every tool has; they stand last. */
#define CLI_COMMON_OPTIONS                                               \
	{"help", 'h', CLI_HELP, NULL, NULL, "print this text and exit"}, \
		{"version", 'V',  CLI_VERSION,                           \
		 NULL,      NULL, "print the version and exit"},         \
	{                                                                \
		"long-options", 0, CLI_LONG_OPTIONS, NULL, NULL, NULL    \
	}

struct cli {
	const char *program;
	const char *usage; /* after the program's name */
	const char *about; /* a sentence or two */
	const struct cli_option *options;
	unsigned count;
	int bad_usage; /* exit status */
};

/* The next option, NULL after the last (optind is the first operand). Stops
 * at the first operand. --help, --version and --long-options are answered
 * here; an error ends the program with bad_usage. */
const struct cli_option *cli_next(const struct cli *cli, int argc, char **argv);

/* One line on stderr, letters as in hz_format(). */
void cli_warn(const struct cli *cli, const char *fmt, ...);
_Noreturn void cli_die(const struct cli *cli, int status, const char *fmt, ...);

/* Flush stdout; ends the program with `failed` when anything was lost. */
void cli_flush(const struct cli *cli, int failed);

/* A whole decimal number in [min, max]. */
bool cli_number(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif
