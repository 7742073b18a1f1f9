/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc, realloc and free are no cancellation points: a thread that is
 * cancelled while it waits for the engine leaves no lock behind.
 */
#include <pthread.h>
#include <unistd.h>
#include "tiered.h"

#define CANCELS 60
#define SIZE	(24 * MIB)

static void *churn(void *unused)
{
	for (;;) {
		char *p = malloc(SIZE);

		NEED(p);
		for (size_t i = 0; i < SIZE; i += BLOCK)
			p[i] = 1;
		p = realloc(p, SIZE + 16 * MIB);
		free(p);
		pthread_testcancel();
	}
	return NULL;
}

int main(void)
{
	tiered_start();
	for (unsigned i = 0; i < CANCELS; i++) {
		pthread_t id;
		char *p;

		NEED(pthread_create(&id, NULL, churn, NULL) == 0);
		usleep(3000 + i * 137);
		NEED(pthread_cancel(id) == 0);
		NEED(pthread_join(id, NULL) == 0);
		p = malloc(SIZE); /* hangs if the lock is gone */
		NEED(p);
		fill(p, SIZE, i);
		CHECK(filled(p, SIZE, i));
		free(p);
	}
	return tiered_end();
}
