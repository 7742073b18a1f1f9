/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every family of allocation, resolved in four ways, from a library that was
 * opened with RTLD_DEEPBIND, and by eight threads at once: the driver answers
 * as without us, and our count of its memory is right to the byte. Then every
 * name of the table that is hooked, or is of the thread's own default stream,
 * by four ways: the call lands in the driver's function of exactly that name.
 * A family that was not called at all is a failure.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "driver.h"
#include "names.h"

#define MIB	((size_t)1 << 20)
#define FD_TYPE 1
#define FLOAT	0x20
#define THREADS 8
#define ROUNDS	200

static CUresult(*get_address) HZ_SIG_cuGetProcAddress_v2;

/* ---- four ways to one function ---- */

static void four_ways(void)
{
	void *by_symbol = driver_symbol("cuMemAlloc_v2");
	void *by_address = driver_get("cuMemAlloc", 3020, 0);
	void *old = NULL, *via = NULL;
	CUresult(*other) HZ_SIG_cuGetProcAddress;
	CUresult(*alloc[4]) HZ_SIG_cuMemAlloc_v2;
	uint64_t vram = counted("vram_resident", 0), sum = 0;
	CUdeviceptr p[4];

	/* The first form, and the one that cuGetProcAddress itself names. */
	other = SYM(cuGetProcAddress);
	ok(other("cuMemAlloc", &old, 3020, 0));
	other = driver_get("cuGetProcAddress", 11030, 0);
	ok(other("cuMemAlloc", &via, 3020, 0));
	alloc[0] = (CUresult(*) HZ_SIG_cuMemAlloc_v2)by_symbol;
	alloc[1] = (CUresult(*) HZ_SIG_cuMemAlloc_v2)by_address;
	alloc[2] = (CUresult(*) HZ_SIG_cuMemAlloc_v2)old;
	alloc[3] = (CUresult(*) HZ_SIG_cuMemAlloc_v2)via;
	for (unsigned i = 0; i < 4; i++) {
		ok(alloc[i](&p[i], 1000 + i));
		sum += 1000 + i;
		expect(counted("vram_resident", vram + sum) == vram + sum);
	}
	for (unsigned i = 0; i < 4; i++)
		ok(SYM(cuMemFree_v2)(p[i]));
	expect(counted("vram_resident", vram) == vram);
}

static void odd_questions(void)
{
	void *f = &f;
	int status = 77;

	get_address = SYM(cuGetProcAddress_v2);
	printf("empty %d", get_address("", &f, 0, 0, NULL));
	printf(", unknown %d", get_address("cuNope", &f, 13000, 0, &status));
	printf(" %d %s", status, f ? "set" : "NULL");
	printf(", too old %d",
	       get_address("cuMemAllocAsync", &f, 2000, 0, &status));
	printf(" %d\n", status);
}

/* ---- families ---- */

static void physical(void)
{
	CUresult (*reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr,
			    unsigned long long) =
		driver_get("cuMemAddressReserve", 10020, 0);
	CUresult (*unreserve)(CUdeviceptr, size_t) =
		driver_get("cuMemAddressFree", 10020, 0);
	CUmemAllocationProp prop = {.type = 1, .location = {1, 0}};
	uint64_t vram = counted("vram_resident", 0);
	const size_t two = 2 << 20;
	CUmemGenericAllocationHandle h, again;
	CUdeviceptr p;

	ok(reserve(&p, 2 * two, 0, 0, 0));
	expect(counted("vram_resident", vram) == vram);
	ok(SYM(cuMemCreate)(&h, two, &prop, 0));
	expect(counted("vram_resident", vram + two) == vram + two);
	/* Two mappings are not twice the memory. */
	ok(SYM(cuMemMap)(p, two, 0, h, 0));
	ok(SYM(cuMemMap)(p + two, two, 0, h, 0));
	expect(counted("vram_resident", vram + two) == vram + two);
	expect(counted("gpu_allocations", 2) == 2);
	ok(SYM(cuMemRetainAllocationHandle)(&again, (void *)(uintptr_t)p));
	ok(SYM(cuMemRelease)(h));
	ok(SYM(cuMemRelease)(again));
	expect(counted("vram_resident", vram + two) == vram + two);
	ok(SYM(cuMemUnmap)(p, two));
	expect(counted("vram_resident", vram + two) == vram + two);
	ok(SYM(cuMemUnmap)(p + two, two));
	expect(counted("vram_resident", vram) == vram);
	expect(counted("gpu_allocations", 0) == 0);
	ok(unreserve(p, 2 * two));
}

