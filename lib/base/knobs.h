/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knobs: parsed once, read for ever. knobs.def is the only list.
 *
 * Sources, later wins: built-in, $(sysconfdir)/horizon.conf,
 * ${XDG_CONFIG_HOME:-~/.config}/horizon.conf, the file named by HORIZON_CONF,
 * HORIZON_<NAME> in the environment, --set / horizon-run's options.
 * Environment is read through a walk of `environ` (ignored when AT_SECURE),
 * files by raw read(2) into a fixed buffer (a file over 64 KiB is an error).
 * Nothing here allocates or uses stdio, so the shim may load the knobs in its
 * constructor.
 *
 * Not thread-safe: load before the first thread, read-only afterwards.
 */
#ifndef HZ_KNOBS_H
#define HZ_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hz_knob_type {
	HZ_KNOB_BOOL,
	HZ_KNOB_INT,
	HZ_KNOB_SIZE,
	HZ_KNOB_STRING,
	HZ_KNOB_ENUM,
};

/* A size as given: bytes, or a percentage to be resolved by the reader. */
struct hz_size {
	uint64_t bytes;	  /* valid when !percent; HZ_SIZE_AUTO for auto */
	uint32_t percent; /* 0: none; else 1..100 */
};
#define HZ_SIZE_AUTO UINT64_MAX

typedef int64_t hz_knob_BOOL;
typedef int64_t hz_knob_INT;
typedef struct hz_size hz_knob_SIZE;
typedef char hz_knob_STRING[256];
typedef int64_t hz_knob_ENUM;

struct hz_knobs {
#define HZ_KNOB(name_, type_, def_, min_, max_, text_) hz_knob_##type_ name_;
#include "base/knobs.def"
#undef HZ_KNOB
};

/* One enum per ENUM knob, in the order of its words. */
enum { HZ_FAULT_AUTO, HZ_FAULT_MOVE, HZ_FAULT_OFF };
enum { HZ_IO_AUTO, HZ_IO_URING, HZ_IO_THREADS };
enum { HZ_GPU_KNOB_OFF, HZ_GPU_KNOB_OBSERVE };
enum { HZ_TRACE_FAULTS, HZ_TRACE_FULL };
enum { HZ_NUMA_AUTO, HZ_NUMA_LOCAL, HZ_NUMA_INTERLEAVE, HZ_NUMA_OFF };

struct hz_knob_row {
	const char *name;
	enum hz_knob_type type;
	const char *def;
	int64_t min, max;
	const char *words; /* ENUM: "a|b|c" */
	const char *text;
	size_t offset; /* in struct hz_knobs */
};

extern const struct hz_knob_row hz_knob_rows[];
extern const unsigned hz_knob_count;

/* The values in force. */
extern struct hz_knobs hz_knobs;

/* Called with one whole message per bad value or unknown name: it names the
 * source, the range and, for a name, the nearest known one. */
typedef void hz_knob_complain(void *arg, const char *message);

/* Load all sources but --set. Returns the number of complaints. */
int hz_knobs_load(char **envp, hz_knob_complain *complain, void *arg);

/* Set one knob; `source` is what --show prints ("--set", "horizon.conf:3").
 * Returns 0; -ENOENT unknown name, -EINVAL malformed, -ERANGE out of range,
 * each after one call of complain. */
int hz_knob_set(const char *name, const char *value, const char *source,
		hz_knob_complain *complain, void *arg);

/* "K=V" as --set takes it. -EINVAL where there is no '='. */
int hz_knob_set_pair(const char *pair, const char *source,
		     hz_knob_complain *complain, void *arg);

/* The value as text (as it would be written in horizon.conf), and its
 * source. Returns the length of the value text. */
int hz_knob_print(const struct hz_knob_row *row, char *buf, size_t len);
const char *hz_knob_source(const struct hz_knob_row *row);

/* Is this row's value other than the built-in one? */
bool hz_knob_is_set(const struct hz_knob_row *row);

/* Parse "64M", "1.5G", "50%"; 0 or -EINVAL / -ERANGE. */
int hz_parse_size(const char *text, struct hz_size *out);

/* Bytes of `size`, with `whole` as 100 %; HZ_SIZE_AUTO stays. */
uint64_t hz_size_resolve(struct hz_size size, uint64_t whole);

#endif
