/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is linked with the driver asks whether it is loaded, before
 * its first call of it.
 */
#include <dlfcn.h>
#include <stdio.h>

int cuInit(unsigned flags);

int main(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	printf("%sloaded, cuInit gives %d\n", driver ? "" : "not ", cuInit(0));
	return 0;
}