static void host(void)
{
	size_t bytes = 1 << 20;
	void *p, *own = aligned_alloc(4096, bytes);

	expect(own);
	ok(SYM(cuMemHostAlloc)(&p, 5000, 0));
	expect(counted("gpu_pinned", 5000) == 5000);
	ok(SYM(cuMemFreeHost)(p));
	ok(SYM(cuMemAllocHost_v2)(&p, 6000));
	expect(counted("gpu_pinned", 6000) == 6000);
	ok(SYM(cuMemFreeHost)(p));
	ok(SYM(cuMemHostRegister_v2)(own, bytes, 0));
	expect(counted("gpu_pinned", bytes) == bytes);
	ok(SYM(cuMemHostUnregister)(own));
	expect(counted("gpu_pinned", 0) == 0);
	free(own);
}

static void plain(void)
{
	uint64_t vram = counted("vram_resident", 0);
	CUdeviceptr p[3];
	size_t pitch;

	ok(SYM(cuMemAlloc_v2)(&p[0], 777));
	ok(SYM(cuMemAllocPitch_v2)(&p[1], &pitch, 100, 9, 4));
	vram += 777 + pitch * 9;
	expect(counted("vram_resident", vram) == vram);
	ok(SYM(cuMemAllocManaged)(&p[2], 5 * MIB, 1));
	expect(counted("gpu_managed", 5 * MIB) == 5 * MIB);
	expect(counted("gpu_allocations", 3) == 3);
	for (unsigned i = 0; i < 3; i++)
		ok(SYM(cuMemFree_v2)(p[i]));
	expect(counted("gpu_managed", 0) == 0);
	expect(counted("gpu_allocations", 0) == 0);
}

static void arrays(void)
{
	CUDA_ARRAY_DESCRIPTOR flat = {100, 10, FLOAT, 1};
	CUDA_ARRAY3D_DESCRIPTOR d = {16, 16, 2, FLOAT, 1, 0};
	uint64_t vram = counted("vram_resident", 0);
	CUmipmappedArray m;
	CUarray a[2], level;

	ok(SYM(cuArrayCreate_v2)(&a[0], &flat));
	ok(SYM(cuArray3DCreate_v2)(&a[1], &d));
	ok(SYM(cuMipmappedArrayCreate)(&m, &d, 2));
	ok(SYM(cuMipmappedArrayGetLevel)(&level, m, 1));
	vram += 4000 + 2048 + 2048 + 256;
	expect(counted("vram_resident", vram) == vram);
	ok(SYM(cuArrayDestroy)(a[0]));
	ok(SYM(cuArrayDestroy)(a[1]));
	ok(SYM(cuMipmappedArrayDestroy)(m));
	expect(counted("gpu_allocations", 0) == 0);
}

static unsigned places; /* of graphs, in the map */

/* Memory of a node, for the time that the graph is there. */
static void of_graphs(void)
{
	CUresult (*create)(CUgraph *, unsigned) =
		driver_get("cuGraphCreate", 10000, 0);
	CUresult (*destroy)(CUgraph) = driver_get("cuGraphDestroy", 10000, 0);
	CUresult (*release)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
			    CUdeviceptr) =
		driver_get("cuGraphAddMemFreeNode", 11040, 0);
	CUDA_MEM_ALLOC_NODE_PARAMS p = {.bytesize = 3000};
	uint64_t vram = counted("vram_resident", 0);
	CUgraphNode node[2];
	CUgraphExec exec;
	CUgraph g;
	int pinned = 1;
	CUmemLocation device = {1, 0};

	memcpy(p.poolProps, &pinned, sizeof(pinned));
	memcpy(p.poolProps + 8, &device, sizeof(device));
	ok(create(&g, 0));
	ok(SYM(cuGraphAddMemAllocNode)(&node[0], g, NULL, 0, &p));
	expect(counted("gpu_allocations", 1) == 1);
	ok(release(&node[1], g, node, 1, p.dptr));
	ok(SYM(cuGraphInstantiateWithFlags)(&exec, g, 0));
	ok(SYM(cuGraphLaunch)(exec, NULL));
	ok(SYM(cuCtxSynchronize)());
	ok(SYM(cuGraphExecDestroy)(exec));
	ok(destroy(g));
	/* A graph's memory is not charged as its allocation; its place stays
	 * known until another takes it. */
	places = (unsigned)counted("gpu_allocations", 1);
	expect(counted("vram_resident", vram) == vram);
}

/* ---- what another process has, or nobody's driver ---- */

struct offer {
	CUipcMemHandle ipc;
	char pointer[64]; /* CUmemPoolPtrExportData */
	int pool, physical;
};

