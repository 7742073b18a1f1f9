/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of the model's dtype, and how loops over floats get at it: floats
 * are used where they lie, bf16 ones by way of a buffer of the caller's.
 */
#ifndef VIEW_H
#define VIEW_H

#include <stdbool.h>

struct view {
	void *at;
	bool narrow; /* bf16 */
};

/* Elements [i, i + n): to read, or to change and then to close. */
float *view_open(struct view, long i, long n, float *buffer);
/* To write only, and then to close. */
float *view_blank(struct view, long i, float *buffer);
/* at: what open or blank returned. */
void view_close(struct view, long i, long n, const float *at);
/* Closes, and leaves in at what has been kept: rounded values. */
void view_settle(struct view, long i, long n, float *at);

#endif
