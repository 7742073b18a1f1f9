/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing traces. See trace_file.h.
 */
#include "policy/trace_file.h"

#include <errno.h>
#include <string.h>

#define CHUNK_HEAD 12
/* kind, length, and at most six fields of ten bytes beside the uses. */
#define EVENT_MAX (80 + 5 * (size_t)HZ_TF_USES)

static void put_u32(uint8_t *at, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(v >> (8 * i));
}

static uint8_t *put_varint(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

static int hand_over(struct hz_tf_writer *w, const void *bytes, size_t len)
{
	if (!w->error)
		w->error = w->put(w->arg, bytes, len);
	return w->error;
}

void hz_tf_head(uint8_t head[HZ_TF_HEAD])
{
	memcpy(head, "HZTRACE\n", 8);
	put_u32(head + 8, HZ_TRACE_FILE_VERSION);
	put_u32(head + 12, 0);
}

int hz_tf_join(struct hz_tf_writer *w, void *buf, size_t size, hz_tf_put *put,
	       void *arg)
{
	*w = (struct hz_tf_writer){.buf = buf,
				   .size = size,
				   .used = CHUNK_HEAD,
				   .put = put,
				   .arg = arg};
	return size < HZ_TF_BUFFER ? -EINVAL : 0;
}

int hz_tf_start(struct hz_tf_writer *w, void *buf, size_t size, hz_tf_put *put,
		void *arg)
{
	uint8_t head[HZ_TF_HEAD];
	int rc = hz_tf_join(w, buf, size, put, arg);

	hz_tf_head(head);
	return rc ? rc : hand_over(w, head, sizeof(head));
}

int hz_tf_flush(struct hz_tf_writer *w)
{
	size_t used = w->used;

	if (used == CHUNK_HEAD)
		return w->error;
	memcpy(w->buf, "HZCK", 4);
	put_u32(w->buf + 4, (uint32_t)(used - CHUNK_HEAD));
	put_u32(w->buf + 8, hz_crc32c(w->buf + CHUNK_HEAD, used - CHUNK_HEAD));
	w->used = CHUNK_HEAD;
	w->now = 0;
	return hand_over(w, w->buf, used);
}

static uint8_t *put_fields(uint8_t *at, const struct hz_tf_event *e)
{
	uint32_t uses = hz_min(e->uses, (uint32_t)HZ_TF_USES);

	at = put_varint(at, e->id);
	switch (e->kind) {
	case HZ_TF_ALLOC:
		return put_varint(at, e->bytes);
	case HZ_TF_LAUNCH:
		at = put_varint(at, e->ns);
		at = put_varint(at, uses);
		for (uint32_t i = 0; i < uses; i++)
			at = put_varint(at, e->use[i]);
		return at;
	case HZ_TF_FAULT:
		return put_varint(at, e->how);
	case HZ_TF_COPY:
		at = put_varint(at, e->bytes);
		at = put_varint(at, e->how);
		return put_varint(at, e->ns);
	case HZ_TF_TIME:
		at = put_varint(at, e->ns);
		return put_varint(at, e->back);
	case HZ_TF_FREE:
	case HZ_TF_STEP:
		break;
	}
	return at;
}

/* The length is known only when the fields are there: they are moved up by
 * the bytes that it takes. */
int hz_tf_add(struct hz_tf_writer *w, const struct hz_tf_event *event)
{
	uint8_t *start, *fields, *end;
	uint8_t length[10];
	size_t n;

	if (w->size - w->used < EVENT_MAX)
		hz_tf_flush(w);
	start = w->buf + w->used;
	*start = (uint8_t)event->kind;
	fields = start + 1;
	end = put_varint(fields, event->now > w->now ? event->now - w->now : 0);
	end = put_fields(end, event);
	n = (size_t)(put_varint(length, (uint64_t)(end - fields)) - length);
	memmove(fields + n, fields, (size_t)(end - fields));
	memcpy(fields, length, n);
	w->used += (size_t)(end - start) + n;
	w->now = hz_max(w->now, event->now);
	return w->error;
}
