/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the driver and its functions when they are asked for; nothing of it
 * is linked.
 */
#include "cuda-driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

typedef CUresult get_address(const char *symbol, void **at, int version,
                             uint64_t flags, int *status);

static const struct {
	const char *name;
	int version;
	size_t at;
} rows[] = {
#define F(name_, version_, args_) \
	{#name_, version_, offsetof(struct driver, name_)},
#include "cuda-driver.def"
#undef F
};

static int find_all(struct driver *d, get_address *get)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void **at = (void **)((char *)d + rows[i].at);
		int status = 0;
		CUresult err = get(rows[i].name, at, rows[i].version, 0,
		                   &status);

		if (err || !*at) {
			fprintf(stderr,
			        "gpt-train: the CUDA driver has no %s of "
			        "version %d (error %d): update it\n",
			        rows[i].name, rows[i].version, err);
			return -ENOSYS;
		}
	}
	return 0;
}

int driver_open(struct driver *d)
{
	get_address *get = NULL;

	*d = (struct driver){.library = dlopen("libcuda.so.1",
	                                       RTLD_NOW | RTLD_LOCAL)};
	if (!d->library) {
		fprintf(stderr,
		        "gpt-train: --device cuda needs a CUDA driver (%s)\n",
		        dlerror());
		return -ENODEV;
	}
	*(void **)&get = dlsym(d->library, "cuGetProcAddress_v2");
	if (!get) {
		fprintf(stderr,
		        "gpt-train: the CUDA driver has no "
		        "cuGetProcAddress_v2: 12.0 is the oldest that has\n");
		return -ENOSYS;
	}
	return find_all(d, get);
}

/* Threads of a driver may still run in it: it stays mapped. */
void driver_close(struct driver *d)
{
	*d = (struct driver){0};
}

const char *driver_error(const struct driver *d, CUresult err)
{
	const char *name = NULL;

	if (d->cuGetErrorName && !d->cuGetErrorName(err, &name) && name)
		return name;
	return "an error without a name";
}
