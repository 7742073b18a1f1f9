/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that the software driver implements; cuda_abi.h includes it. All
 * other symbols of symbols.def exist too and answer not supported.
 */
#ifndef SOFTCUDA_ABI_CALLS_H
#define SOFTCUDA_ABI_CALLS_H

CUresult cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice dev);
CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice dev);
CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned
		int flags, CUdevice dev);
CUresult cuCtxDestroy(CUcontext ctx);
CUresult cuCtxDestroy_v2(CUcontext ctx);
CUresult cuCtxDisablePeerAccess(CUcontext peer);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult cuCtxGetApiVersion(CUcontext given, unsigned int *out);
CUresult cuCtxGetCacheConfig(CUfunc_cache *out);
CUresult cuCtxGetCurrent(CUcontext *out);
CUresult cuCtxGetDevice(CUdevice *out);
CUresult cuCtxGetDevice_v2(CUdevice *out, CUcontext ctx);
CUresult cuCtxGetFlags(unsigned int *out);
CUresult cuCtxGetId(CUcontext given, unsigned long long *out);
CUresult cuCtxGetLimit(size_t *out, CUlimit limit);
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *out);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);
CUresult cuCtxPopCurrent(CUcontext *out);
CUresult cuCtxPopCurrent_v2(CUcontext *out);
CUresult cuCtxPushCurrent(CUcontext ctx);
CUresult cuCtxPushCurrent_v2(CUcontext ctx);
CUresult cuCtxResetPersistingL2Cache(void);
CUresult cuCtxSetCacheConfig(CUfunc_cache config);
CUresult cuCtxSetCurrent(CUcontext ctx);
CUresult cuCtxSetFlags(unsigned int flags);
CUresult cuCtxSetLimit(CUlimit limit, size_t value);
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config);
CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize_v2(CUcontext ctx);
CUresult cuDeviceCanAccessPeer(int *out, CUdevice from, CUdevice to);
CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice handle);
CUresult cuDeviceGet(CUdevice *out, int ordinal);
CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute attr, CUdevice
		handle);
CUresult cuDeviceGetByPCIBusId(CUdevice *out, const char *text);
CUresult cuDeviceGetCount(int *out);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev);
CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev);
CUresult cuDeviceGetName(char *name, int len, CUdevice handle);
CUresult cuDeviceGetP2PAttribute(int *out, CUdevice_P2PAttribute attr,
		CUdevice from, CUdevice to);
CUresult cuDeviceGetPCIBusId(char *out, int len, CUdevice handle);
CUresult cuDeviceGetUuid(CUuuid *out, CUdevice handle);
CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice handle);
CUresult cuDevicePrimaryCtxGetState(CUdevice handle, unsigned int *flags, int
		*active);
CUresult cuDevicePrimaryCtxRelease(CUdevice dev);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev);
CUresult cuDevicePrimaryCtxReset(CUdevice dev);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev);
CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice handle);
CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags);
CUresult cuDeviceSetMemPool(CUdevice handle, CUmemoryPool p);
CUresult cuDeviceTotalMem_v2(size_t *out, CUdevice handle);
CUresult cuDriverGetVersion(int *out);
CUresult cuEventCreate(CUevent *out, unsigned int flags);
CUresult cuEventDestroy(CUevent e);
CUresult cuEventDestroy_v2(CUevent e);
CUresult cuEventElapsedTime(float *out, CUevent a, CUevent b);
CUresult cuEventElapsedTime_v2(float *out, CUevent a, CUevent b);
CUresult cuEventQuery(CUevent e);
CUresult cuEventRecord(CUevent e, CUstream s);
CUresult cuEventRecord_ptsz(CUevent e, CUstream s);
CUresult cuEventRecordWithFlags(CUevent e, CUstream s, unsigned int flags);
CUresult cuEventRecordWithFlags_ptsz(CUevent e, CUstream s, unsigned int
		flags);
