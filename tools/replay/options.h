/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What horizon-replay was asked to do.
 */
#ifndef HZ_REPLAY_OPTIONS_H
#define HZ_REPLAY_OPTIONS_H

#include "cli.h"
#include "replay/bound.h"

#define TRACES_MAX   64
#define POLICIES_MAX 8

enum { REPLAY_OK, REPLAY_FAILED, REPLAY_USAGE };

struct options {
	struct profile profile;
	const char *synth;
	const char *trace[TRACES_MAX];
	const struct policy *policy[POLICIES_MAX];
	unsigned traces, policies;
	struct run_how how;
	enum hz_goal goal;
	const char *html, *write_plan;
	bool json;
};

extern const struct cli replay_cli;

/* Ends the program on a wrong command line, and after --list. */
void options_read(struct options *o, int argc, char **argv);

/* A file of lines KEY VALUE; false after one message. */
bool profile_read(struct profile *profile, const char *path);

/* One result. */
struct result {
	const struct work *work;
	const struct policy *policy;
	const struct profile *profile;
	const struct bound *bound;
	struct tally mean; /* of the steps that count */
	bool failed;
};

void table_row(const struct result *r);
void table_json(const struct result *r);

/* False after one message. */
bool plan_write(const char *path, const struct work *work,
		const struct profile *profile, enum hz_goal goal);

#endif
