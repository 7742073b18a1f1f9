/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace file: what is written is read, and no byte that is wrong is taken.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy/trace_file.h"

struct file {
	uint8_t *data;
	size_t len;
};

static int append(void *arg, const void *bytes, size_t len)
{
	struct file *f = arg;

	f->data = realloc(f->data, f->len + len);
	memcpy(f->data + f->len, bytes, len);
	f->len += len;
	return 0;
}

static const uint32_t uses[] = {8 | 1, 16 | 2, 0xfffffff8u | 3};

/* The i-th event of a file of all kinds. */
static struct hz_tf_event nth(uint32_t i)
{
	return (struct hz_tf_event){.kind = HZ_TF_ALLOC + i % 7,
				    .now = 1000ull * i,
				    .id = (uint64_t)i << (i % 60),
				    .bytes = UINT64_MAX - i,
				    .ns = i * 7919ull,
				    .back = 3ull * i,
				    .how = i % 3,
				    .uses = i % 4,
				    .use = uses};
}

static struct file write_file(uint32_t events)
{
	static uint8_t buf[HZ_TF_BUFFER];
	struct file f = {NULL, 0};
	struct hz_tf_writer w;

	cr_assert_eq(hz_tf_start(&w, buf, sizeof(buf), append, &f), 0);
	for (uint32_t i = 0; i < events; i++) {
		struct hz_tf_event e = nth(i);

		cr_assert_eq(hz_tf_add(&w, &e), 0);
	}
	cr_assert_eq(hz_tf_flush(&w), 0);
	return f;
}

Test(trace_file, crc_is_the_usual_one)
{
	cr_assert_eq(hz_crc32c("123456789", 9), 0xe3069283u);
}

/* The instruction and the table, at all lengths and borders. */
Test(trace_file, crc_is_the_same_on_every_cpu)
{
	uint8_t data[300];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 167 + 13);
	for (unsigned from = 0; from < 9; from++)
		for (size_t n = 0; from + n <= sizeof(data); n++)
			cr_assert_eq(
				hz_crc32c(data + from, n),
				~hz_crc32c_table(UINT32_MAX, data + from, n));
}

Test(trace_file, what_is_written_is_read)
{
	const uint32_t n = 20000;
	struct file f = write_file(n);
	struct hz_tf_reader *r = malloc(sizeof(*r));
	struct hz_tf_event e;

	cr_assert_eq(hz_tf_open(r, f.data, f.len), 0);
	for (uint32_t i = 0; i < n; i++) {
		struct hz_tf_event want = nth(i);

		cr_assert_eq(hz_tf_next(r, &e), 1, "event %u: %s", i, r->why);
		cr_assert_eq(e.kind, want.kind);
		cr_assert_eq(e.now, want.now);
		cr_assert_eq(e.id, want.id);
		if (e.kind == HZ_TF_ALLOC || e.kind == HZ_TF_COPY)
			cr_assert_eq(e.bytes, want.bytes);
		if (e.kind == HZ_TF_FAULT || e.kind == HZ_TF_COPY)
			cr_assert_eq(e.how, want.how);
		if (e.kind == HZ_TF_TIME)
			cr_assert_eq(e.back, want.back);
		if (e.kind == HZ_TF_TIME || e.kind == HZ_TF_COPY ||
		    e.kind == HZ_TF_LAUNCH)
			cr_assert_eq(e.ns, want.ns);
		if (e.kind != HZ_TF_LAUNCH)
			continue;
		cr_assert_eq(e.uses, want.uses);
		cr_assert(!memcmp(e.use, uses, e.uses * sizeof(*uses)));
	}
	cr_assert_eq(hz_tf_next(r, &e), 0);
	free(f.data);
	free(r);
}

/* What a later version may write: kinds, and fields behind those of today. */
Test(trace_file, unknown_kinds_and_fields_are_stepped_over)
{
	static const uint8_t events[] = {
		8,   3, 1, 5, 6,	     /* a kind of its own */
		7,   6, 2, 9, 0x80, 1, 4, 7, /* a time, and a field */
		200, 1, 3,		     /* no fields */
	};
	uint8_t data[28 + sizeof(events)] = "HZTRACE\n\1\0\0\0\0\0\0\0HZCK";
	const uint32_t n = sizeof(events), crc = hz_crc32c(events, n);
	struct hz_tf_reader *r = malloc(sizeof(*r));
	struct hz_tf_event e;

	memcpy(data + 20, &n, 4);
	memcpy(data + 24, &crc, 4);
	memcpy(data + 28, events, n);
	cr_assert_eq(hz_tf_open(r, data, sizeof(data)), 0);
	cr_assert_eq(hz_tf_next(r, &e), 1, "%s", r->why);
	cr_assert_eq(e.kind, HZ_TF_TIME);
	cr_assert_eq(e.now, 3);
	cr_assert_eq(e.id, 9);
	cr_assert_eq(e.ns, 128);
	cr_assert_eq(e.back, 4);
	cr_assert_eq(hz_tf_next(r, &e), 0);
	free(r);
}

/* Reads all that can be read; the last answer. */
static int read_all(struct hz_tf_reader *r, const void *data, size_t len)
{
	struct hz_tf_event e;
	int rc = hz_tf_open(r, data, len);

	while (!rc && (rc = hz_tf_next(r, &e)) > 0)
		rc = 0;
	return rc;
}

Test(trace_file, cut_anywhere_is_an_error_that_says_where)
{
	struct file f = write_file(20);
	struct hz_tf_reader *r = malloc(sizeof(*r));

	for (size_t len = 0; len < f.len; len++) {
		void *copy = malloc(len ? len : 1);
		int rc;

		memcpy(copy, f.data, len);
		rc = read_all(r, copy, len);
		if (len == 16) { /* the head alone is an empty trace */
			cr_assert_eq(rc, 0);
		} else {
			cr_assert_lt(rc, 0, "cut at %zu", len);
			cr_assert_str_eq(r->why, "cut short");
			cr_assert_leq(r->where, len);
		}
		free(copy);
	}
	free(f.data);
	free(r);
}

Test(trace_file, any_wrong_byte_is_found)
{
	struct file f = write_file(20);
	struct hz_tf_reader *r = malloc(sizeof(*r));

	for (size_t i = 0; i < f.len; i++) {
		f.data[i] ^= 0x41;
		cr_assert_lt(read_all(r, f.data, f.len), 0, "byte %zu", i);
		f.data[i] ^= 0x41;
	}
	cr_assert_eq(read_all(r, f.data, f.len), 0);
	free(f.data);
	free(r);
}

/* Noise with a right checksum: the events themselves are checked. */
Test(trace_file, noise_never_reads_beyond)
{
	struct hz_tf_reader *r = malloc(sizeof(*r));
	uint64_t state = 12345;
	unsigned refused = 0;

	for (unsigned round = 0; round < 5000; round++) {
		size_t len = 28 + round % 64;
		uint8_t *data = malloc(len);
		uint32_t n = (uint32_t)(len - 28), crc;

		memcpy(data, "HZTRACE\n\1\0\0\0\0\0\0\0HZCK", 20);
		for (size_t i = 28; i < len; i++) {
			state = state * 6364136223846793005ull + 1;
			data[i] = (uint8_t)(state >> 60);
		}
		crc = hz_crc32c(data + 28, n);
		memcpy(data + 20, &n, 4);
		memcpy(data + 24, &crc, 4);
		refused += read_all(r, data, len) < 0;
		free(data);
	}
	cr_assert_gt(refused, 0);
	free(r);
}
