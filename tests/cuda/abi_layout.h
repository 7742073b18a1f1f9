/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes and offsets of the driver's types that the shim looks into; included
 * by abi_ours.c behind shim/cuda_abi.h, by abi_theirs.c behind cuda.h.
 */
#include <stddef.h>

#define SIZE(type_)	    {"size of " #type_, sizeof(type_)},
#define FIELD(type_, field_) {#type_ "." #field_, offsetof(type_, field_)},
#define VALUE(name_, value_) {#name_, (size_t)(value_)},

struct abi_fact {
	const char *what;
	size_t value;
};

#define ABI_TYPES                                                       \
	SIZE(CUdeviceptr)                                               \
	SIZE(CUmemGenericAllocationHandle)                              \
	SIZE(CUstreamCaptureStatus)                                     \
	SIZE(CUgraphNodeType)                                           \
	SIZE(CUipcMemHandle)                                            \
	SIZE(CUtensorMap)                                               \
	SIZE(CUmemAllocationProp)                                       \
	FIELD(CUmemAllocationProp, location)                            \
	SIZE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC)                          \
	FIELD(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size)                   \
	SIZE(CUtexObject)                                               \
	SIZE(CUDA_ARRAY_DESCRIPTOR)                                     \
	FIELD(CUDA_ARRAY_DESCRIPTOR, Height)                            \
	FIELD(CUDA_ARRAY_DESCRIPTOR, Format)                            \
	FIELD(CUDA_ARRAY_DESCRIPTOR, NumChannels)                       \
	SIZE(CUDA_ARRAY3D_DESCRIPTOR)                                   \
	FIELD(CUDA_ARRAY3D_DESCRIPTOR, Depth)                           \
	FIELD(CUDA_ARRAY3D_DESCRIPTOR, Format)                          \
	FIELD(CUDA_ARRAY3D_DESCRIPTOR, NumChannels)                     \
	FIELD(CUDA_ARRAY3D_DESCRIPTOR, Flags)                           \
	SIZE(CUDA_RESOURCE_DESC)                                        \
	FIELD(CUDA_RESOURCE_DESC, res)                                  \
	FIELD(CUDA_RESOURCE_DESC, flags)                                \
	SIZE(CUDA_MEMCPY2D)                                             \
	FIELD(CUDA_MEMCPY2D, srcMemoryType)                             \
	FIELD(CUDA_MEMCPY2D, srcHost)                                   \
	FIELD(CUDA_MEMCPY2D, srcDevice)                                 \
	FIELD(CUDA_MEMCPY2D, srcPitch)                                  \
	FIELD(CUDA_MEMCPY2D, dstXInBytes)                               \
	FIELD(CUDA_MEMCPY2D, dstMemoryType)                             \
	FIELD(CUDA_MEMCPY2D, dstHost)                                   \
	FIELD(CUDA_MEMCPY2D, dstDevice)                                 \
	FIELD(CUDA_MEMCPY2D, dstPitch)                                  \
	FIELD(CUDA_MEMCPY2D, WidthInBytes)                              \
	FIELD(CUDA_MEMCPY2D, Height)                                    \
	SIZE(CUDA_MEMCPY3D)                                             \
	FIELD(CUDA_MEMCPY3D, srcMemoryType)                             \
	FIELD(CUDA_MEMCPY3D, srcDevice)                                 \
	FIELD(CUDA_MEMCPY3D, srcPitch)                                  \
	FIELD(CUDA_MEMCPY3D, srcHeight)                                 \
	FIELD(CUDA_MEMCPY3D, dstXInBytes)                               \
	FIELD(CUDA_MEMCPY3D, dstMemoryType)                             \
	FIELD(CUDA_MEMCPY3D, dstHost)                                   \
	FIELD(CUDA_MEMCPY3D, dstDevice)                                 \
	FIELD(CUDA_MEMCPY3D, dstPitch)                                  \
	FIELD(CUDA_MEMCPY3D, dstHeight)                                 \
	FIELD(CUDA_MEMCPY3D, Depth)                                     \
	SIZE(CUmemcpy3DOperand)                                         \
	FIELD(CUmemcpy3DOperand, op)                                    \
	SIZE(CUDA_MEMCPY3D_BATCH_OP)                                    \
	FIELD(CUDA_MEMCPY3D_BATCH_OP, dst)                              \
	FIELD(CUDA_MEMCPY3D_BATCH_OP, extent)                           \
	SIZE(CUDA_KERNEL_NODE_PARAMS_v1)                                \
	FIELD(CUDA_KERNEL_NODE_PARAMS_v1, kernelParams)                 \
	FIELD(CUDA_KERNEL_NODE_PARAMS_v1, extra)                        \
	SIZE(CUDA_KERNEL_NODE_PARAMS)                                   \
	FIELD(CUDA_KERNEL_NODE_PARAMS, kernelParams)                    \
	FIELD(CUDA_KERNEL_NODE_PARAMS, kern)                            \
	SIZE(CUlaunchConfig)                                            \
	FIELD(CUlaunchConfig, hStream)                                  \
	FIELD(CUlaunchConfig, attrs)                                    \
	FIELD(CUlaunchConfig, numAttrs)                                 \
	SIZE(CUlaunchAttribute)                                         \
	FIELD(CUlaunchAttribute, id)                                    \
	SIZE(CUDA_LAUNCH_PARAMS)                                        \
	FIELD(CUDA_LAUNCH_PARAMS, kernelParams)                         \
	SIZE(CUDA_MEMSET_NODE_PARAMS)                                   \
	FIELD(CUDA_MEMSET_NODE_PARAMS, dst)                             \
	SIZE(CUDA_MEM_ALLOC_NODE_PARAMS)                                \
	FIELD(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize)                     \
	FIELD(CUDA_MEM_ALLOC_NODE_PARAMS, dptr)                         \
	SIZE(CUDA_MEMCPY_NODE_PARAMS)                                   \
	FIELD(CUDA_MEMCPY_NODE_PARAMS, copyParams)                      \
	SIZE(CUgraphNodeParams)                                         \
	FIELD(CUgraphNodeParams, kernel)                                \
	FIELD(CUgraphNodeParams, memcpy.copyParams)                     \
	FIELD(CUgraphNodeParams, memset.dst)                            \
	FIELD(CUgraphNodeParams, alloc.bytesize)                        \
	FIELD(CUgraphNodeParams, alloc.dptr)                            \
	FIELD(CUgraphNodeParams, graph)

extern const struct abi_fact abi_ours[], abi_theirs[];
