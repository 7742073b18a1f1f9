/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the conformance program: was every family of allocation called,
 * and where does a call of each name land?
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include "names.h"

/* How memory comes and goes; the first forms of 2007 are not among them, the
 * software driver has none. */
static const char *const families[] = {
	"cuMemAlloc_v2",
	"cuMemAllocPitch_v2",
	"cuMemAllocManaged",
	"cuMemAllocHost_v2",
	"cuMemHostAlloc",
	"cuMemHostRegister_v2",
	"cuMemAllocAsync",
	"cuMemAllocAsync_ptsz",
	"cuMemAllocFromPoolAsync",
	"cuMemAllocFromPoolAsync_ptsz",
	"cuMemCreate",
	"cuMemMap",
	"cuArrayCreate_v2",
	"cuArray3DCreate_v2",
	"cuMipmappedArrayCreate",
	"cuGraphAddMemAllocNode",
	"cuIpcOpenMemHandle",
	"cuIpcOpenMemHandle_v2",
	"cuMemPoolImportPointer",
	"cuMemImportFromShareableHandle",
	"cuExternalMemoryGetMappedBuffer",
	"cuMemFree_v2",
	"cuMemFreeAsync",
	"cuMemFreeAsync_ptsz",
	"cuMemFreeHost",
	"cuMemHostUnregister",
	"cuMemUnmap",
	"cuMemRelease",
	"cuIpcCloseMemHandle",
	"cuArrayDestroy",
	"cuMipmappedArrayDestroy",
	"cuGraphAddMemFreeNode",
};
#define FAMILIES (sizeof(families) / sizeof(families[0]))

/* Before the names are called without arguments. */
void names_families(void)
{
	unsigned called = 0;

	for (size_t i = 0; i < FAMILIES; i++) {
		if (soft_calls(families[i]))
			called++;
		else
			fprintf(stderr, "not called: %s\n", families[i]);
	}
	printf("%u of %zu families of allocation\n", called, FAMILIES);
	expect(called == FAMILIES);
}

static bool is_in(const char *name, const char *const list[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

/* The two tables have the same names, and no hook has another one. */
void names_agree(void)
{
	expect(n_names == n_forwarded);
	for (size_t i = 0; i < n_names; i++)
		expect(is_in(names[i].symbol, forwarded, n_forwarded));
	for (size_t i = 0; i < n_hooked; i++)
		expect(is_in(hooked[i], forwarded, n_forwarded));
}

/* A capture that begins has to end. */
static void captures(void)
{
	CUgraph g, to;
	CUresult (*create)(CUgraph *, unsigned) =
		driver_get("cuGraphCreate", 10000, 0);

	ok(SYM(cuStreamBeginCapture_ptsz)(NULL));
	ok(SYM(cuStreamEndCapture_ptsz)(NULL, &g));
	ok(SYM(cuStreamBeginCapture_v2_ptsz)(NULL, 0));
	ok(SYM(cuStreamEndCapture_ptsz)(NULL, &g));
	ok(create(&to, 0));
	if (!SYM(cuStreamBeginCaptureToGraph_ptsz)(NULL, to, NULL, NULL, 0, 0))
		ok(SYM(cuStreamEndCapture_ptsz)(NULL, &g));
}

/* Called above, or never without arguments. */
static bool is_left_out(const char *name)
{
	static const char *const some[] = {
		"cuStreamBeginCapture_ptsz", "cuStreamBeginCapture_v2_ptsz",
		"cuStreamBeginCaptureToGraph_ptsz", "cuStreamEndCapture_ptsz"};

	return is_in(name, some, sizeof(some) / sizeof(some[0]));
}

static CUresult call(void *f)
{
	return ((CUresult(*)(void *, void *, void *, void *, void *, void *,
			     void *, void *, void *, void *, void *, void *))f)(
		NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		NULL, NULL);
}

/* Of all the forms of a name together. */
static uint64_t family_calls(const struct name *n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n_names; i++)
		if (!strcmp(names[i].asked, n->asked))
			sum += soft_calls(names[i].symbol);
	return sum;
}

/* Nothing is given, so the driver refuses most; the answers are the same with
 * us and without, and the call arrived where it was sent. */
static void lands(const struct name *n, void *f, bool tell)
{
	uint64_t before = soft_calls(n->symbol), all = family_calls(n);
	CUresult rc;

	if (!f)
		driver_fail(n->symbol, 0, "is not to be had", 0);
	rc = call(f);
	if (soft_calls(n->symbol) != before + 1)
		driver_fail(n->symbol, 0, "was not called once", 0);
	/* An older form may be made of the newer one inside the driver. */
	if (n->own && family_calls(n) != all + 1)
		driver_fail(n->symbol, 0, "was not all that was called", 0);
	if (tell)
		printf("%s %d\n", n->symbol, rc);
}

static void by_four_ways(const struct name *n, void *by_path)
{
	/* What a call finds does not depend on how fast the last one was. */
	ok(SYM(cuCtxSynchronize)());
	lands(n, driver_symbol(n->symbol), true);
	lands(n, n->linked, false);
	lands(n, dlsym(by_path, n->symbol), false);
	lands(n, driver_get(n->asked, n->version, n->own ? PER_THREAD : 0),
	      false);
}

static void own_forms(void)
{
	void *by_path = dlopen(getenv("SOFTCUDA"), RTLD_NOW);
	unsigned called = 0, all = 0;

	expect(by_path);
	captures();
	for (size_t i = 0; i < n_names; i++) {
		if (!names[i].own)
			continue;
		all++;
		if (!is_left_out(names[i].symbol))
			by_four_ways(&names[i], by_path);
		called += soft_calls(names[i].symbol) > 0;
	}
	printf("%u of %u names of own streams\n", called, all);
	expect(called == all);
}

/* The forms for the other default streams, which cannot be captured. */
static bool begins_a_capture(const char *name)
{
	return !strncmp(name, "cuStreamBeginCapture", 20);
}

static void hooked_names(void)
{
	unsigned called = 0, left = 0;

	for (size_t i = 0; i < n_names; i++) {
		const struct name *n = &names[i];

		if (!is_in(n->symbol, hooked, n_hooked))
			continue;
		if (soft_calls(n->symbol)) {
			called++;
		} else if (begins_a_capture(n->symbol)) {
			left++;
		} else {
			lands(n, driver_symbol(n->symbol), false);
			called++;
		}
	}
	printf("%u of %zu hooked names\n", called, n_hooked);
	expect(called + left == n_hooked && left <= 3);
}

void names_called(void)
{
	own_forms();
	hooked_names();
}
