/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last step as pictures: where tensors are, how busy the links are, who
 * waited.
 */
#ifndef HZ_REPLAY_VIEW_H
#define HZ_REPLAY_VIEW_H

#include <stdbool.h>
#include "replay/sim.h"

struct view;

struct view *view_new(const struct run *run);
void view_free(struct view *view);
/* One page that needs nothing else; false after one message. */
bool view_write(const struct view *view, const char *path,
		const struct work *work, const struct policy *policy,
		const struct profile *profile);

#endif
