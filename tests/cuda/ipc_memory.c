/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of another process, by every way there is: it is in the importer's
 * map until it is closed as often as it was opened, and none of it is counted
 * as the importer's own device memory. The exporter has what it has.
 *
 * With an argument it stops in the middle, says "ready", and goes on at the
 * end of its input, so that one can look at both.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "driver.h"

#define MIB	((size_t)1 << 20)
#define FD_TYPE 1 /* POSIX_FILE_DESCRIPTOR, OPAQUE_FD */
#define PEER	1 /* LAZY_ENABLE_PEER_ACCESS */

struct offer {
	CUipcMemHandle ipc;
	char pointer[64];   /* CUmemPoolPtrExportData */
	int pool, physical; /* descriptors */
};

static bool waits;

static void holds(uint64_t vram, unsigned allocations)
{
	expect(counted("vram_resident", vram) == vram);
	expect(counted("gpu_allocations", allocations) == allocations);
}

static void look_at_us(void)
{
	if (waits)
		driver_show();
}

static void reads(CUdeviceptr p, unsigned want)
{
	unsigned v = 0;

	ok(SYM(cuMemcpyDtoH_v2)(&v, p, sizeof(v)));
	expect(v == want);
}

/* Two MiB of addresses for it. */
static CUdeviceptr mapped(CUmemGenericAllocationHandle h)
{
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr,
			    unsigned long long) =
		driver_get("cuMemAddressReserve", 10020, 0);
	CUresult (*allow)(CUdeviceptr, size_t, const void *, size_t) =
		driver_get("cuMemSetAccess", 10020, 0);
	struct {
		CUmemLocation location;
		int flags;
	} access = {{1, 0}, 3};
	CUdeviceptr p;

	ok(reserve(&p, 2 * MIB, 0, 0, 0));
	ok(SYM(cuMemMap)(p, 2 * MIB, 0, h, 0));
	ok(allow(p, 2 * MIB, &access, 1));
	return p;
}

/* ---- the one that gets it ---- */

static void opened(const struct offer *o)
{
	CUdeviceptr p, again;

	ok(SYM(cuIpcOpenMemHandle_v2)(&p, o->ipc, PEER));
	holds(0, 1);
	reads(p, 11);
	ok(SYM(cuIpcOpenMemHandle_v2)(&again, o->ipc, PEER));
	expect(again == p);
	holds(0, 1);
	look_at_us();
	expect(SYM(cuMemFree_v2)(p)); /* it is not ours */
	holds(0, 1);
	ok(SYM(cuIpcCloseMemHandle)(p));
	holds(0, 1);
	reads(p, 11);
	soft_fail("cuIpcCloseMemHandle:1:999");
	expect(SYM(cuIpcCloseMemHandle)(p) == 999);
	holds(0, 1);
	ok(SYM(cuIpcCloseMemHandle)(p));
	holds(0, 0);
	expect(SYM(cuIpcCloseMemHandle)(p));
	holds(0, 0);
	/* And once more, from the start. */
	ok(SYM(cuIpcOpenMemHandle)(&p, o->ipc, PEER));
	holds(0, 1);
	ok(SYM(cuIpcCloseMemHandle)(p));
	holds(0, 0);
}

static void of_a_pool(struct offer *o)
{
	CUresult (*import)(CUmemoryPool *, void *, int, unsigned long long) =
		driver_get("cuMemPoolImportFromShareableHandle", 11020, 0);
	CUresult (*destroy)(CUmemoryPool) =
		driver_get("cuMemPoolDestroy", 11020, 0);
	CUmemoryPool pool;
	CUdeviceptr p;

	ok(import(&pool, (void *)(intptr_t)o->pool, FD_TYPE, 0));
	for (int i = 0; i < 2; i++) {
		ok(SYM(cuMemPoolImportPointer)(&p, pool, (void *)o->pointer));
		holds(0, 1);
		reads(p, 22);
		if (i)
			ok(SYM(cuMemFreeAsync)(p, NULL));
		else
			ok(SYM(cuMemFree_v2)(p));
		holds(0, 0);
	}
	ok(SYM(cuCtxSynchronize)());
	ok(destroy(pool));
}

static void physical(const struct offer *o)
{
	CUresult (*unreserve)(CUdeviceptr, size_t) =
		driver_get("cuMemAddressFree", 10020, 0);
	CUmemGenericAllocationHandle h;
	CUdeviceptr p;

	ok(SYM(cuMemImportFromShareableHandle)(
		&h, (void *)(intptr_t)o->physical, FD_TYPE));
	holds(0, 0);
	p = mapped(h);
	holds(0, 1);
	reads(p, 33);
	ok(SYM(cuMemUnmap)(p, 2 * MIB));
	ok(SYM(cuMemRelease)(h));
	holds(0, 0);
	ok(unreserve(p, 2 * MIB));
}

