/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace of access events as a file: binary, versioned, append-only.
 *
 *   file   = "HZTRACE\n" version(u32) flags(u32) chunk...
 *   chunk  = "HZCK" bytes(u32) crc(u32) event...     crc32c of the events
 *   event  = kind(u8) length(varint) delta(varint) field(varint)...
 *
 * Numbers are little-endian; a varint has 7 bits a byte, low ones first. delta
 * is the nanoseconds since the event before in the chunk, and since the start
 * of the trace in the first of a chunk, so that a chunk can be read alone.
 * `length` counts what follows it; a reader steps over kinds and trailing
 * fields that it does not know, so that events may gain fields.
 *
 * The writer fills a buffer of the caller and hands over whole chunks: no
 * allocation, no system call of its own. The reader reads from memory. A file
 * that was cut in a chunk, or is not one, is an error that says where.
 *
 * Pure; not thread-safe.
 */
#ifndef HZ_TRACE_FILE_H
#define HZ_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

#define HZ_TRACE_FILE_VERSION 1

/* HZ_TF(NAME, value, "what", fields in their order) */
#define HZ_TF_KINDS(X_)                                                       \
	X_(ALLOC, 1, "a tensor is born", "id, bytes")                         \
	X_(FREE, 2, "it is dead", "id")                                       \
	X_(LAUNCH, 3, "a kernel",                                             \
	   "name, nanoseconds (0: not known), uses, then for each: id * 8 "   \
	   "+ 1 read + 2 written + 4 last")                                   \
	X_(FAULT, 4, "a host block was touched", "block, how")                \
	X_(COPY, 5, "bytes were copied or set",                               \
	   "id, bytes, direction, nanoseconds (0: not known)")                \
	X_(STEP, 6, "a training step begins, where it is known", "number")    \
	X_(TIME, 7, "how long a launch took, that came before",               \
	   "name, nanoseconds, back: 1 is the last launch, HZ_TF_MORE not "   \
	   "counted")

enum hz_tf_kind {
#define HZ_TF_ENUM(name_, value_, what_, fields_) HZ_TF_##name_ = value_,
	HZ_TF_KINDS(HZ_TF_ENUM)
#undef HZ_TF_ENUM
};

/* Set in the id of a FREE that means the host block of a FAULT. */
#define HZ_TF_HOST ((uint64_t)1 << 63)

/* Directions of a COPY. What is copied on the device is read from one tensor
 * and written to another: an event each. */
enum {
	HZ_TF_TO_DEVICE,
	HZ_TF_TO_HOST,
	HZ_TF_ON_DEVICE,
	HZ_TF_FROM_DEVICE, /* the tensor that it is read from */
	HZ_TF_SET	   /* a memset */
};

/* Name of a LAUNCH: no kernel of its own, but more uses of the launch before. */
#define HZ_TF_MORE UINT32_MAX

struct hz_tf_event {
	enum hz_tf_kind kind;
	uint64_t now;	     /* ns since the start of the trace */
	uint64_t id;	     /* tensor, block, name or number of a step */
	uint64_t bytes;	     /* ALLOC, COPY */
	uint64_t ns;	     /* LAUNCH, COPY, TIME */
	uint64_t back;	     /* TIME: launches since, it included */
	uint32_t how;	     /* FAULT: enum hz_access; COPY: direction */
	uint32_t uses;	     /* LAUNCH */
	const uint32_t *use; /* as hz_use(); when read: until the next event */
};

/* Takes a whole chunk (or the file's head) away; 0 or a negative errno. */
typedef int hz_tf_put(void *arg, const void *bytes, size_t len);

struct hz_tf_writer {
	uint8_t *buf;
	size_t size, used;
	uint64_t now; /* of the last event in the buffer */
	hz_tf_put *put;
	void *arg;
	int error; /* the first; nothing is written after it */
};

/* Least size of the buffer, and the most uses of one launch: what has more is
 * cut. */
#define HZ_TF_BUFFER 65536
#define HZ_TF_USES   4096

/* Bytes of a file's head, and what they are. */
#define HZ_TF_HEAD 16u
void hz_tf_head(uint8_t head[HZ_TF_HEAD]);

/* Writes the head. */
int hz_tf_start(struct hz_tf_writer *w, void *buf, size_t size, hz_tf_put *put,
		void *arg);
/* Another writer to a file that has its head. The times of each writer only
 * grow; those of two lie among each other. */
int hz_tf_join(struct hz_tf_writer *w, void *buf, size_t size, hz_tf_put *put,
	       void *arg);
int hz_tf_add(struct hz_tf_writer *w, const struct hz_tf_event *event);
/* What is in the buffer goes out; to be called now and then and at the end. */
int hz_tf_flush(struct hz_tf_writer *w);

struct hz_tf_reader {
	const uint8_t *data;
	size_t size, at, chunk_end;
	uint64_t now;
	size_t event;	 /* offset of the last one */
	const char *why; /* of an error */
	size_t where;	 /* its offset */
	uint32_t use[HZ_TF_USES];
};

/* 0, or -EINVAL with why and where set. */
int hz_tf_open(struct hz_tf_reader *r, const void *data, size_t size);
/* 1 with an event, 0 at the end, or a negative errno with why and where. */
int hz_tf_next(struct hz_tf_reader *r, struct hz_tf_event *event);

uint32_t hz_crc32c(const void *data, size_t len);
/* What it is on a CPU without the instruction: `crc` goes from UINT32_MAX to
 * the complement of the result. */
uint32_t hz_crc32c_table(uint32_t crc, const uint8_t *p, size_t len);

#endif
