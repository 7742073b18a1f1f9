/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Under RLIMIT_AS the small allocator takes its addresses in small ranges: a
 * program that fits without Horizon still does, and the end is NULL with
 * ENOMEM, from which it recovers.
 */
#include <sys/resource.h>
#include <unistd.h>
#include "both.h"

#define MIB   ((size_t)1 << 20)
#define LIMIT "ADDRESS_SPACE_LIMITED"

enum { PIECE = 4000, COUNT = 512 * 262 };

static char *piece[COUNT];

static void use_half(void)
{
	int n = COUNT / 4; /* 128 of 512 MiB */

	for (int i = 0; i < n; i++) {
		piece[i] = malloc(PIECE);
		CHECK(piece[i]);
		fill(piece[i], 64, (unsigned)i);
	}
	for (int i = 0; i < n; i++) {
		CHECK(filled(piece[i], 64, (unsigned)i));
		free(piece[i]);
	}
}

static void use_all(void)
{
	int n = 0;

	errno = 0;
	while (n < COUNT && (piece[n] = malloc(PIECE)))
		n++;
	CHECK(n < COUNT && errno == ENOMEM);
	while (n--)
		free(piece[n]);
	piece[0] = malloc(PIECE);
	CHECK(piece[0]);
	free(piece[0]);
}

int run(void)
{
	struct rlimit as = {512 * MIB, 512 * MIB};
	char *argv[] = {(char *)"address_space_limit", NULL};

	if (!getenv(LIMIT)) {
		CHECK(!setenv(LIMIT, "1", 1) && !setrlimit(RLIMIT_AS, &as));
		execv("/proc/self/exe", argv);
		return 99;
	}
	use_half();
	use_all();
	use_half();
	return 0;
}
