/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of binary traces: the bytes as they are, and again with the
 * checksums put right, so that what is behind them is reached.
 */
#include "config.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include "policy/trace_file.h"
#include "replay/work.h"

#define HEAD	   16
#define CHUNK_HEAD 12

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz_quiet();
	return 0;
}

static void put_right(uint8_t *data, size_t size)
{
	size_t at = HEAD, left;
	uint32_t len, crc;

	memcpy(data, "HZTRACE\n\1\0\0\0\0\0\0", hz_min(size, (size_t)HEAD));
	for (; at < size && size - at > CHUNK_HEAD; at += CHUNK_HEAD + len) {
		left = hz_min(size - at - CHUNK_HEAD, (size_t)1 << 20);
		memcpy(data + at, "HZCK", 4);
		memcpy(&len, data + at + 4, sizeof(len));
		len = hz_min(len, (uint32_t)left);
		memcpy(data + at + 4, &len, sizeof(len));
		crc = hz_crc32c(data + at + CHUNK_HEAD, len);
		memcpy(data + at + 8, &crc, sizeof(crc));
	}
}

/* An error has a place and a reason; an event lies in the file. */
static void read_events(const uint8_t *data, size_t size)
{
	struct hz_tf_reader *r = malloc(sizeof(*r));
	struct hz_tf_event e;
	int rc = hz_tf_open(r, data, size);

	while (!rc && (rc = hz_tf_next(r, &e)) > 0) {
		if (r->event >= size || e.uses > HZ_TF_USES)
			abort();
		rc = 0;
	}
	if (rc && (!r->why || r->where > size))
		abort();
	free(r);
}

static void read_work(const uint8_t *data, size_t size)
{
	struct work *w = work_parse_trace("-", data, size);

	if (w)
		fuzz_work(w);
	if (w)
		work_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	read_events(data, size);
	read_work(data, size);
	if (size)
		memcpy(copy, data, size);
	put_right(copy, size);
	read_events(copy, size);
	read_work(copy, size);
	free(copy);
	return 0;
}
