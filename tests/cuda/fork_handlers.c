/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fork handler of the program, registered before the first use of the
 * driver, waits for another thread that calls the driver: none of our locks
 * may be held while it runs.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>
#include "driver.h"

#define FORKS 20

static sem_t wanted, made;
static pid_t self;
static CUresult(*alloc) HZ_SIG_cuMemAlloc_v2;
static CUcontext context;

static void *worker(void *arg)
{
	CUresult (*current)(CUcontext) = driver_get("cuCtxSetCurrent", 4000, 0);
	CUdeviceptr p;

	ok(current(context));
	for (int i = 0; i < 3 * FORKS; i++) {
		sem_wait(&wanted);
		ok(alloc(&p, 4096));
		sem_post(&made);
	}
	return NULL;
}

/* In prepare and parent; in the child there is no worker. */
static void let_it_call(void)
{
	if (getpid() != self)
		return;
	sem_post(&wanted);
	sem_wait(&made);
}

int main(void)
{
	CUresult (*current)(CUcontext *);
	pthread_t thread;
	int status;

	self = getpid();
	sem_init(&wanted, 0, 0);
	sem_init(&made, 0, 0);
	expect(!pthread_atfork(let_it_call, let_it_call, NULL));
	driver_start();
	alloc = SYM(cuMemAlloc_v2);
	current = (CUresult(*)(CUcontext *))driver_get("cuCtxGetCurrent", 4000,
						       0);
	ok(current(&context));
	expect(!pthread_create(&thread, NULL, worker, NULL));
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		expect(pid > 0 && waitpid(pid, &status, 0) == pid && !status);
		let_it_call();
	}
	pthread_join(thread, NULL);
	driver_end();
	puts("done");
	return 0;
}
