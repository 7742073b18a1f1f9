/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of abi_layout.h by the toolkit's header.
 */
#include <cuda.h>
#include "abi_layout.h"

const struct abi_fact abi_theirs[] = {
	ABI_TYPES
	VALUE(kernel, CU_GRAPH_NODE_TYPE_KERNEL)
	VALUE(memcpy, CU_GRAPH_NODE_TYPE_MEMCPY)
	VALUE(memset, CU_GRAPH_NODE_TYPE_MEMSET)
	VALUE(graph, CU_GRAPH_NODE_TYPE_GRAPH)
	VALUE(alloc, CU_GRAPH_NODE_TYPE_MEM_ALLOC)
	VALUE(conditional, CU_GRAPH_NODE_TYPE_CONDITIONAL)
	VALUE(host, CU_MEMORYTYPE_HOST)
	VALUE(array, CU_MEMORYTYPE_ARRAY)
	VALUE(pointer, CU_MEMCPY_OPERAND_TYPE_POINTER)
	VALUE(end, CU_LAUNCH_PARAM_END)
	VALUE(buffer, CU_LAUNCH_PARAM_BUFFER_POINTER)
	VALUE(extra size, CU_LAUNCH_PARAM_BUFFER_SIZE)
	VALUE(no device, CUDA_ERROR_NO_DEVICE)
	VALUE(not found, CUDA_ERROR_NOT_FOUND)
	{NULL, 0},
};
