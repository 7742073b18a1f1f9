/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module, all kernels in one unit: nvcc makes a fatbin of it, g++ a CPU
 * module for the software driver.
 */
#include "matmul.cu"
#include "norm.cu"
#include "attention.cu"
#include "rows.cu"
#include "loss.cu"
#include "embed.cu"
#include "adamw.cu"

#ifndef __CUDACC__
static const softcuda_kernel kernels[] = {
#define K(name_, kind_) CUDA_CPU_KERNEL(name_, CUDA_CPU_##kind_),
#include "kernels.def"
#undef K
};

CUDA_CPU_MODULE(kernels, nullptr)
#endif