CUresult cuEventSynchronize(CUevent e);
CUresult cuFuncGetAttribute(int *out, CUfunction_attribute attr, CUfunction
		handle);
CUresult cuFuncGetModule(CUmodule *out, CUfunction handle);
CUresult cuFuncGetName(const char **out, CUfunction handle);
CUresult cuFuncGetParamInfo(CUfunction handle, size_t i, size_t *offset,
		size_t *size);
CUresult cuFuncIsLoaded(CUfunctionLoadingState *out, CUfunction handle);
CUresult cuFuncLoad(CUfunction handle);
CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attr, int
		value);
CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config);
CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config);
CUresult cuGetErrorName(CUresult error, const char **out);
CUresult cuGetErrorString(CUresult error, const char **out);
CUresult cuGetProcAddress(const char *symbol, void **pfn, int version,
		cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
		cuuint64_t flags, CUdriverProcAddressQueryResult *status);
CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph g, const
		CUgraphNode *deps, size_t n, CUgraph child);
CUresult cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const
		CUgraphNode *to, size_t n);
CUresult cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from, const
		CUgraphNode *to, const CUgraphEdgeData *data, size_t n);
CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph g, const CUgraphNode
		*deps, size_t n);
CUresult cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph g, const
		CUgraphNode *deps, size_t n, CUevent e);
CUresult cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph g, const
		CUgraphNode *deps, size_t n, CUevent e);
CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph g, const CUgraphNode
		*deps, size_t n, const CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode
		*deps, size_t n, const CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph g, const
		CUgraphNode *deps, size_t n, const CUDA_KERNEL_NODE_PARAMS *p);
CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph g, const CUgraphNode
		*deps, size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *p);
CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph g, const CUgraphNode
		*deps, size_t n, CUdeviceptr p);
CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph g, const CUgraphNode
		*deps, size_t n, const CUDA_MEMCPY3D *p, CUcontext ctx);
CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph g, const CUgraphNode
		*deps, size_t n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext
		ctx);
CUresult cuGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps,
		size_t n, CUgraphNodeParams *p);
CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode
		*deps, const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams
		*p);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out);
CUresult cuGraphClone(CUgraph *out, CUgraph g);
CUresult cuGraphCreate(CUgraph *out, unsigned int flags);
CUresult cuGraphDestroy(CUgraph g);
CUresult cuGraphDestroyNode(CUgraphNode node);
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *out);
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent e);
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *out);
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent e);
CUresult cuGraphExecDestroy(CUgraphExec e);
CUresult cuGraphExecGetFlags(CUgraphExec e, cuuint64_t *out);
CUresult cuGraphExecHostNodeSetParams(CUgraphExec e, CUgraphNode node, const
		CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode node, const
		CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec e, CUgraphNode node,
		const CUDA_KERNEL_NODE_PARAMS *p);
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec e, CUgraphNode node, const
		CUDA_MEMCPY3D *p, CUcontext ctx);
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec e, CUgraphNode node, const
		CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx);
CUresult cuGraphExecNodeSetParams(CUgraphExec e, CUgraphNode node,
		CUgraphNodeParams *p);
CUresult cuGraphExecUpdate(CUgraphExec e, CUgraph g, CUgraphNode *error,
		CUgraphExecUpdateResult *result);
CUresult cuGraphExecUpdate_v2(CUgraphExec e, CUgraph g,
		CUgraphExecUpdateResultInfo *info);
CUresult cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t
		*n);
CUresult cuGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to,
		CUgraphEdgeData *data, size_t *n);
CUresult cuGraphGetNodes(CUgraph g, CUgraphNode *out, size_t *n);
CUresult cuGraphGetRootNodes(CUgraph g, CUgraphNode *out, size_t *n);
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const
		CUDA_HOST_NODE_PARAMS *p);
CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph g, CUgraphNode *error,
		char *log, size_t bytes);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned
		long long flags);
CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph g,
		CUDA_GRAPH_INSTANTIATE_PARAMS *p);
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *out, CUgraph g,
		CUDA_GRAPH_INSTANTIATE_PARAMS *p);
CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph g, CUgraphNode
		*error, char *log, size_t bytes);
CUresult cuGraphKernelNodeGetParams(CUgraphNode node,
		CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
		CUDA_KERNEL_NODE_PARAMS *p);
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const
		CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const
		CUDA_KERNEL_NODE_PARAMS *p);
CUresult cuGraphLaunch(CUgraphExec e, CUstream handle);
CUresult cuGraphLaunch_ptsz(CUgraphExec e, CUstream handle);
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node,
		CUDA_MEM_ALLOC_NODE_PARAMS *p);
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *p);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *p);
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p);
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS
		*p);
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const
		CUDA_MEMSET_NODE_PARAMS *p);
CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original,
		CUgraph clone);
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *out, size_t
		*n);
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *out,
		CUgraphEdgeData *data, size_t *n);
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *out,
		size_t *n);
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *out,
		CUgraphEdgeData *data, size_t *n);
CUresult cuGraphNodeGetEnabled(CUgraphExec e, CUgraphNode node, unsigned int
		*out);
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *out);
CUresult cuGraphNodeSetEnabled(CUgraphExec e, CUgraphNode node, unsigned int
		enabled);
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p);
CUresult cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const
		CUgraphNode *to, size_t n);
CUresult cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from,
		const CUgraphNode *to, const CUgraphEdgeData *data, size_t n);
CUresult cuGraphUpload(CUgraphExec e, CUstream handle);
CUresult cuGraphUpload_ptsz(CUgraphExec e, CUstream handle);
CUresult cuInit(unsigned int flags);
CUresult cuIpcCloseMemHandle(CUdeviceptr p);
CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr p);
CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned
		int flags);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle,
		unsigned int flags);
CUresult cuKernelGetAttribute(int *out, CUfunction_attribute attr, CUkernel k,
		CUdevice dev);
CUresult cuKernelGetFunction(CUfunction *out, CUkernel k);
CUresult cuKernelGetLibrary(CUlibrary *out, CUkernel k);
CUresult cuKernelGetName(const char **out, CUkernel k);
CUresult cuKernelGetParamInfo(CUkernel k, size_t i, size_t *offset, size_t
		*size);
CUresult cuKernelSetAttribute(CUfunction_attribute attr, int value, CUkernel
		k, CUdevice dev);
CUresult cuKernelSetCacheConfig(CUkernel k, CUfunc_cache config, CUdevice
		dev);
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int
		gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned
		int bz, unsigned int shared, CUstream s, void **params);
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gx,
		unsigned int gy, unsigned int gz, unsigned int bx, unsigned int
		by, unsigned int bz, unsigned int shared, CUstream s, void
		**params);
CUresult cuLaunchHostFunc(CUstream handle, CUhostFn fn, void *user);
CUresult cuLaunchHostFunc_ptsz(CUstream handle, CUhostFn fn, void *user);
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy,
		unsigned int gz, unsigned int bx, unsigned int by, unsigned int
		bz, unsigned int shared, CUstream s, void **params, void
		**extra);
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
		unsigned int gz, unsigned int bx, unsigned int by, unsigned int
		bz, unsigned int shared, CUstream s, void **params, void
		**extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void
		**params, void **extra);
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *c, CUfunction f, void
		**params, void **extra);
CUresult cuLibraryEnumerateKernels(CUkernel *out, unsigned int n, CUlibrary
		l);
CUresult cuLibraryGetGlobal(CUdeviceptr *out, size_t *bytes, CUlibrary l,
		const char *name);
CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary l, const char *name);
CUresult cuLibraryGetKernelCount(unsigned int *out, CUlibrary l);
CUresult cuLibraryGetModule(CUmodule *out, CUlibrary l);
CUresult cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option
		*jit, void **jit_values, unsigned int n_jit, CUlibraryOption
		*options, void **values, unsigned int n);
CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option
		*jit, void **jit_values, unsigned int n_jit, CUlibraryOption
		*options, void **values, unsigned int n);
CUresult cuLibraryUnload(CUlibrary l);
CUresult cuMemAddressFree(CUdeviceptr at, size_t size);
CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align,
		CUdeviceptr want, unsigned long long flags);
CUresult cuMemAdvise(CUdeviceptr p, size_t len, CUmem_advise advice, CUdevice
		dev);
CUresult cuMemAdvise_v2(CUdeviceptr p, size_t len, CUmem_advise advice,
		CUmemLocation location);
CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream handle);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *out, size_t bytes, CUstream
		handle);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool
		pool, CUstream handle);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *out, size_t bytes,
		CUmemoryPool pool, CUstream handle);
CUresult cuMemAllocHost_v2(void **out, size_t bytes);
CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int
		flags);
CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width,
		size_t height, unsigned int element);
CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes);
CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size, const
		CUmemAllocationProp *prop, unsigned long long flags);
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *ps, size_t *lens,
		size_t n, CUmemLocation *places, size_t *first, size_t n_places,
		unsigned long long flags, CUstream handle);
CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *ps, size_t *lens,
		size_t n, CUmemLocation *places, size_t *first, size_t n_places,
		unsigned long long flags, CUstream handle);
CUresult cuMemDiscardBatchAsync(CUdeviceptr *ps, size_t *lens, size_t n,
		unsigned long long flags, CUstream handle);
CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr *ps, size_t *lens, size_t n,
		unsigned long long flags, CUstream handle);
CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle
		name, CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemFreeAsync(CUdeviceptr p, CUstream handle);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr p, CUstream handle);
CUresult cuMemFreeHost(void *p);
CUresult cuMemFree_v2(CUdeviceptr p);
CUresult cuMemGetAccess(unsigned long long *out, const CUmemLocation *l,
		CUdeviceptr at);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr
		p);
CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp
		*prop, CUmemAllocationGranularity_flags option);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out,
		CUmemGenericAllocationHandle name);
CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *l,
		CUmemAllocationType type);
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *l,
		CUmemAllocationType type);
CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned int
		flags);
CUresult cuMemHostGetFlags(unsigned int *out, void *p);
CUresult cuMemHostRegister(void *p, size_t bytes, unsigned int flags);
CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags);
CUresult cuMemHostUnregister(void *p);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out,
		void *os_handle, CUmemAllocationHandleType type);
CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset,
		CUmemGenericAllocationHandle name, unsigned long long flags);
CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props);
CUresult cuMemPoolDestroy(CUmemoryPool p);
CUresult cuMemPoolGetAccess(CUmemAccess_flags *out, CUmemoryPool p,
		CUmemLocation *l);
CUresult cuMemPoolGetAttribute(CUmemoryPool p, CUmemPool_attribute attr, void
		*value);
CUresult cuMemPoolSetAccess(CUmemoryPool p, const CUmemAccessDesc *map, size_t
		n);
CUresult cuMemPoolSetAttribute(CUmemoryPool p, CUmemPool_attribute attr, void
		*value);
CUresult cuMemPoolTrimTo(CUmemoryPool p, size_t keep);
CUresult cuMemPrefetchAsync(CUdeviceptr p, size_t len, CUdevice dev, CUstream
		s);
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr p, size_t len, CUdevice dev,
		CUstream s);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr p, size_t len, CUmemLocation
		location, unsigned int flags, CUstream s);
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr p, size_t len, CUmemLocation
		location, unsigned int flags, CUstream s);
CUresult cuMemPrefetchBatchAsync(CUdeviceptr *ps, size_t *lens, size_t n,
		CUmemLocation *places, size_t *first, size_t n_places, unsigned
		long long flags, CUstream handle);
CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *ps, size_t *lens, size_t n,
		CUmemLocation *places, size_t *first, size_t n_places, unsigned
		long long flags, CUstream handle);
CUresult cuMemRangeGetAttribute(void *out, size_t bytes, CUmem_range_attribute
		attr, CUdeviceptr p, size_t len);
CUresult cuMemRangeGetAttributes(void **out, size_t *bytes,
		CUmem_range_attribute *attrs, size_t n, CUdeviceptr p, size_t
		len);
CUresult cuMemRelease(CUmemGenericAllocationHandle name);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void
		*addr);
CUresult cuMemSetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc *d,
		size_t n);
CUresult cuMemSetMemPool(CUmemLocation *l, CUmemAllocationType type,
		CUmemoryPool pool);
CUresult cuMemUnmap(CUdeviceptr at, size_t size);
CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n);
CUresult cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t n);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream s);
CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *p, CUstream s);
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p);
CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *p);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *p);
CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *p);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream s);
CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *p, CUstream s);
CUresult cuMemcpy3DBatchAsync(size_t n, CUDA_MEMCPY3D_BATCH_OP *list, size_t
		*fail, unsigned long long flags, CUstream s);
CUresult cuMemcpy3DBatchAsync_ptsz(size_t n, CUDA_MEMCPY3D_BATCH_OP *list,
		size_t *fail, unsigned long long flags, CUstream s);
CUresult cuMemcpy3DBatchAsync_v2(size_t n, CUDA_MEMCPY3D_BATCH_OP *list,
		unsigned long long flags, CUstream s);
CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t n, CUDA_MEMCPY3D_BATCH_OP *list,
		unsigned long long flags, CUstream s);
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p);
CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *p);
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream s);
CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *p, CUstream s);
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *p);
CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *p);
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream
		s);
CUresult cuMemcpyAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t n,
		CUstream s);
CUresult cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t
		src_offset, size_t n);
CUresult cuMemcpyAtoA_v2_ptds(CUarray dst, size_t dst_offset, CUarray src,
		size_t src_offset, size_t n);
CUresult cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t
		n);
CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr dst, CUarray src, size_t offset,
		size_t n);
CUresult cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t n,
		CUstream s);
CUresult cuMemcpyAtoHAsync_v2_ptsz(void *dst, CUarray src, size_t offset,
		size_t n, CUstream s);
CUresult cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t n);
CUresult cuMemcpyAtoH_v2_ptds(void *dst, CUarray src, size_t offset, size_t
		n);
CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t
		*sizes, size_t n, CUmemcpyAttributes *attrs, size_t *first,
		size_t n_attrs, size_t *fail, CUstream s);
CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t
		*sizes, size_t n, CUmemcpyAttributes *attrs, size_t *first,
		size_t n_attrs, size_t *fail, CUstream s);
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t
		*sizes, size_t n, CUmemcpyAttributes *attrs, size_t *first,
		size_t n_attrs, CUstream s);
CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs,
		size_t *sizes, size_t n, CUmemcpyAttributes *attrs, size_t
		*first, size_t n_attrs, CUstream s);
CUresult cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t
		n);
CUresult cuMemcpyDtoA_v2_ptds(CUarray dst, size_t offset, CUdeviceptr src,
		size_t n);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n,
		CUstream s);
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t n,
		CUstream s);
CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t n);
CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr dst, CUdeviceptr src, size_t n);
CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream
		s);
CUresult cuMemcpyDtoHAsync_v2_ptsz(void *dst, CUdeviceptr src, size_t n,
		CUstream s);
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t n);
CUresult cuMemcpyDtoH_v2_ptds(void *dst, CUdeviceptr src, size_t n);
CUresult cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src,
		size_t n, CUstream s);
CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray dst, size_t offset, const void
		*src, size_t n, CUstream s);
