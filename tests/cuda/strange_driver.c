/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libstrangedriver.so: a driver whose cuInit frees what the C library has
 * allocated for it. The C library took that from the allocator in front of
 * everything; a driver that was opened on its own must give it back there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
	char *copy = strdup("something to free"), *line = NULL, *more;
	size_t room = 0;
	FILE *self = fopen("/proc/self/maps", "r");

	if (!copy || !self || getline(&line, &room, self) <= 0)
		return 999;
	fclose(self);
	free(line);
	more = realloc(copy, 1 << 16);
	if (!more || strcmp(more, "something to free"))
		return 999;
	free(more);
	free(realloc(malloc(100), 1 << 20));
	return 0;
}
