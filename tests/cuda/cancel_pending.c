/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that is to be cancelled makes the process's first call of the
 * driver, which opens it, and the one that attaches the segment. Neither is a
 * point of cancellation, whatever is opened and read for it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static int (*alloc)(uint64_t *, size_t);
static int returned;

static void *call(void *arg)
{
	uint64_t p;
	int rc;

	pthread_cancel(pthread_self());
	rc = alloc(&p, 4096);
	returned = rc ? rc : -1;
	return NULL;
}

int main(void)
{
	pthread_t thread;
	void *end;

	alloc = (int (*)(uint64_t *, size_t))dlsym(RTLD_DEFAULT,
						   "cuMemAlloc_v2");
	if (!alloc || pthread_create(&thread, NULL, call, NULL))
		return 1;
	pthread_join(thread, &end);
	printf("%s\n", returned == -1 ? "returned" : "did not return");
	return returned != -1;
}
