/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: one table says all there is to say of an option, a
 * second one which values one device only has.
 */
#include "options.h"
#include "data.h"

#include <errno.h>
#include <getopt.h>
#include <omp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "unknown"
#endif

enum type { CHOICE, PATH, COUNT, REAL, FLAG };

static const struct option_row {
	const char *name;
	enum type type;
	size_t at;
	const char *arg; /* a CHOICE's values, | between them */
	const char *initial;
	double min, max;
	const char *help;
} rows[] = {
#define AT(field_) offsetof(struct options, field_)
        {"device", CHOICE, AT(device), "cpu|cuda", "cpu", 0, 0,
         "where to train"},
        {"text", PATH, AT(text), "FILE", NULL, 0, 0,
         "bytes to learn; required"},
        {"steps", COUNT, AT(steps), "N", "10", 0, 1e9,
         "last step; 0: only tell the size"},
        {"seed", COUNT, AT(seed), "S", "1", 0, 1e18,
         "of the first weights and of the batches"},
        {"layers", COUNT, AT(layers), "N", "4", 1, 1000, "blocks"},
        {"hidden", COUNT, AT(hidden), "N", "256", 1, 32768, "width"},
        {"heads", COUNT, AT(heads), "N", "4", 1, 1024,
         "attention heads; divides --hidden"},
        {"seq", COUNT, AT(seq), "N", "64", 1, 65536, "bytes of a sequence"},
        {"batch", COUNT, AT(batch), "N", "8", 1, 65536,
         "sequences of a micro-batch"},
        {"micro", COUNT, AT(micro), "N", "1", 1, 65536,
         "micro-batches accumulated in a step"},
        {"dtype", CHOICE, AT(dtype), "f32|bf16", "f32", 0, 0,
         "of weights and activations"},
        {"recompute", FLAG, AT(recompute), NULL, NULL, 0, 0,
         "recompute activations when needed"},
        {"clip", REAL, AT(clip), "X", "1", 0, 1e9,
         "largest norm of the gradient; 0: any"},
        {"lr", REAL, AT(lr), "X", "0.0003", 0, 1e3, "learning rate"},
        {"loss-scale", REAL, AT(loss_scale), "X", "1", 1e-30, 1e30,
         "of gradients; best a power of two"},
        {"hash-buckets", COUNT, AT(buckets), "N", "0", 0, 1e12,
         "rows of a table of n-grams; 0: none"},
        {"keep-going", FLAG, AT(keep_going), NULL, NULL, 0, 0,
         "also where a gradient is not finite"},
        {"alloc", CHOICE, AT(alloc), "arena|tensor|pool|managed", "arena", 0, 0,
         "whole arrays, or tensors"},
        {"graph", FLAG, AT(graph), NULL, NULL, 0, 0,
         "replay each step from a graph"},
        {"threads", COUNT, AT(threads), "N", NULL, 1, 4096,
         "default: the CPUs it may run on"},
        {"save", PATH, AT(save), "FILE", NULL, 0, 0,
         "write a checkpoint after the last step"},
        {"resume", PATH, AT(resume), "FILE", NULL, 0, 0,
         "go on from a checkpoint"},
        {"module", PATH, AT(module), "FILE", NULL, 0, 0, 
         "kernels; default: see below"},
#undef AT
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]), SHOW_HELP = ROWS, SHOW_VERSION };

/* What only one device has. NULL: whatever the value. */
static const struct {
	const char *device, *name, *value;
} only[] = {
        {"cuda", "alloc", "pool"}, {"cuda", "alloc", "managed"},
        {"cuda", "graph", NULL},   {"cuda", "module", NULL},
        {"cpu", "hash-buckets", NULL},
};

#define fail(...)                                           \
	do {                                                \
		fprintf(stderr, "gpt-train: " __VA_ARGS__); \
		exit(2);                                    \
	} while (0)

static bool among(const char *choices, const char *value)
{
	size_t len = strlen(value);

	for (const char *c = choices; c; c = strchr(c, '|')) {
		c += *c == '|';
		if (strcspn(c, "|") == len && !strncmp(c, value, len))
			return true;
	}
	return false;
}

static double number(const struct option_row *r, const char *value, long *whole)
{
	char *end = NULL, *real_end = NULL;
	double x = strtod(value, &real_end);

	errno = 0;
	*whole = strtol(value, &end, 10);
	if (r->type == REAL)
		end = real_end;
	if (end == value || *end || errno || !(x >= r->min && x <= r->max))
		fail("--%s %s: give a %snumber from %.15g to %.15g\n", r->name,
		     value, r->type == COUNT ? "whole " : "", r->min, r->max);
	return x;
}

static void set(struct options *o, const struct option_row *r,
                const char *value)
{
	void *at = (char *)o + r->at;
	long whole;

	switch (r->type) {
	case CHOICE:
		if (!among(r->arg, value))
			fail("--%s %s: give one of %s\n", r->name, value,
			     r->arg);
		/* fall through */
	case PATH:
		*(const char **)at = value;
		break;
	case COUNT:
		number(r, value, &whole);
		*(long *)at = whole;
		break;
	case REAL:
		*(double *)at = number(r, value, &whole);
		break;
	case FLAG:
		*(bool *)at = true;
	}
}

