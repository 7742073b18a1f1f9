/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Item 0: what this machine is. Versions, attributes, host, and whether the
 * pointers that cuGetProcAddress gives are those of the exported symbols (the
 * shim replaces by that). usage: facts NAMES, a file with one name of the
 * header's functions a line.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probe.h"

static const struct {
	CUdevice_attribute attribute;
	const char *key;
} attributes[] = {
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, "sm_major"},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, "sm_minor"},
	{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, "multiprocessors"},
	{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, "copy_engines"},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "unified_addressing"},
	{CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, "managed_memory"},
	{CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, "pageable_access"},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
	 "concurrent_managed_access"},
	{CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
	 "uses_host_page_tables"},
	{CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
	 "direct_managed_from_host"},
	{CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "vmm"},
	{CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, "host_register"},
	{CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, "host_numa_id"},
	{CU_DEVICE_ATTRIBUTE_NUMA_ID, "numa_id"},
	{CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
	 "host_numa_vmm"},
	{CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
	 "host_vmm"},
	{CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
	 "posix_fd_handles"},
	{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, "memory_pools"},
	{CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, "stream_memops_64"},
	{CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, "gpu_direct_rdma"},
};

static void say_device(void)
{
	CUdevice device;
	char name[128];
	int driver = 0;
	size_t left, total;

	need(cuDriverGetVersion(&driver));
	need(cuDeviceGet(&device, 0));
	need(cuDeviceGetName(name, sizeof(name), device));
	need(cuMemGetInfo(&left, &total));
	fact_str(name, "device");
	fact_int(driver, "driver_api_version");
	fact_int(CUDA_VERSION, "header_api_version");
	fact_int((long long)(total / MIB), "vram_total_mib");
	fact_int((long long)(left / MIB), "vram_free_mib");
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		int value = -1;
		CUresult code = cuDeviceGetAttribute(
			&value, attributes[i].attribute, device);

		if (code)
			fact_int(code, "%s_code", attributes[i].key);
		else
			fact_int(value, "%s", attributes[i].key);
	}
}

/* The first line of a file, without its end. */
static void say_line(const char *key, const char *path)
{
	char line[512];
	FILE *f = fopen(path, "re");

	if (!f)
		return;
	if (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		fact_str(line, "%s", key);
	}
	fclose(f);
}

static void say_host(void)
{
	struct utsname u;

	if (!uname(&u))
		fact_str(u.release, "kernel");
	fact_int(sysconf(_SC_NPROCESSORS_ONLN), "cores");
	fact_int(proc_kib("/proc/meminfo", "MemTotal:") / 1024,
		 "ram_total_mib");
	fact_int(proc_kib("/proc/meminfo", "MemAvailable:") / 1024,
		 "ram_available_mib");
	say_line("driver", "/sys/module/nvidia/version");
	say_line("uvm_disable_hmm",
		 "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm");
	say_line("thp", "/sys/kernel/mm/transparent_hugepage/enabled");
	say_line("cgroup", "/proc/self/cgroup");
	say_line("memory_max", "/sys/fs/cgroup/memory.max");
	say_line("memory_current", "/sys/fs/cgroup/memory.current");
	say_line("userfaultfd", "/proc/sys/vm/unprivileged_userfaultfd");
	fact_bool(!access("/sys/fs/cgroup/cgroup.controllers", F_OK),
		  "cgroup2");
	fact_bool(!access("/dev/nvidia-uvm", F_OK), "uvm_device");
}

/* A list of names that stays short enough for one line. */
struct names {
	const char *key;
	char text[1400];
	size_t n;
};

static void add_name(struct names *list, const char *name)
{
	size_t at = strlen(list->text);

	list->n++;
	if (at + strlen(name) + 4 < sizeof(list->text))
		sprintf(list->text + at, "%s\"%s\"", at ? "," : "", name);
}

static void say_names(const struct names *list)
{
	char json[1500];

	snprintf(json, sizeof(json), "[%s]", list->text);
	fact_int((long long)list->n, "%s_count", list->key);
	if (list->n)
		fact_json(json, "%s", list->key);
}

/* Is the pointer that of an exported symbol, for the flags? */
static void look_up(const char *name, cuuint64_t flags, struct names *unknown,
		    struct names *private_, size_t *exact)
{
	CUdriverProcAddressQueryResult status;
	void *fn = NULL;
	Dl_info where;
	CUresult code =
		cuGetProcAddress(name, &fn, CUDA_VERSION, flags, &status);

	if (code || !fn)
		add_name(unknown, name);
	else if (!dladdr(fn, &where) || where.dli_saddr != fn)
		add_name(private_, name);
	else
		(*exact)++;
}

static void say_symbols(const char *path)
{
	struct names missing = {.key = "not_exported"};
	struct names unknown = {.key = "gpa_unknown"};
	struct names private_ = {.key = "gpa_not_a_symbol"};
	struct names unknown_ptsz = {.key = "gpa_ptsz_unknown"};
	struct names private_ptsz = {.key = "gpa_ptsz_not_a_symbol"};
	size_t n = 0, exact = 0, exact_ptsz = 0;
	char name[128];
	FILE *f = fopen(path, "re");

	need_true(f);
	while (fscanf(f, "%127s", name) == 1) {
		n++;
		if (!dlsym(RTLD_DEFAULT, name))
			add_name(&missing, name);
		look_up(name, 0, &unknown, &private_, &exact);
		look_up(name, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
			&unknown_ptsz, &private_ptsz, &exact_ptsz);
	}
	fclose(f);
	fact_int((long long)n, "header_functions");
	fact_int((long long)exact, "gpa_exact_symbol");
	fact_int((long long)exact_ptsz, "gpa_ptsz_exact_symbol");
	say_names(&missing);
	say_names(&unknown);
	say_names(&private_);
	say_names(&unknown_ptsz);
	say_names(&private_ptsz);
}

int main(int argc, char **argv)
{
	double start = now_s();

	probe_open();
	fact_num((now_s() - start) * 1e3, "open_ms");
	say_device();
	say_host();
	if (argc > 1)
		say_symbols(argv[1]);
	return 0;
}
