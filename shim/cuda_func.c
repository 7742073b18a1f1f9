/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a kernel: its number, and where its arguments lie. Asked
 * of the driver once a handle, outside of captures, where a kernel that is
 * loaded lazily may not be touched.
 *
 * The table is read without a lock. What an entry says is never changed: a
 * handle may stand for another kernel after a module was unloaded, and what is
 * older than the last unloading is asked again. If the answer is the same, the
 * entry is as good as new; else another takes its place, and its memory is
 * not used again, since somebody may still be reading it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "base/log.h"
#include "base/os.h"
#include "base/util.h"
#include "cuda_hooks.h"

#define SLOTS	   (1u << 15)
#define ARENA	   ((size_t)64 << 20)
#define PARAMS_MAX 4096u
#define PROBES	   64u

static struct hz_cu_func **slots; /* reserved at the first launch */
static char *arena;
static size_t arena_used;
static uint32_t generation = 1;

void hz_cu_func_forget(void)
{
	__atomic_fetch_add(&generation, 1, __ATOMIC_ACQ_REL);
}

static bool reserve(void)
{
	void *table = hz_os_reserve(SLOTS * sizeof(*slots)), *none = NULL;
	void *mem = hz_os_reserve(ARENA);

	if (!table || !mem)
		return false;
	/* Who comes second throws his away: nothing was touched in it. */
	if (!__atomic_compare_exchange_n(&arena, (char **)&none, mem, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		hz_os.munmap(mem, ARENA);
	none = NULL;
	if (!__atomic_compare_exchange_n(&slots, (struct hz_cu_func ***)&none,
					 table, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		hz_os.munmap(table, SLOTS * sizeof(*slots));
	return true;
}

static bool full(void)
{
	return __atomic_load_n(&arena_used, __ATOMIC_RELAXED) >= ARENA;
}

static struct hz_cu_func *take(unsigned n)
{
	size_t bytes = sizeof(struct hz_cu_func) +
		       n * sizeof(struct hz_cu_param);
	size_t at;

	bytes = hz_align_up(bytes, (size_t)16);
	at = __atomic_fetch_add(&arena_used, bytes, __ATOMIC_RELAXED);
	return at + bytes <= ARENA ? (void *)(arena + at) : NULL;
}

/* ---- asking the driver ---- */

static CUresult param_info(CUfunction f, bool kernel, size_t i, size_t *offset,
			   size_t *size)
{
	if (kernel)
		return HZ_REAL(cuKernelGetParamInfo)((CUkernel)f, i, offset,
						     size);
	return HZ_REAL(cuFuncGetParamInfo)(f, i, offset, size);
}

static unsigned count_params(CUfunction f, bool kernel)
{
	size_t offset, size;
	unsigned n = 0;

	while (n < PARAMS_MAX && !param_info(f, kernel, n, &offset, &size))
		n++;
	return n;
}

/* A kernel of a library may be passed as a function; the driver says which of
 * the two the handle is by refusing the other's name. */
static const char *name_of(CUfunction f, bool *kernel)
{
	const char *name = NULL;

	*kernel = false;
	if (hz_cu_has(HZ_CU_cuFuncGetName) &&
	    !HZ_REAL(cuFuncGetName)(&name, f) && name)
		return name;
	if (hz_cu_has(HZ_CU_cuKernelGetName) &&
	    !HZ_REAL(cuKernelGetName)(&name, (CUkernel)f) && name) {
		*kernel = true;
		return name;
	}
	return NULL;
}

static uint32_t number_of(CUfunction f, const char *name)
{
	char text[32];

	if (name)
		return hz_gpu_kernel(name);
	hz_format(text, sizeof(text), "%p", (void *)f);
	return hz_gpu_kernel(text);
}

/* Below 12.4 the driver does not say where the arguments lie. */
static bool can_tell(bool kernel)
{
	return hz_cu_has(kernel ? HZ_CU_cuKernelGetParamInfo
				: HZ_CU_cuFuncGetParamInfo);
}

static void lay_out(struct hz_cu_func *x, struct hz_cu_param *p, size_t offset,
		    size_t size)
{
	size_t skip = -offset % sizeof(uint64_t);

	p->offset = (uint32_t)offset;
	p->size = (uint32_t)size;
	p->skip = (uint32_t)skip;
	if (size > skip)
		p->words = (uint32_t)((size - skip) / sizeof(uint64_t));
	x->words += p->words;
	x->large |= size >= sizeof(CUtensorMap);
}

static struct hz_cu_func *ask(CUfunction f, uint32_t now)
{
	bool kernel;
	const char *name = name_of(f, &kernel);
	bool known = can_tell(kernel);
	unsigned n = known ? count_params(f, kernel) : 0;
	struct hz_cu_func *x = take(n);

	if (!x)
		return NULL;
	*x = (struct hz_cu_func){.f = f,
				 .generation = now,
				 .kernel = number_of(f, name),
				 .n = (uint16_t)n,
				 .known = known};
	for (unsigned i = 0; i < n; i++) {
		size_t offset = 0, size = 0;

		param_info(f, kernel, i, &offset, &size);
		lay_out(x, &x->param[i], offset, size);
	}
	return x;
}

/* Does the driver still say what `x` says? */
static bool same(const struct hz_cu_func *x)
{
	bool kernel;
	const char *name = name_of(x->f, &kernel);
	size_t offset, size;

	if (number_of(x->f, name) != x->kernel || can_tell(kernel) != x->known)
		return false;
	if (!x->known)
		return true;
	for (unsigned i = 0; i < x->n; i++)
		if (param_info(x->f, kernel, i, &offset, &size) ||
		    offset != x->param[i].offset || size != x->param[i].size)
			return false;
	return x->n == PARAMS_MAX ||
	       param_info(x->f, kernel, x->n, &offset, &size);
}

/* ---- the table ---- */

static bool is_of(const struct hz_cu_func *x, uint32_t now)
{
	return __atomic_load_n(&x->generation, __ATOMIC_RELAXED) == now;
}

/* Where `f` is, in `found`, or where it may go: a free slot, else one that
 * nobody has used since the last unloading. */
static struct hz_cu_func **slot_of(CUfunction f, uint32_t now,
				   struct hz_cu_func **found)
{
	uint32_t at = (uint32_t)((uintptr_t)f * 0x9e3779b97f4a7c15ull >> 49);
	struct hz_cu_func **old = NULL;

	for (unsigned i = 0; i < PROBES; i++) {
		struct hz_cu_func **s = &slots[(at + i) % SLOTS];
		struct hz_cu_func *x = __atomic_load_n(s, __ATOMIC_ACQUIRE);

		if (!x)
			return s;
		if (x->f == f) {
			*found = x;
			return s;
		}
		if (!old && !is_of(x, now))
			old = s;
	}
	return old;
}

/* Two threads may ask: the same answer twice, or two handles for one slot, of
 * which one is asked again. An answer that there is no room for is not asked
 * again before the next unloading. */
static struct hz_cu_func *renew(CUfunction f, uint32_t now,
				struct hz_cu_func *x, struct hz_cu_func **slot)
{
	struct hz_cu_func *fresh;

	if (x && __atomic_load_n(&x->refused, __ATOMIC_RELAXED) == now)
		return NULL;
	if (x && same(x)) {
		__atomic_store_n(&x->generation, now, __ATOMIC_RELAXED);
		return x;
	}
	fresh = full() ? NULL : ask(f, now);
	if (fresh)
		__atomic_store_n(slot, fresh, __ATOMIC_RELEASE);
	else if (x)
		__atomic_store_n(&x->refused, now, __ATOMIC_RELAXED);
	return fresh;
}

const struct hz_cu_func *hz_cu_func(CUfunction f, bool may_ask)
{
	uint32_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
	struct hz_cu_func *x = NULL, **slot;

	if (hz_unlikely(!__atomic_load_n(&slots, __ATOMIC_ACQUIRE)) &&
	    !reserve())
		return NULL;
	slot = slot_of(f, now, &x);
	if (hz_likely(x && is_of(x, now)))
		return x;
	return slot && may_ask ? renew(f, now, x, slot) : NULL;
}