static void notes(void)
{
	printf("Each step prints 'step N loss X norm G tok/s Y'. Loss and "
	       "norm depend on the\ndevice (of a CPU: on the width of its "
	       "vectors), the options and the text\nalone, not on --threads, "
	       "--alloc, --graph or --recompute, nor on whether a CPU\nhas "
	       "instructions for bf16. A --loss-scale that is a power of two "
	       "changes\nnothing, unless numbers become too large or too "
	       "small. On a busy machine set\nOMP_WAIT_POLICY=passive: "
	       "waiting threads then sleep.\n\n--hash-buckets N adds a sparse "
	       "layer of N rows of --hidden floats: those that\nthe %d- to "
	       "%d-grams of the text hash to are added to its embedding, "
	       "and\nupdated by Adagrad. N is the size of a workload of "
	       "scattered accesses.\n\nA step whose gradient is not finite is "
	       "not applied, and ends the run with\nstatus 1, unless told to "
	       "--keep-going; one line says where such a number is\nfirst and "
	       "what to try. There is one as well where a norm is over 100 "
	       "times the\nmedian before it.\n\nWith --device cpu there is no "
	       "--alloc pool or managed, --graph or --module,\nwith --device "
	       "cuda no --hash-buckets. The module is gpt.fatbin beside "
	       "the\nexecutable where the driver takes it, else gpt.cpu.so.\n",
	       GRAM_MIN, GRAM_MAX);
}

static void help(void)
{
	printf("Usage: gpt-train --text FILE [OPTION...]\n"
	       "Train a byte-level GPT: pre-norm blocks, learned places, "
	       "untied head, AdamW.\n\n");
	for (int i = 0; i < ROWS; i++) {
		const struct option_row *r = &rows[i];
		char left[48];

		snprintf(left, sizeof(left), "--%s %s", r->name,
		         r->arg ? r->arg : "");
		printf("  %-34s %s", left, r->help);
		if (r->initial)
			printf(" [%s]", r->initial);
		putchar('\n');
	}
	printf("  %-34s print this\n  %-34s print the version\n\n", "--help",
	       "--version");
	notes();
	exit(0);
}

static void version(void)
{
	puts("gpt-train (Horizon) " PACKAGE_VERSION);
	exit(0);
}

static void defaults(struct options *o)
{
	*o = (struct options){.threads = omp_get_num_procs()};
	for (int i = 0; i < ROWS; i++)
		if (rows[i].initial)
			set(o, &rows[i], rows[i].initial);
}

static void names(struct option list[ROWS + 3])
{
	for (int i = 0; i < ROWS; i++)
		list[i] = (struct option){rows[i].name, rows[i].type != FLAG,
		                          NULL, i};
	list[SHOW_HELP] = (struct option){"help", 0, NULL, SHOW_HELP};
	list[SHOW_VERSION] = (struct option){"version", 0, NULL, SHOW_VERSION};
	list[SHOW_VERSION + 1] = (struct option){0};
}

static bool given(const struct options *o, const struct option_row *r,
                  const char *value)
{
	const void *at = (const char *)o + r->at;
	const char *have;

	if (r->type == FLAG)
		return *(const bool *)at;
	if (r->type == COUNT)
		return *(const long *)at;
	have = *(const char *const *)at;
	return have && (!value || !strcmp(have, value));
}

static void check_device(const struct options *o)
{
	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		for (int r = 0; r < ROWS; r++)
			if (strcmp(o->device, only[i].device) &&
			    !strcmp(rows[r].name, only[i].name) &&
			    given(o, &rows[r], only[i].value))
				fail("--%s%s%s is for --device %s\n",
				     rows[r].name, only[i].value ? " " : "",
				     only[i].value ? only[i].value : "",
				     only[i].device);
}

static void check(const struct options *o)
{
	if (!o->text)
		fail("--text FILE is required\n");
	if (o->hidden % o->heads)
		fail("--hidden %ld: make it a multiple of --heads %ld\n",
		     o->hidden, o->heads);
	if (o->batch * o->seq > 1 << 22)
		fail("--batch %ld times --seq %ld: keep it below %d bytes\n",
		     o->batch, o->seq, 1 << 22);
	check_device(o);
}

void options_parse(struct options *o, int argc, char **argv)
{
	struct option list[ROWS + 3];
	int c;

	names(list);
	defaults(o);
	opterr = 0;
	/* A leading ':' tells a missing value from an unknown option. */
	while ((c = getopt_long(argc, argv, ":", list, NULL)) != -1) {
		if (c == SHOW_HELP)
			help();
		if (c == SHOW_VERSION)
			version();
		if (c == ':' || c == '?')
			fail("%s %s\nTry 'gpt-train --help'\n",
			     c == ':' ? "value missing after" : "bad option",
			     argv[optind - 1]);
		set(o, &rows[c], optarg);
	}
	if (optind < argc)
		fail("bad argument %s\nTry 'gpt-train --help'\n", argv[optind]);
	check(o);
}
