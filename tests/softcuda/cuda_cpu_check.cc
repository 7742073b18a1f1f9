/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_cpu.h by itself, without a driver: four workers run the blocks of a
 * launch at once, each block's result is compared. What a kernel must not do
 * has to end the process.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_cpu.h"

enum { WORKERS = 4, BLOCKS = 64, THREADS = 96 };

/* Shared variables of a function that is called again and again. */
__device__ static int block_sum(int v)
{
	__shared__ int part[THREADS / 32];

	for (int i = 16; i; i /= 2)
		v += __shfl_xor_sync(0xffffffff, v, i);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = 0;
	for (unsigned i = 0; i < blockDim.x / 32; i++)
		v += part[i];
	return v;
}

__global__ void sums(long long *out)
{
	long long sum = 0;

	for (int i = 0; i < 50; i++)
		sum += block_sum((int)(blockIdx.x * 1000 + threadIdx.x + i));
	if (threadIdx.x == 5)
		out[blockIdx.x] = sum;
}

static bool right_sums(const long long *out)
{
	bool right = true;

	for (long long b = 0; b < BLOCKS; b++) {
		long long want = 0;

		for (int i = 0; i < 50; i++)
			want += THREADS * (b * 1000 + i) +
				THREADS * (THREADS - 1) / 2;
		right &= out[b] == want;
	}
	return right;
}

/* Reversal of a block through dynamic shared memory, which has to start as
 * garbage: NaN where it is read as a number. */
__global__ void reverse(long long *out)
{
	CUDA_SHARED(float, room);
	unsigned i = threadIdx.x, n = blockDim.x;
	bool garbage = room[i] != room[i];

	__syncthreads();
	room[i] = (float)(blockIdx.x + i * 7);
	__syncthreads();
	if (!garbage || room[n - 1 - i] != (float)(blockIdx.x + (n - 1 - i) * 7))
		atomicAdd((unsigned long long *)&out[blockIdx.x], 1ull);
}

static bool all_zero(const long long *out)
{
	bool right = true;

	for (int b = 0; b < BLOCKS; b++)
		right &= out[b] == 0;
	return right;
}

/* Every exchange; the last warp may be a part of one, which votes alone. */
__global__ void lanes(long long *out)
{
	int l = threadIdx.x % 32, bad = 0;

	bad += __shfl_sync(~0u, l * 3, 5) != 15;
	bad += __shfl_up_sync(~0u, l, 3) != (l < 3 ? l : l - 3);
	bad += __shfl_down_sync(~0u, l, 3) != (l > 28 ? l : l + 3);
	bad += __shfl_xor_sync(~0u, 1.5 * l, 9) != 1.5 * (l ^ 9);
	bad += __ballot_sync(~0u, l % 3 == 0) != 0x49249249;
	__syncwarp();
	atomicAdd((unsigned long long *)&out[blockIdx.x], bad + 0ull);
}

/* Arguments as the device lays them out, and indices of three dimensions. */
struct pair {
	double x;
	char y;
};

__global__ void indices(char a, double b, short c, pair p, float d,
			long long *out)
{
	unsigned rank = threadIdx.x + 4 * (threadIdx.y + 3 * threadIdx.z);

	if (a != 'a' || b != 2.5 || c != -3 || p.x != 4.5 || p.y != 'y' ||
	    d != 0.5f)
		atomicAdd((unsigned long long *)out, 1000000ull);
	atomicAdd((unsigned long long *)&out[blockIdx.x + 8 * blockIdx.y],
		  1ull << rank);
}

static bool right_indices(const long long *out)
{
	bool right = true;

	for (int b = 0; b < BLOCKS; b++)
		right &= out[b] == (1ll << 24) - 1;
	return right;
}

/* What must not be. */
__global__ void split_warp(long long *out)
{
	if (threadIdx.x < 7)
		__syncwarp();
	else
		__syncthreads();
	out[0] = 1;
}

__global__ void early_end(long long *out)
{
	if (threadIdx.x < 7)
		return;
	out[0] = __shfl_xor_sync(~0u, 1, 1);
}

__global__ void undeclared(long long *out)
{
	__syncthreads();
	out[0] = 1;
}

__global__ void deep(long long *out)
{
	volatile char much[CUDA_CPU_STACK];

	for (size_t i = sizeof(much); i; i -= 512)
		much[i - 1] = 1;
	__syncthreads();
	out[0] = much[511];
}

