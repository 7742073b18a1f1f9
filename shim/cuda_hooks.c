/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks, made from cuda_hooks.def, and the driver's own way to its
 * functions: cuGetProcAddress. The driver chooses the function, for the
 * version and the flags that the caller gave; if there is a hook of exactly
 * that function, the caller gets it instead.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include "cuda_hooks.h"
#include "base/util.h"

#define CALL(name_) HZ_REAL(name_) HZ_ARGS_##name_
#define OFF	    hz_unlikely(!__atomic_load_n(&hz_gpu_on, __ATOMIC_ACQUIRE))

#define HZ_HOOK_AROUND(name_, before_, after_)       \
	static CUresult hook_##name_ HZ_SIG_##name_  \
	{                                            \
		struct hz_gpu_taken taken = {0};     \
		int ended = 0; /* captures */        \
		CUresult rc;                         \
                                                     \
		if (OFF)                             \
			return CALL(name_);          \
		before_;                             \
		rc = CALL(name_);                    \
		if (rc != CUDA_SUCCESS)              \
			hz_gpu_put_back(&taken);     \
		else                                 \
			after_;                      \
		if (rc == CUDA_SUCCESS && ended)     \
			hz_gpu_capture(-ended);      \
		return rc;                           \
	}
#define HZ_HOOK_FREE(name_, pointer_) \
	HZ_HOOK_AROUND(name_, hz_gpu_take(pointer_, &taken), (void)0)
#define HZ_HOOK_ALWAYS(name_, what_)                \
	static CUresult hook_##name_ HZ_SIG_##name_ \
	{                                           \
		CUresult rc = CALL(name_);          \
                                                    \
		if (!OFF)                           \
			what_;                      \
		return rc;                          \
	}
#define HZ_HOOK(name_, what_)                           \
	static CUresult hook_##name_ HZ_SIG_##name_     \
	{                                               \
		CUresult rc = CALL(name_);              \
                                                        \
		if (hz_likely(rc == CUDA_SUCCESS) && !OFF) \
			what_;                          \
		return rc;                              \
	}
#define HZ_HOOK_ON(name_, own_, what_) \
	HZ_HOOK(name_, if (!hz_cu_capturing(hStream, own_)) what_)
#define TURN                                                             \
	(hz_unlikely(__atomic_load_n(&hz_gpu_timing, __ATOMIC_RELAXED)) && \
	 !OFF && hz_gpu_time_turn())
#define HZ_HOOK_TIMED(name_, may_, stream_, own_, what_)            \
	static CUresult hook_##name_ HZ_SIG_##name_                 \
	{                                                           \
		struct hz_cu_timed timed;                           \
		CUresult rc;                                        \
                                                                    \
		timed.pair = NULL;                                  \
		if (TURN && (may_))                                 \
			hz_cu_time_begin(&timed, stream_, own_);    \
		rc = CALL(name_);                                   \
		if (hz_unlikely(timed.pair != NULL))                \
			hz_cu_time_end(&timed, rc);                 \
		if (hz_likely(rc == CUDA_SUCCESS) && !OFF)          \
			what_;                                      \
		if (hz_unlikely(timed.pair != NULL))                \
			hz_cu_time_told(&timed);                    \
		return rc;                                          \
	}
#define HZ_HOOK_OWN(name_, function_)
#define HZ_CALL(name_, why_)
#include "cuda_hooks.def"
#undef HZ_HOOK_AROUND
#undef HZ_HOOK_FREE
#undef HZ_HOOK_ALWAYS
#undef HZ_HOOK_ON
#undef HZ_HOOK_TIMED
#undef HZ_HOOK
#undef HZ_HOOK_OWN

#define ROW(name_, function_)		 {HZ_CU_##name_, (hz_cu_fn)function_},
#define HZ_HOOK(name_, what_)		 ROW(name_, hook_##name_)
#define HZ_HOOK_ON(name_, own_, what_)	 ROW(name_, hook_##name_)
#define HZ_HOOK_TIMED(name_, m_, s_, o_, w_) ROW(name_, hook_##name_)
#define HZ_HOOK_ALWAYS(name_, what_)	 ROW(name_, hook_##name_)
#define HZ_HOOK_FREE(name_, pointer_)	 ROW(name_, hook_##name_)
#define HZ_HOOK_AROUND(name_, b_, a_)	 ROW(name_, hook_##name_)
#define HZ_HOOK_OWN(name_, function_)	 ROW(name_, function_)
const struct hz_cu_hook hz_cu_hooks[] = {
#include "cuda_hooks.def"
};
const unsigned hz_cu_hook_count = hz_array_len(hz_cu_hooks);

