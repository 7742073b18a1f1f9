/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact weights and moments in a file: what training needs to go on as if it
 * had not stopped.
 */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "model.h"

/* -errno. The file is whole or not there. */
int checkpoint_save(const struct model *, long step, const char *path);
/* -EINVAL: not a checkpoint, or of another shape or dtype; why says which. */
int checkpoint_load(struct model *, long *step, const char *path, char *why,
                    size_t room);

#endif