static CUdeviceptr pooled(struct offer *o)
{
	CUresult (*create)(CUmemoryPool *, const void *) =
		driver_get("cuMemPoolCreate", 11020, 0);
	CUresult (*export)(void *, CUmemoryPool, int, unsigned long long) =
		driver_get("cuMemPoolExportToShareableHandle", 11020, 0);
	int props[22] = {1, FD_TYPE, 1, 0}; /* CUmemPoolProps */
	CUmemoryPool pool;
	CUdeviceptr p;

	ok(create(&pool, props));
	ok(SYM(cuMemAllocFromPoolAsync)(&p, MIB, pool, NULL));
	ok(SYM(cuCtxSynchronize)());
	ok(export(&o->pool, pool, FD_TYPE, 0));
	ok(SYM(cuMemPoolExportPointer)((void *)o->pointer, p));
	return p;
}

/* The other process: makes, tells, and waits for the end of its input. */
static int exporter(void)
{
	CUmemAllocationProp prop = {
		.type = 1, .requestedHandleTypes = FD_TYPE, .location = {1, 0}};
	CUmemGenericAllocationHandle h;
	struct offer o;
	CUdeviceptr p;
	char c;

	driver_start();
	ok(SYM(cuMemAlloc_v2)(&p, MIB));
	ok(SYM(cuIpcGetMemHandle)(&o.ipc, p));
	pooled(&o);
	ok(SYM(cuMemCreate)(&h, 2 * MIB, &prop, 0));
	ok(SYM(cuMemExportToShareableHandle)(&o.physical, h, FD_TYPE, 0));
	if (write(1, &o, sizeof(o)) != sizeof(o) || read(0, &c, 1))
		return 1;
	return 0;
}

/* Descriptors of the other process, as a socket would bring them. */
static int fetch(pid_t pid, int fd)
{
	char path[64];
	int ours;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	ours = open(path, O_RDWR | O_CLOEXEC);
	expect(ours >= 0);
	return ours;
}

