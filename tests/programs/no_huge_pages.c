/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run a command to which the kernel gives no huge pages, as on a machine where
 * they are set to `never`. 77: it cannot be done here, 64: usage.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2)
		return 64;
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) ||
	    prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) != 1) {
		perror("no_huge_pages: prctl");
		return 77;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 77;
}