CUresult cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t
		n);
CUresult cuMemcpyHtoA_v2_ptds(CUarray dst, size_t offset, const void *src,
		size_t n);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n,
		CUstream s);
CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr dst, const void *src, size_t n,
		CUstream s);
CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n);
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr dst, const void *src, size_t n);
CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
		CUcontext src_ctx, size_t n);
CUresult cuMemcpyPeer_ptds(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr
		src, CUcontext src_ctx, size_t n);
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr
		src, CUcontext src_ctx, size_t n, CUstream s);
CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr dst, CUcontext dst_ctx,
		CUdeviceptr src, CUcontext src_ctx, size_t n, CUstream s);
CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short v, size_t n,
		CUstream s);
CUresult cuMemsetD16Async_ptsz(CUdeviceptr dst, unsigned short v, size_t n,
		CUstream s);
CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short v, size_t n);
CUresult cuMemsetD16_v2_ptds(CUdeviceptr dst, unsigned short v, size_t n);
CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short v,
		size_t width, size_t height, CUstream s);
CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr dst, size_t pitch, unsigned short
		v, size_t width, size_t height, CUstream s);
CUresult cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short v,
		size_t width, size_t height);
CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr dst, size_t pitch, unsigned short
		v, size_t width, size_t height);
CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned int v,
		size_t width, size_t height, CUstream s);
CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr dst, size_t pitch, unsigned int
		v, size_t width, size_t height, CUstream s);
CUresult cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned int v,
		size_t width, size_t height);
CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr dst, size_t pitch, unsigned int v,
		size_t width, size_t height);
CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char v,
		size_t width, size_t height, CUstream s);
CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr dst, size_t pitch, unsigned char
		v, size_t width, size_t height, CUstream s);
CUresult cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char v,
		size_t width, size_t height);
CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr dst, size_t pitch, unsigned char v,
		size_t width, size_t height);
CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int v, size_t n, CUstream
		s);
CUresult cuMemsetD32Async_ptsz(CUdeviceptr dst, unsigned int v, size_t n,
		CUstream s);
CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned int v, size_t n);
CUresult cuMemsetD32_v2_ptds(CUdeviceptr dst, unsigned int v, size_t n);
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t n, CUstream
		s);
CUresult cuMemsetD8Async_ptsz(CUdeviceptr dst, unsigned char v, size_t n,
		CUstream s);
CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char v, size_t n);
CUresult cuMemsetD8_v2_ptds(CUdeviceptr dst, unsigned char v, size_t n);
CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned int n, CUmodule
		m);
CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name);
CUresult cuModuleGetFunctionCount(unsigned int *out, CUmodule m);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *bytes, CUmodule m,
		const char *name);
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *out);
CUresult cuModuleLoad(CUmodule *out, const char *path);
CUresult cuModuleLoadData(CUmodule *out, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int n,
		CUjit_option *options, void **values);
CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image);
CUresult cuModuleUnload(CUmodule m);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *out, CUfunction
		handle, int blocks, int threads);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction f,
		int block, size_t shared);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out,
		CUfunction f, int block, size_t shared, unsigned int flags);
CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction
		handle, CUoccupancyB2DSize by_block, size_t shared, int limit);
CUresult cuPointerGetAttribute(void *out, CUpointer_attribute attr,
		CUdeviceptr p);
CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attrs,
		void **out, CUdeviceptr p);
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attr,
		CUdeviceptr p);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback fn, void *user,
		unsigned int flags);
CUresult cuStreamAddCallback_ptsz(CUstream handle, CUstreamCallback fn, void
		*user, unsigned int flags);
CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr p, size_t len,
		unsigned int flags);
CUresult cuStreamAttachMemAsync_ptsz(CUstream handle, CUdeviceptr p, size_t
		len, unsigned int flags);
CUresult cuStreamBatchMemOp(CUstream s, unsigned int n,
		CUstreamBatchMemOpParams *p, unsigned int flags);
