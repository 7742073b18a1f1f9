/* SPDX-License-Identifier: Apache-2.0 */
/*
 * startup [-d LIBRARY]: small and big memory by every way, in two threads;
 * what it prints does not depend on what is preloaded. With -d the library is
 * loaded late, as nobody should; a loader may refuse that, and then the
 * program goes on. Run by startup_order.sh.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BIG ((size_t)16 << 20)

static unsigned long sum(const unsigned char *p, size_t len)
{
	unsigned long n = 0;

	for (size_t i = 0; i < len; i += 4096)
		n = n * 31 + p[i];
	return n;
}

static void *use(void *arg)
{
	unsigned long *out = arg;
	unsigned char *p, *q;

	for (size_t n = 1; n < BIG; n *= 7) {
		p = malloc(n);
		if (!p)
			return NULL;
		memset(p, (int)(n % 251), n);
		p = realloc(p, n + n / 2);
		*out += sum(p, n);
		free(p);
	}
	q = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	if (q == MAP_FAILED)
		return NULL;
	memset(q, 7, BIG);
	madvise(q, BIG / 2, MADV_DONTNEED);
	*out += sum(q, BIG);
	munmap(q, BIG);
	return arg;
}

int main(int argc, char **argv)
{
	unsigned long total[2] = {0, 0};
	pthread_t id;
	void *ok;

	if (argc == 3 && !dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL))
		fprintf(stderr, "%s\n", dlerror());
	if (pthread_create(&id, NULL, use, &total[1]) || !use(&total[0]))
		return 1;
	pthread_join(id, &ok);
	printf("%lu %lu %s\n", total[0], total[1],
	       getenv("STARTUP") ? "set" : "unset");
	return !ok;
}
