/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More of abi_calls.h: arrays, textures and surfaces, memory of other processes
 * and of other interfaces.
 */
#ifndef SOFTCUDA_ABI_MORE_H
#define SOFTCUDA_ABI_MORE_H

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d);
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray a);
CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d);
CUresult cuArrayDestroy(CUarray a);
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, CUarray a);
CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *out,
		CUarray a, CUdevice dev);
CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const
		CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray m);
CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray m, unsigned
		int level);
CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS
		*out, CUmipmappedArray m, CUdevice dev);
CUresult cuTexObjectCreate(CUtexObject *out, const CUDA_RESOURCE_DESC *r, const
		CUDA_TEXTURE_DESC *t, const CUDA_RESOURCE_VIEW_DESC *v);
CUresult cuTexObjectDestroy(CUtexObject t);
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUtexObject t);
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *out, CUtexObject t);
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *out,
		CUtexObject t);
CUresult cuSurfObjectCreate(CUsurfObject *out, const CUDA_RESOURCE_DESC *r);
CUresult cuSurfObjectDestroy(CUsurfObject t);
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *out, CUsurfObject t);
CUresult cuImportExternalMemory(CUexternalMemory *out, const
		CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d);
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *out, CUexternalMemory m,
		const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *d);
CUresult cuDestroyExternalMemory(CUexternalMemory m);
CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool p,
		CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle,
		CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr p);
CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool pool,
		CUmemPoolPtrExportData *data);

#endif
