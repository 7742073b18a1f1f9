/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of one process in another, and what a child of fork may call: it has
 * no driver, but can run a program that opens one.
 */
#include <sys/wait.h>
#include <unistd.h>
#include "testing.h"

static void other_process(int fd)
{
	CUipcMemHandle handle;
	CUdeviceptr p;
	unsigned v;

	expect(read(fd, &handle, sizeof(handle)) == sizeof(handle));
	open_context();
	ok(CALL(cuIpcOpenMemHandle_v2)(&p, handle,
				       CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	ok(CALL(cuMemcpyDtoH_v2)(&v, p, 4));
	expect(v == 1234);
	ok(CALL(cuMemsetD32_v2)(p, 4321, 1));
	expect_code(CALL(cuMemFree_v2)(p), CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuIpcCloseMemHandle)(p));
	exit(0);
}

static void child_of_fork(void)
{
	CUdeviceptr p;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (CALL(cuMemAlloc_v2)(&p, 4) != CUDA_ERROR_NOT_INITIALIZED ||
		    CALL(cuInit)(0) != CUDA_ERROR_NOT_INITIALIZED)
			_exit(1);
		_exit(0);
	}
	expect(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	CUipcMemHandle handle;
	CUdeviceptr p, managed, other;
	unsigned v = 1234;
	int fds[2], status;
	char fd[16];
	pid_t pid;

	if (argc > 1)
		other_process(atoi(argv[1]));
	open_context();
	ok(CALL(cuMemAlloc_v2)(&p, 4));
	ok(CALL(cuMemcpyHtoD_v2)(p, &v, 4));
	ok(CALL(cuMemAllocManaged)(&managed, 4, CU_MEM_ATTACH_GLOBAL));
	expect_code(CALL(cuIpcGetMemHandle)(&handle, managed),
		    CUDA_ERROR_INVALID_VALUE);
	ok(CALL(cuIpcGetMemHandle)(&handle, p));
	expect_code(CALL(cuIpcOpenMemHandle_v2)(
			    &other, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
		    CUDA_ERROR_INVALID_CONTEXT); /* not where it is from */
	expect(pipe(fds) == 0);
	expect(write(fds[1], &handle, sizeof(handle)) == sizeof(handle));
	snprintf(fd, sizeof(fd), "%d", fds[0]);
	pid = fork();
	if (!pid) {
		execl(argv[0], argv[0], fd, (char *)NULL);
		_exit(127);
	}
	expect(waitpid(pid, &status, 0) == pid);
	expect(status == 0);
	ok(CALL(cuMemcpyDtoH_v2)(&v, p, 4));
	expect(v == 4321);
	child_of_fork();
	ok(CALL(cuMemFree_v2)(p));
	return 0;
}
