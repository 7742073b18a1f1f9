/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child of a process that uses the driver calls it and gets what the driver
 * says; a child made before the first call starts afresh. Neither counts in
 * its parent's slot.
 */
#include <sys/wait.h>
#include <unistd.h>
#include "driver.h"

static int child(bool fresh)
{
	CUdeviceptr p = 0;

	if (fresh) {
		driver_start();
		return SYM(cuMemAlloc_v2)(&p, 4096) != 0;
	}
	/* Whatever it answers: it must not hang or crash. */
	SYM(cuMemAlloc_v2)(&p, 4096);
	SYM(cuMemFree_v2)(0x1234000);
	return 0;
}

static int in_child(bool fresh)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(child(fresh));
	expect(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

int main(void)
{
	uint64_t n;

	/* Resolving is not initialising. */
	driver_get("cuMemAlloc", 3020, 0);
	expect(in_child(true) == 0);
	driver_start();
	n = counted("gpu_allocations", 0);
	expect(in_child(false) == 0);
	expect(counted("gpu_allocations", n) == n);
	driver_end();
	puts("done");
	return 0;
}
