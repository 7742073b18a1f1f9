/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuInit and the devices: a fixed card whose memory is SOFTCUDA_VRAM. The
 * attributes are those of a data-centre card, as far as a program may ask.
 */
#include <stdio.h>
#include <string.h>
#include "soft.h"

struct soft_device soft_devices[SOFT_MAX_DEVICES];

void soft_boot(void)
{
	soft_settings_read();
	for (unsigned i = 0; i < soft_set.devices; i++) {
		soft_devices[i].index = (int)i;
		soft_devices[i].capacity = soft_set.vram[i];
	}
}

static void init_once(void)
{
	soft_gate_open();
	pthread_atfork(NULL, NULL, soft_gate_child);
}

SOFT_API(cuInit, (unsigned int flags), (flags))
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!soft_set.devices)
		return CUDA_ERROR_NO_DEVICE;
	pthread_once(&once, init_once);
	return CUDA_SUCCESS;
}

SOFT_API(cuDriverGetVersion, (int *out), (out))
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (int)soft_set.driver;
	return CUDA_SUCCESS;
}

CUresult soft_device(CUdevice dev, struct soft_device **out)
{
	if (dev < 0 || (unsigned)dev >= soft_set.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*out = &soft_devices[dev];
	return CUDA_SUCCESS;
}

SOFT_API(cuDeviceGetCount, (int *out), (out))
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (int)soft_set.devices;
	return CUDA_SUCCESS;
}

SOFT_API(cuDeviceGet, (CUdevice * out, int ordinal), (out, ordinal))
{
	struct soft_device *dev;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (soft_device(ordinal, &dev))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = ordinal;
	return CUDA_SUCCESS;
}

SOFT_API(cuDeviceGetName, (char *name, int len, CUdevice handle),
	 (name, len, handle))
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)len, "Software device");
	return CUDA_SUCCESS;
}

SOFT_API(cuDeviceTotalMem_v2, (size_t *out, CUdevice handle), (out, handle))
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = dev->capacity;
	return CUDA_SUCCESS;
}

static CUresult uuid(CUuuid *out, CUdevice handle)
{
	static const char base[16] = "softcuda-device";
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(out->bytes, base, sizeof(base));
	out->bytes[15] = (char)handle;
	return CUDA_SUCCESS;
}

SOFT_API(cuDeviceGetUuid, (CUuuid * out, CUdevice handle), (out, handle))
{
	return uuid(out, handle);
}

SOFT_API(cuDeviceGetUuid_v2, (CUuuid * out, CUdevice handle), (out, handle))
{
	return uuid(out, handle);
}

SOFT_API(cuDeviceGetPCIBusId, (char *out, int len, CUdevice handle),
	 (out, len, handle))
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (!out || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(out, (size_t)len, "0000:%02x:00.0", handle + 1);
	return CUDA_SUCCESS;
}

SOFT_API(cuDeviceGetByPCIBusId, (CUdevice * out, const char *text), (out, text))
{
	unsigned bus, domain;

	if (!out || !text)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(text, "%x:%x:", &domain, &bus) != 2 &&
	    sscanf(text, "%x:", &bus) != 1)
		return CUDA_ERROR_INVALID_VALUE;
	if (!bus || bus > soft_set.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (CUdevice)bus - 1;
	return CUDA_SUCCESS;
}

SOFT_API(cuDeviceComputeCapability, (int *major, int *minor, CUdevice handle),
	 (major, minor, handle))
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = 9;
	*minor = 0;
	return CUDA_SUCCESS;
}