static const softcuda_kernel kernels[] = {
	CUDA_CPU_KERNEL(sums, CUDA_CPU_BARRIERS),
	CUDA_CPU_KERNEL(reverse, CUDA_CPU_BARRIERS),
	CUDA_CPU_KERNEL(lanes, CUDA_CPU_BARRIERS),
	CUDA_CPU_KERNEL(indices, CUDA_CPU_PLAIN),
	CUDA_CPU_KERNEL(split_warp, CUDA_CPU_BARRIERS),
	CUDA_CPU_KERNEL(early_end, CUDA_CPU_BARRIERS),
	CUDA_CPU_KERNEL(undeclared, CUDA_CPU_PLAIN),
	CUDA_CPU_KERNEL(deep, CUDA_CPU_BARRIERS),
};
CUDA_CPU_MODULE(kernels, nullptr)

struct launch {
	const softcuda_kernel *kernel;
	softcuda_block block;
	uint32_t next; /* block to be taken */
};

static void *work(void *at)
{
	struct launch *l = (struct launch *)at;
	softcuda_block b = l->block;
	uint32_t i;

	while ((i = __atomic_fetch_add(&l->next, 1, __ATOMIC_RELAXED)) <
	       b.grid.x * b.grid.y) {
		b.index = {i % b.grid.x, i / b.grid.x, 0};
		l->kernel->run_block(&b);
	}
	return NULL;
}

static void run(const char *name, softcuda_dim3 grid, softcuda_dim3 block,
		const void *params)
{
	struct launch l = {kernels, {grid, block, {}, 4096, params}, 0};
	pthread_t thread[WORKERS];

	while (strcmp(l.kernel->name, name))
		l.kernel++;
	for (pthread_t &t : thread)
		if (pthread_create(&t, NULL, work, &l))
			abort();
	for (pthread_t &t : thread)
		pthread_join(t, NULL);
}

static int failures;

static void expect(const char *what, bool right)
{
	if (!right)
		printf("FAIL: %s\n", what);
	failures += !right;
}

/* In a child: whether it ended the child by this signal. */
static bool ends(const char *name, int signal)
{
	long long out[1], *at = out;
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		return false;
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		run(name, {1, 1, 1}, {32, 1, 1}, &at);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

static bool right_bf16()
{
	/* Ties to even, a carry into the exponent, a NaN, a small number. */
	return __float2bfloat16(1.00390625f).bits == 0x3f80 &&
	       __float2bfloat16(1.01171875f).bits == 0x3f82 &&
	       __float2bfloat16(1.9999999f).bits == 0x4000 &&
	       __bfloat162float(__float2bfloat16(NAN)) !=
		       __bfloat162float(__float2bfloat16(NAN)) &&
	       __float2bfloat16(-1e-40f).bits == 0x8001 &&
	       __bfloat162float({0x4049}) == 3.140625f;
}

static void check_indices(long long *out)
{
	struct {
		char a;
		double b;
		short c;
		pair p;
		float d;
		long long *out;
	} args = {'a', 2.5, -3, {4.5, 'y'}, 0.5f, out};

	run("indices", {8, 8, 1}, {4, 3, 2}, &args);
	expect("arguments and indices", right_indices(out));
}

int main()
{
	static long long out[BLOCKS], *at = out;

	expect("bf16", right_bf16());
	run("sums", {BLOCKS, 1, 1}, {THREADS, 1, 1}, &at);
	expect("shared variables of a function", right_sums(out));
	memset(out, 0, sizeof(out));
	run("reverse", {BLOCKS, 1, 1}, {THREADS + 3, 1, 1}, &at);
	expect("dynamic shared memory", all_zero(out));
	run("lanes", {BLOCKS, 1, 1}, {THREADS, 1, 1}, &at);
	expect("shuffles and votes", all_zero(out));
	check_indices(out);
	expect("a warp that is split ends it", ends("split_warp", SIGABRT));
	expect("a lane that has ended ends it", ends("early_end", SIGABRT));
	expect("an undeclared barrier ends it", ends("undeclared", SIGABRT));
	expect("too deep a stack ends it", ends("deep", SIGSEGV));
	printf("%d failures\n", failures);
	return failures > 0;
}
