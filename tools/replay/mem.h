/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory or the end of the program: a simulator has nothing to save.
 */
#ifndef HZ_REPLAY_MEM_H
#define HZ_REPLAY_MEM_H

#include <stddef.h>

void *mem_resize(void *old, size_t n, size_t size);
void *mem_zeroed(size_t n, size_t size);
char *mem_text(const char *text);

#endif
