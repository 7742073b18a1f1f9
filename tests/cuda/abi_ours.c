/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shim believes of the driver's types is what the toolkit's header
 * says. Built where there is a toolkit.
 */
#include <stdio.h>
#include <string.h>
#include "cuda_abi.h"
#include "abi_layout.h"

const struct abi_fact abi_ours[] = {
	ABI_TYPES
	VALUE(kernel, CU_NODE_KERNEL)
	VALUE(memcpy, CU_NODE_MEMCPY)
	VALUE(memset, CU_NODE_MEMSET)
	VALUE(graph, CU_NODE_GRAPH)
	VALUE(alloc, CU_NODE_MEM_ALLOC)
	VALUE(conditional, CU_NODE_CONDITIONAL)
	VALUE(host, CU_MEM_HOST)
	VALUE(array, CU_MEM_ARRAY)
	VALUE(pointer, CU_OPERAND_POINTER)
	VALUE(operand array, CU_OPERAND_ARRAY)
	VALUE(of an array, CU_RESOURCE_ARRAY)
	VALUE(of levels, CU_RESOURCE_MIPMAP)
	VALUE(linear, CU_RESOURCE_LINEAR)
	VALUE(pitch, CU_RESOURCE_PITCH2D)
	VALUE(layered, CU_ARRAY_LAYERED)
	VALUE(cubemap, CU_ARRAY_CUBEMAP)
	VALUE(sparse, CU_ARRAY_SPARSE)
	VALUE(deferred, CU_ARRAY_DEFERRED)
	VALUE(end, CU_EXTRA_END)
	VALUE(buffer, CU_EXTRA_BUFFER)
	VALUE(extra size, CU_EXTRA_SIZE)
	VALUE(no device, CUDA_ERROR_NO_DEVICE)
	VALUE(not found, CUDA_ERROR_NOT_FOUND)
	{NULL, 0},
};

int main(void)
{
	int wrong = 0;

	for (size_t i = 0; abi_ours[i].what; i++) {
		if (abi_ours[i].value == abi_theirs[i].value)
			continue;
		fprintf(stderr, "%s: %zu, but %zu in cuda.h\n",
			abi_ours[i].what, abi_ours[i].value,
			abi_theirs[i].value);
		wrong = 1;
	}
	return wrong;
}
