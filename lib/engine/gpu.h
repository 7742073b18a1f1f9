/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hooks of the CUDA driver tell: memory that comes and goes, and who
 * names it. From that the map of tensors (policy/gpu_map.h), their uses, and
 * the rows and counters of the segment.
 *
 * Nothing here calls the driver. All functions may be called from any thread
 * and from inside hooks: memory is reserved once, when the driver is opened,
 * and locks are held for the time of look-ups, never over a call. What launches
 * name is looked up later, by a thread or by who needs it; see gpu_int.h.
 */
#ifndef HZ_ENGINE_GPU_H
#define HZ_ENGINE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/gpu_time.h"
#include "policy/gpu_map.h"

/* ---- gpu_watch.c: start, fork ---- */

/* The knobs are read, and this process is to be watched or not. */
void hz_gpu_allow(bool allowed);
/* Will the hooks be wanted? Decides what resolving a name gives. */
bool hz_gpu_watching(void);
/* Should a hook tell? False also in a child that inherited a driver that was
 * initialised: CUDA does not work there. */
extern bool hz_gpu_on;
/* The driver is open: reserve memory. Any number of calls. */
void hz_gpu_opened(void);
/* The program has initialised the driver. Any number of calls. */
void hz_gpu_started(void);
/* A device of this many bytes is in use. */
void hz_gpu_device(int device, uint64_t bytes);
void hz_gpu_fork_prepare(void);
void hz_gpu_fork_parent(void);
void hz_gpu_fork_child(void);

/* This thread is about to jump elsewhere, perhaps out of a signal handler, and
 * perhaps out of one of these functions. Usable in one. */
void hz_gpu_jump(void);

/* A function was handed out unwatched though others of its name are. */
void hz_gpu_unhooked(void);

/* ---- gpu_memory.c ---- */

/* What was taken out of the map before the driver was asked to free it. */
struct hz_gpu_taken {
	uint64_t start, bytes, owner;
	uint16_t opens; /* without bytes: it is still open */
	uint8_t origin, shared;
};

void hz_gpu_add(uint64_t start, uint64_t bytes, enum hz_gpu_origin origin,
		uint64_t owner);
void hz_gpu_take(uint64_t start, struct hz_gpu_taken *taken);
/* The driver refused. */
void hz_gpu_put_back(const struct hz_gpu_taken *taken);
/* Memory of another process: the same address again is the same memory, and
 * goes with the last close. */
void hz_gpu_imported(uint64_t start, uint64_t bytes, uint64_t owner);
/* Before the driver is asked, as hz_gpu_take(). */
void hz_gpu_close(uint64_t start, struct hz_gpu_taken *taken);
void hz_gpu_owner_gone(uint64_t owner);
/* It was handed to another process or device, and stays where it is. */
void hz_gpu_share(uint64_t addr);
/* Launches name it from now on by an object that shows nothing: it stays where
 * it is. */
void hz_gpu_bound(uint64_t addr);
/* `part` is another handle of bytes of `array`, both HZ_GPU_BY_HANDLE. */
void hz_gpu_part(uint64_t part, uint64_t array);

/* Physical memory by handle, `bytes` 0 if it is somebody else's. */
void hz_gpu_handle_made(uint64_t handle, uint64_t bytes, bool vram);
void hz_gpu_handle_retained(uint64_t handle);
void hz_gpu_handle_released(uint64_t handle);
/* Its memory was handed to another process. */
void hz_gpu_handle_shared(uint64_t handle);
void hz_gpu_mapped(uint64_t start, uint64_t bytes, uint64_t handle);
void hz_gpu_unmapped(uint64_t start, uint64_t bytes);

void hz_gpu_copied(uint64_t to, uint64_t from, uint64_t bytes);
void hz_gpu_memset(uint64_t to, uint64_t bytes);

/* ---- gpu_launch.c ---- */

/* The number of the kernel with this name; the same name, the same number. */
uint32_t hz_gpu_kernel(const char *name);
/* For hz_gpu_near(): which words of arguments may be addresses. */
const int8_t *hz_gpu_addresses(void);
/* Where most of them lie: every word with these bits may be one. A hint, read
 * without a lock; what has others may be one as well. */
struct hz_gpu_span {
	uint64_t mask, bits;
};
extern struct hz_gpu_span hz_gpu_span;
/* What the words of a launch's arguments come to: equal ones are taken for the
 * same words. `some` is false where that was not computed. */
struct hz_gpu_key {
	uint64_t a, b;
	bool some;
};
/* A launch named these words, all of which may be addresses, at most
 * HZ_GPU_WORDS; `first` is false for what did not go into the words of the same
 * launch before. */
#define HZ_GPU_WORDS 512u
void hz_gpu_launch(uint32_t kernel, const uint64_t *word, uint32_t n,
		   bool first, const struct hz_gpu_key *key);
/* A launch whose arguments are not known. */
void hz_gpu_launch_unknown(uint32_t kernel);

/* A descriptor of 128 bytes stands for this address. */
void hz_gpu_tensor_map(const void *descriptor, uint64_t addr);
/* The address of a descriptor, 0 if it is none. */
uint64_t hz_gpu_tensor_map_at(const void *descriptor);
bool hz_gpu_tensor_maps(void);

/* ---- gpu_exec.c: instantiated graphs ---- */

/* It names nothing (yet). */
void hz_gpu_exec_new(const void *exec);
void hz_gpu_exec_names(const void *exec, uint64_t word);
/* One of its nodes could not be read. */
void hz_gpu_exec_unknown(const void *exec);
void hz_gpu_exec_launch(const void *exec);
void hz_gpu_exec_drop(const void *exec);

/* Captures of streams that are open: change by n. */
void hz_gpu_capture(int n);
bool hz_gpu_capturing(void);

/* What was launched so far is counted. */
void hz_gpu_settle(void);
/* The process ends: the segment says all. */
void hz_gpu_end(void);

/* ---- gpu_record.c ---- */

/* The process ends: what is recorded goes into the file. */
void hz_gpu_record_end(void);

/* ---- gpu_rows.c ---- */

/* Write the rows of the segment, if the last time is not just now. */
void hz_gpu_refresh(void);

#endif