CUresult cuStreamBatchMemOp_ptsz(CUstream s, unsigned int n,
		CUstreamBatchMemOpParams *p, unsigned int flags);
CUresult cuStreamBatchMemOp_v2(CUstream s, unsigned int n,
		CUstreamBatchMemOpParams *p, unsigned int flags);
CUresult cuStreamBatchMemOp_v2_ptsz(CUstream s, unsigned int n,
		CUstreamBatchMemOpParams *p, unsigned int flags);
CUresult cuStreamBeginCapture(CUstream s);
CUresult cuStreamBeginCapture_ptsz(CUstream s);
CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const
		CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n,
		CUstreamCaptureMode mode);
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream handle, CUgraph graph,
		const CUgraphNode *deps, const CUgraphEdgeData *edges, size_t n,
		CUstreamCaptureMode mode);
CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode);
CUresult cuStreamBeginCapture_v2_ptsz(CUstream s, CUstreamCaptureMode mode);
CUresult cuStreamCopyAttributes(CUstream to, CUstream from);
CUresult cuStreamCopyAttributes_ptsz(CUstream to, CUstream from);
CUresult cuStreamCreate(CUstream *out, unsigned int flags);
CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int
		priority);
CUresult cuStreamDestroy(CUstream s);
CUresult cuStreamDestroy_v2(CUstream s);
CUresult cuStreamEndCapture(CUstream handle, CUgraph *out);
CUresult cuStreamEndCapture_ptsz(CUstream handle, CUgraph *out);
CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID attr,
		CUstreamAttrValue *out);
CUresult cuStreamGetAttribute_ptsz(CUstream handle, CUstreamAttrID attr,
		CUstreamAttrValue *out);
CUresult cuStreamGetCaptureInfo(CUstream s, CUstreamCaptureStatus *status,
		cuuint64_t *id);
CUresult cuStreamGetCaptureInfo_ptsz(CUstream s, CUstreamCaptureStatus
		*status, cuuint64_t *id);
CUresult cuStreamGetCaptureInfo_v2(CUstream s, CUstreamCaptureStatus *status,
		cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps, size_t
		*n);
CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream s, CUstreamCaptureStatus
		*status, cuuint64_t *id, CUgraph *graph, const CUgraphNode
		**deps, size_t *n);
CUresult cuStreamGetCaptureInfo_v3(CUstream s, CUstreamCaptureStatus *status,
		cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps, const
		CUgraphEdgeData **edges, size_t *n);
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream s, CUstreamCaptureStatus
		*status, cuuint64_t *id, CUgraph *graph, const CUgraphNode
		**deps, const CUgraphEdgeData **edges, size_t *n);
CUresult cuStreamGetCtx(CUstream handle, CUcontext *out);
CUresult cuStreamGetCtx_ptsz(CUstream handle, CUcontext *out);
CUresult cuStreamGetDevice(CUstream handle, CUdevice *out);
CUresult cuStreamGetDevice_ptsz(CUstream handle, CUdevice *out);
CUresult cuStreamGetFlags(CUstream handle, unsigned int *out);
CUresult cuStreamGetFlags_ptsz(CUstream handle, unsigned int *out);
CUresult cuStreamGetId(CUstream handle, unsigned long long *out);
CUresult cuStreamGetId_ptsz(CUstream handle, unsigned long long *out);
CUresult cuStreamGetPriority(CUstream handle, int *out);
CUresult cuStreamGetPriority_ptsz(CUstream handle, int *out);
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *out);
CUresult cuStreamIsCapturing_ptsz(CUstream handle, CUstreamCaptureStatus
		*out);
CUresult cuStreamQuery(CUstream handle);
CUresult cuStreamQuery_ptsz(CUstream handle);
CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID attr, const
		CUstreamAttrValue *value);
CUresult cuStreamSetAttribute_ptsz(CUstream handle, CUstreamAttrID attr, const
		CUstreamAttrValue *value);
