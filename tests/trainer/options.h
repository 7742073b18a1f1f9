/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

struct options {
	const char *device, *text, *dtype, *alloc, *save, *resume, *module;
	long steps, seed, layers, hidden, heads, seq, batch, micro, threads;
	long buckets;
	double clip, lr, loss_scale;
	bool recompute, graph, keep_going;
};

/* Fills o, or says on stderr what is wrong and exits with 2; --help and
 * --version exit with 0. */
void options_parse(struct options *o, int argc, char **argv);

#endif
