/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tiny JSON emitter: commas, quotes and nesting, straight to a stream. With
 * `pretty` one member a line and two blanks a level, else all on one line.
 */
#ifndef HZ_JSON_H
#define HZ_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool pretty;
	bool filled; /* the innermost open level has a member */
	unsigned depth;
};

/* `key` is NULL inside an array and at the top. */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_string(struct json *j, const char *key, const char *value);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_seconds(struct json *j, const char *key, uint64_t nanoseconds);
void json_null(struct json *j, const char *key);

#endif