CUresult cuStreamSynchronize(CUstream handle);
CUresult cuStreamSynchronize_ptsz(CUstream handle);
CUresult cuStreamUpdateCaptureDependencies(CUstream s, CUgraphNode *nodes,
		size_t n, unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream s, CUgraphNode
		*nodes, size_t n, unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream s, CUgraphNode *nodes,
		const CUgraphEdgeData *edges, size_t n, unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream s, CUgraphNode
		*nodes, const CUgraphEdgeData *edges, size_t n, unsigned int
		flags);
CUresult cuStreamWaitEvent(CUstream handle, CUevent e, unsigned int flags);
CUresult cuStreamWaitEvent_ptsz(CUstream handle, CUevent e, unsigned int
		flags);
CUresult cuStreamWaitValue32(CUstream s, CUdeviceptr addr, cuuint32_t value,
		unsigned int flags);
CUresult cuStreamWaitValue32_ptsz(CUstream s, CUdeviceptr addr, cuuint32_t
		value, unsigned int flags);
CUresult cuStreamWaitValue32_v2(CUstream s, CUdeviceptr addr, cuuint32_t
		value, unsigned int flags);
CUresult cuStreamWaitValue32_v2_ptsz(CUstream s, CUdeviceptr addr, cuuint32_t
		value, unsigned int flags);
CUresult cuStreamWaitValue64(CUstream s, CUdeviceptr addr, cuuint64_t value,
		unsigned int flags);
CUresult cuStreamWaitValue64_ptsz(CUstream s, CUdeviceptr addr, cuuint64_t
		value, unsigned int flags);
CUresult cuStreamWaitValue64_v2(CUstream s, CUdeviceptr addr, cuuint64_t
		value, unsigned int flags);
CUresult cuStreamWaitValue64_v2_ptsz(CUstream s, CUdeviceptr addr, cuuint64_t
		value, unsigned int flags);
CUresult cuStreamWriteValue32(CUstream s, CUdeviceptr addr, cuuint32_t value,
		unsigned int flags);
CUresult cuStreamWriteValue32_ptsz(CUstream s, CUdeviceptr addr, cuuint32_t
		value, unsigned int flags);
CUresult cuStreamWriteValue32_v2(CUstream s, CUdeviceptr addr, cuuint32_t
		value, unsigned int flags);
CUresult cuStreamWriteValue32_v2_ptsz(CUstream s, CUdeviceptr addr, cuuint32_t
		value, unsigned int flags);
CUresult cuStreamWriteValue64(CUstream s, CUdeviceptr addr, cuuint64_t value,
		unsigned int flags);
CUresult cuStreamWriteValue64_ptsz(CUstream s, CUdeviceptr addr, cuuint64_t
		value, unsigned int flags);
CUresult cuStreamWriteValue64_v2(CUstream s, CUdeviceptr addr, cuuint64_t
		value, unsigned int flags);
CUresult cuStreamWriteValue64_v2_ptsz(CUstream s, CUdeviceptr addr, cuuint64_t
		value, unsigned int flags);
CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type,
		cuuint32_t rank, void *addr, const cuuint64_t *dims, const
		cuuint64_t *strides, const int *lower, const int *upper,
		cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
		CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
		CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill
		fill_kind);
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type,
		cuuint32_t rank, void *addr, const cuuint64_t *dims, const
		cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t
		*steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle
		swizzle, CUtensorMapL2promotion promotion,
		CUtensorMapFloatOOBfill fill_kind);
CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *addr);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);
CUresult cuUserObjectCreate(CUuserObject *out, void *user, CUhostFn destroy,
		unsigned int refs, unsigned int flags);
CUresult cuUserObjectRelease(CUuserObject o, unsigned int n);
CUresult cuUserObjectRetain(CUuserObject o, unsigned int n);

#include "abi_more.h"

#endif
