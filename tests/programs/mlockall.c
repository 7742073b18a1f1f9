/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlockall locks what the program has, not the address space that Horizon
 * keeps in reserve.
 */
#include <sys/mman.h>
#include "both.h"

static long status_kib(const char *name)
{
	char line[256];
	long kib = -1;
	size_t n = strlen(name);
	FILE *f = fopen("/proc/self/status", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ':')
			kib = atol(line + n + 1);
	fclose(f);
	return kib;
}

int run(void)
{
	char *p = malloc(4 << 20), *q;

	CHECK(p);
	fill(p, 4 << 20, 1);
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		CHECK(errno == EPERM || errno == ENOMEM);
		fprintf(stderr, "mlockall is not allowed here\n");
		return SKIP;
	}
	CHECK(status_kib("VmRSS") < 512 << 10);
	CHECK(filled(p, 4 << 20, 1));
	q = malloc(4 << 20);
	CHECK(q);
	fill(q, 4 << 20, 2);
	CHECK(!munlockall());
	CHECK(status_kib("VmLck") == 0);
	CHECK(filled(p, 4 << 20, 1) && filled(q, 4 << 20, 2));
	free(p);
	free(q);
	errno = 0;
	CHECK(mlockall(0) == -1 && errno == EINVAL);
	return 0;
}