/* Is a function hooked that is asked for by this name? */
static bool is_family(const char *name)
{
	size_t len = strlen(name);

	for (unsigned i = 0; i < hz_cu_hook_count; i++) {
		const char *hooked = hz_cu_names[hz_cu_hooks[i].i];

		if (!strncmp(hooked, name, len) &&
		    (!hooked[len] || !strncmp(hooked + len, "_v", 2) ||
		     !strncmp(hooked + len, "_pt", 3)))
			return true;
	}
	return false;
}

/* Its name without what tells its forms apart. */
void hz_cu_unknown(const char *name)
{
	char base[64] = {0};
	const char *end = strstr(name, "_v");
	size_t len;

	if (!end)
		end = strstr(name, "_pt");
	len = end ? (size_t)(end - name) : strlen(name);
	if (OFF || len >= sizeof(base))
		return;
	memcpy(base, name, len);
	if (is_family(base))
		hz_gpu_unhooked();
}

static void replace(CUresult rc, const char *name, void **pfn)
{
	void *hook;

	if (rc != CUDA_SUCCESS || !pfn || !*pfn || OFF)
		return;
	hook = hz_cu_hook_of(*pfn);
	if (hook == *pfn && name && is_family(name))
		hz_gpu_unhooked();
	*pfn = hook;
}

CUresult hz_cu_get_proc_address HZ_SIG_cuGetProcAddress
{
	CUresult rc = CALL(cuGetProcAddress);

	replace(rc, symbol, pfn);
	return rc;
}

CUresult hz_cu_get_proc_address_v2 HZ_SIG_cuGetProcAddress_v2
{
	CUresult rc = CALL(cuGetProcAddress_v2);

	replace(rc, symbol, pfn);
	return rc;
}

/* ---- captures ---- */

#define NOBODY	 ((CUstream)0)
#define SOMEBODY ((CUstream)-1) /* who is still writing the rest */

/* Where captures began: a capture ends in that stream, or with it, or with its
 * context. One that finds no place here is counted as well, and is believed
 * to be open when it ended otherwise than by cuStreamEndCapture: that costs
 * every launch a question, and no more. */
static struct origin {
	CUstream stream; /* atomic: whose the slot is */
	CUcontext context;
} origins[64];

static bool take_over(struct origin *o, CUstream from, CUstream to)
{
	return __atomic_compare_exchange_n(&o->stream, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void remember(CUstream stream)
{
	CUcontext context = NULL;

	HZ_REAL(cuCtxGetCurrent)(&context);
	for (unsigned i = 0; i < hz_array_len(origins); i++) {
		struct origin *o = &origins[i];

		if (__atomic_load_n(&o->stream, __ATOMIC_RELAXED) ||
		    !take_over(o, NOBODY, SOMEBODY))
			continue;
		o->context = context;
		__atomic_store_n(&o->stream, stream, __ATOMIC_RELEASE);
		return;
	}
}

/* The streams that every context has, 0 to 2, end with it alone; which of
 * them 0 is depends on the function. */
void hz_cu_capture_begin(CUstream stream)
{
	hz_gpu_capture(1);
	if ((uintptr_t)stream > 2)
		remember(stream);
}

int hz_cu_captures_in(CUstream stream)
{
	if ((uintptr_t)stream <= 2 || !hz_gpu_capturing())
		return 0;
	for (unsigned i = 0; i < hz_array_len(origins); i++)
		if (take_over(&origins[i], stream, NOBODY))
			return 1;
	return 0;
}

int hz_cu_captures_of(CUcontext context)
{
	int n = 0;

	for (unsigned i = 0; context && i < hz_array_len(origins); i++) {
		struct origin *o = &origins[i];
		CUstream s = __atomic_load_n(&o->stream, __ATOMIC_ACQUIRE);

		if (s != NOBODY && s != SOMEBODY && o->context == context)
			n += take_over(o, s, NOBODY);
	}
	return n;
}

/* These end a capture; with any other answer it goes on, or there was none. */
void hz_cu_capture_end(CUstream stream, CUresult rc)
{
	enum { INVALIDATED = 901, UNJOINED = 904 };

	if (rc != CUDA_SUCCESS && rc != INVALIDATED && rc != UNJOINED)
		return;
	hz_cu_captures_in(stream);
	hz_gpu_capture(-1);
}

int hz_cu_ending(CUcontext context)
{
	hz_cu_func_forget();
	hz_cu_time_drop(context);
	return hz_cu_captures_of(context);
}
