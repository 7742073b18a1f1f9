/* SPDX-License-Identifier: Apache-2.0 */
/* Device kernels of the probes; run.sh makes a fatbin of them. */

static __device__ void spin(unsigned long long ns)
{
	unsigned long long start, now;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
	do {
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	} while (now - start < ns);
}

/* Keeps one multiprocessor busy. */
extern "C" __global__ void probe_spin(unsigned long long ns)
{
	spin(ns);
}

extern "C" __global__ void probe_nothing(void)
{
}

/* Twelve parameters, three of them pointers: a usual launch. */
extern "C" __global__ void probe_usual(float *a, const float *b, const float *c,
				       int d, int e, int f, int g, long h,
				       long i, float j, float k, int l)
{
	if (d == 12345)
		a[0] = b[0] * j + c[0] * k + (float)(e + f + g + h + i + l);
}

extern "C" __global__ void probe_fill(unsigned *p, unsigned long n,
				      unsigned value)
{
	unsigned long i = blockIdx.x * (unsigned long)blockDim.x + threadIdx.x;

	for (; i < n; i += (unsigned long)gridDim.x * blockDim.x)
		p[i] = value;
}

/* How many words are not VALUE. */
extern "C" __global__ void probe_differ(const unsigned *p, unsigned long n,
					unsigned value,
					unsigned long long *count)
{
	unsigned long i = blockIdx.x * (unsigned long)blockDim.x + threadIdx.x;
	unsigned long long differ = 0;

	for (; i < n; i += (unsigned long)gridDim.x * blockDim.x)
		differ += p[i] != value;
	if (differ)
		atomicAdd(count, differ);
}

/* Atomic adds, as an embedding's gradient does them. */
extern "C" __global__ void probe_atomic(unsigned *p, unsigned long n)
{
	unsigned long i = blockIdx.x * (unsigned long)blockDim.x + threadIdx.x;

	for (; i < n; i += (unsigned long)gridDim.x * blockDim.x)
		atomicAdd(&p[(i * 2654435761ul) % n], 1u);
}

/* Reads the addresses that it writes to from memory. */
extern "C" __global__ void probe_hidden(unsigned *const *list, unsigned n)
{
	for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
		list[i][0] += 1;
}

/* A pair of these may overlap where the launch attribute allows it. */
extern "C" __global__ void probe_dependent(unsigned long long ns)
{
#if __CUDA_ARCH__ >= 900
	cudaTriggerProgrammaticLaunchCompletion();
#endif
	spin(ns);
}