static pid_t start_exporter(char **argv, struct offer *o, int *end)
{
	int in[2], out[2];
	pid_t pid;

	expect(!pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(argv[0], argv[0], "exporter", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	expect(read(out[0], o, sizeof(*o)) == sizeof(*o));
	close(out[0]);
	*end = in[1];
	return pid;
}

static void import_all(pid_t pid, const struct offer *o)
{
	CUresult (*import)(CUmemoryPool *, void *, int, unsigned long long) =
		driver_get("cuMemPoolImportFromShareableHandle", 11020, 0);
	CUresult (*destroy)(CUmemoryPool) =
		driver_get("cuMemPoolDestroy", 11020, 0);
	CUmemGenericAllocationHandle h;
	CUmemoryPool pool;
	CUdeviceptr p[3];

	expect(counted("gpu_allocations", places) == places);
	ok(SYM(cuIpcOpenMemHandle)(&p[0], o->ipc, 1));
	ok(SYM(cuIpcOpenMemHandle_v2)(&p[1], o->ipc, 1));
	ok(import(&pool, (void *)(intptr_t)fetch(pid, o->pool), FD_TYPE, 0));
	ok(SYM(cuMemPoolImportPointer)(&p[2], pool, (void *)o->pointer));
	ok(SYM(cuMemImportFromShareableHandle)(
		&h, (void *)(intptr_t)fetch(pid, o->physical), FD_TYPE));
	expect(counted("gpu_allocations", places + 2) == places + 2);
	ok(SYM(cuMemRelease)(h));
	ok(SYM(cuMemFreeAsync)(p[2], NULL));
	ok(SYM(cuCtxSynchronize)());
	ok(destroy(pool));
	ok(SYM(cuIpcCloseMemHandle)(p[0]));
	ok(SYM(cuIpcCloseMemHandle)(p[1]));
}

static void external(void)
{
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC all = {.size = MIB};
	CUresult (*destroy)(CUexternalMemory) =
		driver_get("cuDestroyExternalMemory", 10000, 0);
	int fd = memfd_create("external", MFD_CLOEXEC);
	CUexternalMemory m;
	CUdeviceptr p;

	expect(fd >= 0 && !ftruncate(fd, (off_t)MIB));
	ok(driver_import(&m, fd, MIB));
	ok(SYM(cuExternalMemoryGetMappedBuffer)(&p, m, &all));
	expect(counted("gpu_allocations", places + 1) == places + 1);
	ok(SYM(cuMemFree_v2)(p));
	ok(destroy(m));
}

static void of_others(char **argv)
{
	uint64_t vram = counted("vram_resident", 0);
	struct offer o;
	int end, status;
	pid_t pid = start_exporter(argv, &o, &end);

	import_all(pid, &o);
	close(end);
	expect(waitpid(pid, &status, 0) == pid && !status);
	external();
	expect(counted("vram_resident", vram) == vram);
	expect(counted("gpu_allocations", places) == places);
}

static void on_streams(void)
{
	uint64_t vram = counted("vram_resident", 0);
	CUresult (*get)(CUmemoryPool *, CUdevice) =
		driver_get("cuDeviceGetDefaultMemPool", 11020, 0);
	CUmemoryPool pool;
	CUdeviceptr p[4];

	ok(get(&pool, 0));
	ok(SYM(cuMemAllocAsync)(&p[0], 10000, NULL));
	ok(SYM(cuMemAllocAsync_ptsz)(&p[1], 20000, NULL));
	ok(SYM(cuMemAllocFromPoolAsync)(&p[2], 30000, pool, NULL));
	ok(SYM(cuMemAllocFromPoolAsync_ptsz)(&p[3], 40000, pool, NULL));
	expect(counted("vram_resident", vram + 100000) == vram + 100000);
	ok(SYM(cuStreamSynchronize_ptsz)(NULL));
	ok(SYM(cuMemFreeAsync)(p[0], NULL));
	ok(SYM(cuMemFreeAsync_ptsz)(p[1], NULL));
	ok(SYM(cuMemFree_v2)(p[2]));
	ok(SYM(cuMemFreeAsync_ptsz)(p[3], NULL));
	ok(SYM(cuCtxSynchronize)());
	expect(counted("vram_resident", vram) == vram);
}

/* ---- a library that binds to itself first ---- */

static void deep(void)
{
	char *file = getenv("TEST_MODULE"), path[4096];
	char *slash = file ? strrchr(file, '/') : NULL;
	void *lib;
	CUresult (*alloc)(CUdeviceptr *, size_t);
	uint64_t vram = counted("vram_resident", 0);
	CUdeviceptr p;

	expect(slash);
	snprintf(path, sizeof(path), "%.*s/libtestother.so",
		 (int)(slash - file), file);
	lib = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
	expect(lib);
	alloc = (CUresult(*)(CUdeviceptr *, size_t))dlsym(lib, "test_alloc");
	expect(alloc);
	ok(alloc(&p, 4321));
	expect(counted("vram_resident", vram + 4321) == vram + 4321);
	ok(SYM(cuMemFree_v2)(p));
}

/* ---- eight threads ---- */

static void *churn(void *arg)
{
	CUcontext c = arg;
	CUresult (*current)(CUcontext) = driver_get("cuCtxSetCurrent", 4000, 0);
	uint32_t v = 1;

	ok(current(c));
	for (int i = 0; i < ROUNDS; i++) {
		CUdeviceptr p, q;
		void *params[] = {&q, &v};

		ok(SYM(cuMemAlloc_v2)(&p, 4096 + 64 * (size_t)i));
		q = p + 1024;
		driver_launch(driver_kernel("add"), NULL, params);
		ok(SYM(cuMemsetD8_v2)(p, 0, 512));
		ok(SYM(cuMemFree_v2)(p));
	}
	return NULL;
}

static void threads(void)
{
	uint64_t vram = counted("vram_resident", 0);
	uint64_t launches = counted("gpu_launches", 0);
	uint64_t allocations = counted("gpu_allocations", 0);
	pthread_t id[THREADS];
	CUcontext c;

	ok(SYM(cuCtxGetCurrent)(&c));
	for (int i = 0; i < THREADS; i++)
		expect(!pthread_create(&id[i], NULL, churn, c));
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	expect(counted("vram_resident", vram) == vram);
	expect(counted("gpu_allocations", allocations) == allocations);
	expect(counted("gpu_launches", launches + THREADS * ROUNDS) ==
	       launches + THREADS * ROUNDS);
}

/* "alone": only what one process does with well-formed calls, for the trace. */
int main(int argc, char **argv)
{
	bool alone = argc > 1 && !strcmp(argv[1], "alone");
	uint64_t live;

	if (argc > 1 && !alone)
		return exporter();
	names_agree();
	odd_questions();
	driver_start();
	live = soft_live();
	four_ways();
	plain();
	physical();
	host();
	on_streams();
	arrays();
	if (!alone) {
		of_graphs();
		of_others(argv);
	}
	deep();
	threads();
	expect(soft_live() == live);
	expect(counted("gpu_unhooked", 0) == 0);
	expect(counted("gpu_untracked", 0) == 0);
	if (!alone) {
		names_families();
		names_called();
		expect(soft_live() == live);
	}
	driver_end();
	puts("done");
	return 0;
}
