/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of this process's trace. Two threads of ours may write to it, each
 * with a descriptor in a table of its own: hz-aux what the host tier sees,
 * hz-gpu what the driver is asked for. Whoever comes first makes it. Chunks
 * are written whole, so it does not matter in which order they lie in it.
 */
#ifndef HZ_ENGINE_RECORD_H
#define HZ_ENGINE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A descriptor of the file that the knob trace_file names, or -errno after
 * one message of the process. `child`: the name is the parent's. Only in a
 * thread of ours. */
int hz_record_file(bool child);
/* ns: time 0 of the trace. */
uint64_t hz_record_began(void);
/* Whole chunks; 0 or -errno. */
int hz_record_put(int fd, const uint8_t *chunks, size_t len);
/* It ends here: one message. */
void hz_record_gave_up(int rc);

#endif
