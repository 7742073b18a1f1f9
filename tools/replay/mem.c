/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory or the end of the program. See mem.h.
 */
#include "config.h"
#include "replay/mem.h"

#include <stdlib.h>
#include <string.h>
#include "base/log.h"

static void *must(void *p)
{
	if (p)
		return p;
	hz_log(HZ_ERROR, "replay", "out of memory");
	exit(1);
}

void *mem_resize(void *old, size_t n, size_t size)
{
	return must(reallocarray(old, n ? n : 1, size));
}

void *mem_zeroed(size_t n, size_t size)
{
	return must(calloc(n ? n : 1, size));
}

char *mem_text(const char *text)
{
	return must(strdup(text));
}
