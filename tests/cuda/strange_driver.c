/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libstrangedriver.so: a driver of a few functions that does to its host what
 * the software driver does not.
 *
 * Its constructor and its cuInit allocate, and what the C library has allocated
 * for it is freed here: the C library took that from the allocator in front of
 * everything; a driver that was opened on its own must give it back there. The
 * constructor calls an exported function, too. The other functions call
 * nothing, so that a signal handler may come at any time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuInit(unsigned flags);
EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuMemAlloc_v2(uint64_t *p, size_t bytes);
EXPORT int cuLaterThanUs(void);
EXPORT int cuMemAlloc_v9(uint64_t *p, size_t bytes);
EXPORT int cuMemsetD8_v2(uint64_t p, unsigned char value, size_t bytes);

static char *early;
static int version_seen;

static __attribute__((constructor)) void start(void)
{
	early = malloc(3000);
	cuDriverGetVersion(&version_seen);
}

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
	early = realloc(early, 5000);
	return early && version_seen == 12345 ? 0 : 999;
}

int cuDriverGetVersion(int *version)
{
	*version = 12345;
	return 0;
}

int cuMemAlloc_v2(uint64_t *p, size_t bytes)
{
	static uint64_t next = (uint64_t)1 << 40;

	*p = next;
	next += (bytes + 0x1fffff) & ~(uint64_t)0x1fffff;
	return 0;
}

int cuMemsetD8_v2(uint64_t p, unsigned char value, size_t bytes)
{
	return 0;
}

/* Names that no toolkit knows. */
int cuLaterThanUs(void)
{
	return 4711;
}

int cuMemAlloc_v9(uint64_t *p, size_t bytes)
{
	return cuMemAlloc_v2(p, bytes);
}
