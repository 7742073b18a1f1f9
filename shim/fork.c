/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork handlers, and the child's pid, which a handler in the parent is not
 * told. Interposing fork() would tell it too late: handlers of the program
 * run between ours and the return, and they may allocate.
 */
#include "hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include "base/os.h"
#include "engine/gpu.h"
#include "guard.h"

/* The thread's youngest child before the fork. */
static __thread int before __attribute__((tls_model("initial-exec")));

/* The last number of this thread's list of children; 0: none, or a kernel
 * without that list. */
static int youngest_child(void)
{
	char buf[512];
	ssize_t n;
	int pid = 0, number = 0;
	int fd = hz_os.open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC,
	                    0);

	if (fd < 0)
		return 0;
	while ((n = hz_os.read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] != ' ') {
				number = number * 10 + (buf[i] - '0');
				continue;
			}
			pid = number;
			number = 0;
		}
	}
	hz_os.close(fd);
	return pid;
}

/* The small allocator's own handlers; see hz_je_pthread_atfork(). */
static struct {
	void (*prepare)(void), (*parent)(void), (*child)(void);
} small;

static bool registered, engine_too, gpu_too;

static void call(void (*fn)(void))
{
	if (fn)
		fn();
}

/*
 * One registration for all, made at the first allocation of the process, so
 * before anybody else's: the C library runs prepare handlers from the last
 * registered to the first, and the others from the first to the last. Nobody
 * else's handler runs while we hold the engine's lock or the GPU's: it might
 * wait for a thread that waits for us. In the child evicted blocks can be read
 * before anybody else's handler does.
 */
static void prepare(void)
{
	hz_inside++;
	if (gpu_too)
		hz_gpu_fork_prepare();
	if (engine_too) {
		hz_arena_fork_prepare();
		before = youngest_child();
	}
	call(small.prepare);
	hz_inside--;
}

/* No new child: the fork failed, or the child is gone already. */
static void parent(void)
{
	int pid;

	call(small.parent);
	hz_inside++;
	if (engine_too) {
		pid = youngest_child();
		hz_arena_fork_parent(pid == before && pid ? -EAGAIN : pid);
	}
	if (gpu_too)
		hz_gpu_fork_parent();
	hz_inside--;
}

/* The engine starts threads, which allocates: the small allocator first. */
static void child(void)
{
	call(small.child);
	hz_inside++;
	if (engine_too)
		hz_arena_fork_child();
	if (gpu_too)
		hz_gpu_fork_child();
	hz_inside--;
}

static void register_once(void)
{
	if (registered)
		return;
	registered = true;
	pthread_atfork(prepare, parent, child);
}

int hz_fork_small(void (*prepare_)(void), void (*parent_)(void),
		  void (*child_)(void))
{
	small.prepare = prepare_;
	small.parent = parent_;
	small.child = child_;
	register_once();
	return 0;
}

/* Before main, so no fork is under way. */
void hz_fork_start(bool engine, bool gpu)
{
	engine_too = engine;
	gpu_too = gpu;
	if (engine || gpu)
		register_once();
}