/* Fixed attributes; what is not named is 0. */
static const struct {
	CUdevice_attribute attr;
	int value;
} fixed[] = {
#define ATTR(name_, value_) {CU_DEVICE_ATTRIBUTE_##name_, value_}
	ATTR(MAX_THREADS_PER_BLOCK, 1024),
	ATTR(MAX_BLOCK_DIM_X, 1024),
	ATTR(MAX_BLOCK_DIM_Y, 1024),
	ATTR(MAX_BLOCK_DIM_Z, 64),
	ATTR(MAX_GRID_DIM_X, 2147483647),
	ATTR(MAX_GRID_DIM_Y, 65535),
	ATTR(MAX_GRID_DIM_Z, 65535),
	ATTR(MAX_SHARED_MEMORY_PER_BLOCK, 49152),
	ATTR(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448),
	ATTR(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472),
	ATTR(RESERVED_SHARED_MEMORY_PER_BLOCK, 1024),
	ATTR(TOTAL_CONSTANT_MEMORY, 65536),
	ATTR(WARP_SIZE, 32),
	ATTR(MAX_PITCH, 2147483647),
	ATTR(MAX_REGISTERS_PER_BLOCK, 65536),
	ATTR(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536),
	ATTR(CLOCK_RATE, 1000000),
	ATTR(GPU_OVERLAP, 1),
	ATTR(MULTIPROCESSOR_COUNT, 8),
	ATTR(CAN_MAP_HOST_MEMORY, 1),
	ATTR(CONCURRENT_KERNELS, 1),
	ATTR(MEMORY_CLOCK_RATE, 1000000),
	ATTR(GLOBAL_MEMORY_BUS_WIDTH, 512),
	ATTR(L2_CACHE_SIZE, 4 << 20),
	ATTR(MAX_THREADS_PER_MULTIPROCESSOR, 2048),
	ATTR(MAX_BLOCKS_PER_MULTIPROCESSOR, 32),
	ATTR(ASYNC_ENGINE_COUNT, 2),
	ATTR(UNIFIED_ADDRESSING, 1),
	ATTR(COMPUTE_CAPABILITY_MAJOR, 9),
	ATTR(COMPUTE_CAPABILITY_MINOR, 0),
	ATTR(STREAM_PRIORITIES_SUPPORTED, 1),
	ATTR(GLOBAL_L1_CACHE_SUPPORTED, 1),
	ATTR(LOCAL_L1_CACHE_SUPPORTED, 1),
	ATTR(MANAGED_MEMORY, 1),
	ATTR(COMPUTE_PREEMPTION_SUPPORTED, 1),
	ATTR(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
	ATTR(CAN_USE_64_BIT_STREAM_MEM_OPS, 1),
	ATTR(CAN_USE_STREAM_WAIT_VALUE_NOR, 1),
	ATTR(COOPERATIVE_LAUNCH, 1),
	ATTR(HOST_REGISTER_SUPPORTED, 1),
	ATTR(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
	ATTR(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1),
	ATTR(MEMORY_POOLS_SUPPORTED, 1),
	ATTR(IPC_EVENT_SUPPORTED, 0),
	ATTR(TENSOR_MAP_ACCESS_SUPPORTED, 1),
	ATTR(UNIFIED_FUNCTION_POINTERS, 1),
	ATTR(HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
	ATTR(HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1),
	ATTR(NUMA_ID, -1),
#undef ATTR
};

static int attribute(CUdevice_attribute attr, CUdevice dev)
{
	switch ((int)attr) {
	case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
		return soft_set.pageable[dev];
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
		return soft_set.concurrent[dev];
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		return dev + 1;
	case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID:
		return dev;
	case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
		return soft_set.driver >= 13000;
	case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
		return soft_set.driver >= 12020;
	default:
		break;
	}
	for (unsigned i = 0; i < soft_len(fixed); i++)
		if (fixed[i].attr == attr)
			return fixed[i].value;
	return 0;
}

/* Known up to the last one of 13.0. */
#define LAST_ATTRIBUTE 147

SOFT_API(cuDeviceGetAttribute,
	 (int *out, CUdevice_attribute attr, CUdevice handle),
	 (out, attr, handle))
{
	struct soft_device *dev;
	CUresult res = soft_device(handle, &dev);

	if (res)
		return res;
	if (!out || (int)attr <= 0 || (int)attr > LAST_ATTRIBUTE)
		return CUDA_ERROR_INVALID_VALUE;
	*out = attribute(attr, handle);
	return CUDA_SUCCESS;
}

SOFT_API(cuDeviceCanAccessPeer, (int *out, CUdevice from, CUdevice to),
	 (out, from, to))
{
	struct soft_device *dev;
	CUresult res;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_device(from, &dev);
	if (!res)
		res = soft_device(to, &dev);
	if (!res)
		*out = from != to;
	return res;
}

SOFT_API(cuDeviceGetP2PAttribute,
	 (int *out, CUdevice_P2PAttribute attr, CUdevice from, CUdevice to),
	 (out, attr, from, to))
{
	struct soft_device *dev;
	CUresult res;

	if (!out || (int)attr < 1 || (int)attr > 5 || from == to)
		return CUDA_ERROR_INVALID_VALUE;
	res = soft_device(from, &dev);
	if (!res)
		res = soft_device(to, &dev);
	if (!res)
		*out = attr == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
	return res;
}
