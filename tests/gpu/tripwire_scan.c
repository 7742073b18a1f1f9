/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the arguments of a launch as Horizon does: every aligned slot of eight
 * bytes that holds an address of a tensor names it, and so does a tensor map,
 * known by its 128 bytes. Called with the lock of tripwire.c.
 */
#include <string.h>

#include "tripwire.h"

#define MAPS 4096u

static struct {
	CUtensorMap bytes[MAPS];
	uint64_t address[MAPS];
	unsigned n, lost;
} maps;

static struct {
	unsigned function, kernel, neither;
} handles;

/* The same bytes again: the newest address counts. */
void trip_saw_map(const CUtensorMap *map, void *address)
{
	unsigned i;

	for (i = 0; i < maps.n; i++)
		if (!memcmp(&maps.bytes[i], map, sizeof(*map)))
			break;
	if (i == MAPS) {
		maps.lost++;
		return;
	}
	if (i == maps.n)
		maps.n++;
	memcpy(&maps.bytes[i], map, sizeof(*map));
	maps.address[i] = (uint64_t)address;
}

static void scan_map(const unsigned char *p, struct trip_names *names)
{
	unsigned block;

	for (unsigned i = 0; i < maps.n; i++) {
		if (memcmp(&maps.bytes[i], p, sizeof(CUtensorMap)))
			continue;
		names->map = true;
		if (trip_tensor(maps.address[i], &block))
			trip_add(&names->by_map, block);
	}
}

/* OFFSET is that of the argument: slots are aligned in the whole. */
static void scan_bytes(const unsigned char *p, size_t offset, size_t size,
		       struct trip_names *names)
{
	unsigned block;
	uint64_t slot;

	for (size_t i = (8 - offset % 8) % 8; i + 8 <= size; i += 8) {
		memcpy(&slot, p + i, sizeof(slot));
		if (trip_tensor(slot, &block))
			trip_add(&names->all, block);
		if ((offset + i) % 64 == 0 && size - i >= sizeof(CUtensorMap))
			scan_map(p + i, names);
	}
}

/* A launch takes a CUfunction or a CUkernel; which one is asked by name. */
static bool is_function(CUfunction f, struct trip_names *names)
{
	if (!cuFuncGetName(&names->kernel, f)) {
		handles.function++;
		return true;
	}
	if (!cuKernelGetName(&names->kernel, (CUkernel)f)) {
		handles.kernel++;
		return false;
	}
	handles.neither++;
	names->known = false;
	names->kernel = "?";
	return true;
}

/* extra[]: pairs of a key and a value, ended by CU_LAUNCH_PARAM_END. */
static bool packed(void **extra, const unsigned char **p, size_t *size)
{
	*p = NULL;
	*size = 0;
	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*p = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*size = *(const size_t *)extra[1];
	}
	return *p && *size;
}

void trip_scan(CUfunction f, void **params, void **extra,
	       struct trip_names *names)
{
	const unsigned char *buffer;
	size_t offset, size;
	bool function;

	names->known = true;
	function = is_function(f, names);
	if (!params && packed(extra, &buffer, &size)) {
		scan_bytes(buffer, 0, size, names);
	} else if (params && names->known) {
		for (size_t i = 0;; i++) {
			CUresult code =
				function ? cuFuncGetParamInfo(f, i, &offset,
							      &size)
					 : cuKernelGetParamInfo((CUkernel)f, i,
								&offset, &size);

			if (code)
				break;
			scan_bytes(params[i], offset, size, names);
		}
	}
	for (size_t i = 0; i < TRIP_BLOCKS / 64; i++) {
		names->by_map.words[i] &= ~names->all.words[i];
		names->all.words[i] |= names->by_map.words[i];
	}
}

void trip_scan_facts(const char *prefix)
{
	fact_int(handles.function, "%s_launches_of_cufunction", prefix);
	fact_int(handles.kernel, "%s_launches_of_cukernel", prefix);
	fact_int(handles.neither, "%s_launches_of_unknown_handle", prefix);
	fact_int(maps.n, "%s_tensor_maps_seen", prefix);
	fact_int(maps.lost, "%s_tensor_maps_lost", prefix);
	memset(&handles, 0, sizeof(handles));
}