/* Memory that no driver has made. */
static void external(void)
{
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 4096,
						 .size = MIB / 2};
	CUresult (*destroy)(CUexternalMemory) =
		driver_get("cuDestroyExternalMemory", 10000, 0);
	int fd = memfd_create("external", MFD_CLOEXEC);
	CUexternalMemory m;
	CUdeviceptr p;

	expect(fd >= 0 && !ftruncate(fd, (off_t)MIB));
	expect(pwrite(fd, &(unsigned){44}, 4, 4096) == 4);
	ok(driver_import(&m, fd, MIB));
	ok(SYM(cuExternalMemoryGetMappedBuffer)(&p, m, &part));
	holds(0, 1);
	reads(p, 44);
	ok(destroy(m));
	holds(0, 1);
	ok(SYM(cuMemFree_v2)(p));
	holds(0, 0);
}

static int importer(int from)
{
	struct offer o;
	uint64_t live;

	expect(read(from, &o, sizeof(o)) == sizeof(o));
	driver_start();
	live = soft_live();
	opened(&o);
	of_a_pool(&o);
	physical(&o);
	external();
	expect(soft_live() == live);
	expect(counted("gpu_untracked", 0) == 0);
	driver_end();
	return 0;
}

/* ---- the one that has it ---- */

/* CUmemPoolProps. */
struct props {
	int type, handles;
	CUmemLocation location;
	void *security;
	size_t most;
	unsigned char rest[56];
};

static void mark(CUdeviceptr p, unsigned v)
{
	ok(SYM(cuMemcpyHtoD_v2)(p, &v, sizeof(v)));
}

static CUdeviceptr offer_pool(struct offer *o)
{
	CUresult (*create)(CUmemoryPool *, const struct props *) =
		driver_get("cuMemPoolCreate", 11020, 0);
	CUresult (*export)(void *, CUmemoryPool, int, unsigned long long) =
		driver_get("cuMemPoolExportToShareableHandle", 11020, 0);
	struct props props = {1, FD_TYPE, {1, 0}, NULL, 0, {0}};
	CUmemoryPool pool;
	CUdeviceptr p;

	_Static_assert(sizeof(props) == 88, "as the driver's");
	ok(create(&pool, &props));
	ok(SYM(cuMemAllocFromPoolAsync)(&p, 3 * MIB, pool, NULL));
	ok(SYM(cuStreamSynchronize)(NULL));
	mark(p, 22);
	ok(export(&o->pool, pool, FD_TYPE, 0));
	ok(SYM(cuMemPoolExportPointer)((void *)o->pointer, p));
	return p;
}

static void offer_physical(struct offer *o)
{
	CUmemAllocationProp prop = {
		.type = 1, .requestedHandleTypes = FD_TYPE, .location = {1, 0}};
	CUmemGenericAllocationHandle h;
	CUdeviceptr p;

	ok(SYM(cuMemCreate)(&h, 2 * MIB, &prop, 0));
	p = mapped(h);
	mark(p, 33);
	ok(SYM(cuMemExportToShareableHandle)(&o->physical, h, FD_TYPE, 0));
}

static void keep_in_exec(int fd)
{
	expect(!fcntl(fd, F_SETFD, 0));
}

static void run_importer(char **argv, const struct offer *o)
{
	int fds[2], status;
	char from[16];
	pid_t pid;

	expect(!pipe(fds));
	expect(write(fds[1], o, sizeof(*o)) == sizeof(*o));
	snprintf(from, sizeof(from), "%d", fds[0]);
	keep_in_exec(o->pool);
	keep_in_exec(o->physical);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execl(argv[0], argv[0], waits ? "wait" : "run", from,
		      (char *)NULL);
		_exit(127);
	}
	/* The table of what we have is written while we wait for the device. */
	while (waitpid(pid, &status, WNOHANG) == 0) {
		ok(SYM(cuCtxSynchronize)());
		usleep(10000);
	}
	expect(!status);
}

int main(int argc, char **argv)
{
	const uint64_t vram = 6 * MIB;
	CUdeviceptr p, pooled;
	struct offer o;

	waits = argc > 1 && !strcmp(argv[1], "wait");
	if (argc > 2)
		return importer(atoi(argv[2]));
	driver_start();
	ok(SYM(cuMemAlloc_v2)(&p, MIB));
	mark(p, 11);
	ok(SYM(cuIpcGetMemHandle)(&o.ipc, p));
	pooled = offer_pool(&o);
	offer_physical(&o);
	holds(vram, 3);
	run_importer(argv, &o);
	holds(vram, 3);
	reads(p, 11);
	ok(SYM(cuMemFree_v2)(p));
	ok(SYM(cuMemFree_v2)(pooled));
	holds(vram - 4 * MIB, 1);
	puts("done");
	return 0;
}
