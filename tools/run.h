/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of horizon-run.
 */
#ifndef HZ_RUN_H
#define HZ_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cli.h"

/* Exit statuses, as env(1) and timeout(1) have them. */
enum { RUN_FAILED = 125, RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

extern const struct cli run_cli;

/* ---- run_env.c: what the command finds in its environment ---- */

#define RUN_ENV_MAX 64

struct run_env {
	char *var[RUN_ENV_MAX]; /* NAME=value, allocated */
	unsigned count;
};

/* Where the preload library is; ends the program when it is nowhere. */
const char *run_preload(void);
/* The same, NULL when it is nowhere. */
const char *run_find_preload(void);

/* LD_PRELOAD and one variable for each knob set by an option. */
void run_env_build(struct run_env *env, const char *preload);
void run_env_add(struct run_env *env, const char *name, const char *value);
void run_env_apply(const struct run_env *env);
/* What would be set, and the command, one a line, quoted for the shell. */
void run_env_print(const struct run_env *env, char **command);

/* ---- run_exec.c ---- */

/* Become the command. Returns only when that failed: the exit status. */
int run_exec(char **command);
/* Run it, wait, write the report. Returns the exit status. */
int run_report(char **command, const char *report, struct run_env *env);

/* ---- run_limits.c: how much memory there is ---- */

struct run_memory {
	uint64_t total; /* of the machine */
	uint64_t swap;
	uint64_t limit; /* of the memory cgroup; UINT64_MAX: none */
	int version;    /* of the cgroup that sets it: 1 or 2 */
	uint64_t whole; /* what 100 % means: the smaller of the two */
};

/* The least that the knob ram takes. */
#define RUN_LEAST_RAM ((uint64_t)64 << 20)

void run_memory(struct run_memory *m);
/* What the cgroup's limit leaves beside the headroom; UINT64_MAX: no limit. */
uint64_t run_spare(const struct run_memory *m);
/* What the budget is at most; others in the cgroup may lower it. */
uint64_t run_budget(const struct run_memory *m);
/* For --show: what the knob ram comes to here, where it is a percentage; ""
 * for all other knobs. */
const char *run_ram_here(const char *knob);

/* Type of the file system that holds `path`, "unknown" if not found. */
void run_fs_type(const char *path, char *type, size_t len);

/* ---- run_store.c: the store, looked at but not opened ---- */

enum run_store_kind { RUN_STORE_DIR, RUN_STORE_FILE, RUN_STORE_DEVICE };

struct run_store {
	enum run_store_kind kind;
	bool exists;
	uint64_t bytes;   /* free space for new ones, else the size */
	char parent[512]; /* the directory that must take the file */
	bool foreign;	  /* refused for a content that is not from Horizon */
};

/* Nothing is written or made. 0, or -errno with a sentence in `why`. */
int run_store_look(const char *path, struct run_store *s, char *why,
		   size_t len);

/* Where the value of a knob comes from, as --show says it. */
const char *run_source(const char *knob);

/* Refuse values that cannot work (one line, exit 125), warn of odd ones. */
void run_preflight(void);

/* A trace of an earlier run makes way; ends the program if none can be made
 * here. */
void run_clear_trace(void);

/* ---- run_check.c ---- */

/* Print the table; 0 when tiering would work here, else 1. */
int run_check(void);

#endif
