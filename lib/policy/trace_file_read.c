/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading traces: every byte may be wrong. See trace_file.h.
 */
#include "policy/trace_file.h"

#include <errno.h>
#include <string.h>

#define HEAD	   16
#define CHUNK_HEAD 12

static uint32_t get_u32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static int bad(struct hz_tf_reader *r, size_t where, const char *why, int err)
{
	r->where = where;
	r->why = why;
	r->at = r->chunk_end = r->size;
	return err;
}

int hz_tf_open(struct hz_tf_reader *r, const void *data, size_t size)
{
	memset(r, 0, offsetof(struct hz_tf_reader, use));
	r->data = data;
	r->size = size;
	if (memcmp(r->data, "HZTRACE\n", hz_min(size, (size_t)8)))
		return bad(r, 0, "not a trace", -EINVAL);
	if (size < HEAD)
		return bad(r, size, "cut short", -EINVAL);
	if (get_u32(r->data + 8) != HZ_TRACE_FILE_VERSION)
		return bad(r, 8, "a version that is not known", -EINVAL);
	if (get_u32(r->data + 12))
		return bad(r, 12, "flags that are not known", -EINVAL);
	r->at = r->chunk_end = HEAD;
	return 0;
}

static int open_chunk(struct hz_tf_reader *r)
{
	const uint8_t *p = r->data + r->at;
	size_t left = r->size - r->at, len;

	if (left < CHUNK_HEAD)
		return bad(r, r->at, "cut short", -EBADMSG);
	if (memcmp(p, "HZCK", 4))
		return bad(r, r->at, "not a chunk", -EBADMSG);
	len = get_u32(p + 4);
	if (len > left - CHUNK_HEAD)
		return bad(r, r->at, "cut short", -EBADMSG);
	if (hz_crc32c(p + CHUNK_HEAD, len) != get_u32(p + 8))
		return bad(r, r->at, "a checksum that differs", -EBADMSG);
	r->at += CHUNK_HEAD;
	r->chunk_end = r->at + len;
	r->now = 0;
	return 0;
}

/* One number, inside [at, end). */
static bool get(const uint8_t *data, size_t *at, size_t end, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = data[(*at)++];

		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool get_u32_field(const uint8_t *data, size_t *at, size_t end,
			  uint32_t *v)
{
	uint64_t wide;

	if (!get(data, at, end, &wide) || wide > UINT32_MAX)
		return false;
	*v = (uint32_t)wide;
	return true;
}

static bool get_uses(struct hz_tf_reader *r, size_t *at, size_t end,
		     struct hz_tf_event *e)
{
	if (!get_u32_field(r->data, at, end, &e->uses) || e->uses > HZ_TF_USES)
		return false;
	for (uint32_t i = 0; i < e->uses; i++)
		if (!get_u32_field(r->data, at, end, &r->use[i]))
			return false;
	e->use = r->use;
	return true;
}

static bool get_fields(struct hz_tf_reader *r, size_t at, size_t end,
		       struct hz_tf_event *e)
{
	const uint8_t *d = r->data;

	if (!get(d, &at, end, &e->id))
		return false;
	switch (e->kind) {
	case HZ_TF_ALLOC:
		return get(d, &at, end, &e->bytes);
	case HZ_TF_LAUNCH:
		return get(d, &at, end, &e->ns) && get_uses(r, &at, end, e);
	case HZ_TF_FAULT:
		return get_u32_field(d, &at, end, &e->how);
	case HZ_TF_COPY:
		return get(d, &at, end, &e->bytes) &&
		       get_u32_field(d, &at, end, &e->how) &&
		       get(d, &at, end, &e->ns);
	case HZ_TF_TIME:
		return get(d, &at, end, &e->ns) && get(d, &at, end, &e->back);
	case HZ_TF_FREE:
	case HZ_TF_STEP:
		break;
	}
	return true;
}

static bool is_known(unsigned kind)
{
	return kind >= HZ_TF_ALLOC && kind <= HZ_TF_TIME;
}

int hz_tf_next(struct hz_tf_reader *r, struct hz_tf_event *event)
{
	uint64_t length, delta;
	size_t start, at, end;
	int rc;

	for (;;) {
		while (r->at == r->chunk_end) {
			if (r->at == r->size)
				return r->why ? -EBADMSG : 0;
			rc = open_chunk(r);
			if (rc)
				return rc;
		}
		start = at = r->event = r->at;
		memset(event, 0, sizeof(*event));
		event->kind = (enum hz_tf_kind)r->data[at++];
		if (!get(r->data, &at, r->chunk_end, &length) ||
		    length > r->chunk_end - at)
			return bad(r, start, "an event beyond its chunk",
				   -EBADMSG);
		end = at + (size_t)length;
		if (!get(r->data, &at, end, &delta))
			return bad(r, start, "an event without a time",
				   -EBADMSG);
		r->now += delta;
		r->at = end;
		if (!is_known(event->kind))
			continue;
		event->now = r->now;
		if (!get_fields(r, at, end, event))
			return bad(r, start, "an event that is not whole",
				   -EBADMSG);
		return 1;
	}
}
