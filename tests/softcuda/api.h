/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an entry point is written. Each passes the gate first: it is counted,
 * and what the gate holds against it (cuInit missing, an older generation, an
 * injected failure, a dead context) is answered before its body runs.
 *
 *	SOFT_API(cuMemFree_v2, (CUdeviceptr p), (p))
 *	{
 *		...
 *	}
 *
 * SOFT_STREAM_API defines both families, the plain one and _ptsz; the body
 * finds in `pt` which one it is. SOFT_DEFAULT_API does so for _ptds.
 */
#ifndef SOFTCUDA_API_H
#define SOFTCUDA_API_H

#include <stdint.h>
#include "cuda_abi.h"

#define SOFT_EXPORT __attribute__((visibility("default")))

enum soft_symbol_id {
#define SYM(symbol_, asked_, version_, pt_) SOFT_##symbol_,
#include "symbols.def"
#undef SYM
	SOFT_SYMBOLS
};

/* What the gate holds against a symbol; 0 on the fast path. */
enum {
	SOFT_GATE_BOOT = 1,    /* the environment has not been read */
	SOFT_GATE_INIT = 2,    /* cuInit was not called */
	SOFT_GATE_NEWER = 4,   /* the set generation does not have it */
	SOFT_GATE_FAIL = 8,    /* a failure is to be injected */
	SOFT_GATE_STICKY = 16, /* a context died: is it the caller's? */
	SOFT_GATE_CHILD = 32,  /* forked after cuInit */
};
extern uint8_t soft_gate[SOFT_SYMBOLS];
extern uint64_t soft_call_counts[SOFT_SYMBOLS];

CUresult soft_enter_slow(enum soft_symbol_id id);
CUresult soft_unsupported(enum soft_symbol_id id);

static inline CUresult soft_enter(enum soft_symbol_id id)
{
	__atomic_fetch_add(&soft_call_counts[id], 1, __ATOMIC_RELAXED);
	if (__builtin_expect(__atomic_load_n(&soft_gate[id], __ATOMIC_RELAXED),
			     0))
		return soft_enter_slow(id);
	return CUDA_SUCCESS;
}

#define SOFT_ENTRY(name_, args_, body_)                 \
	SOFT_EXPORT CUresult name_ args_;               \
	SOFT_EXPORT CUresult name_ args_                \
	{                                               \
		CUresult res_ = soft_enter(SOFT_##name_); \
                                                        \
		return res_ ? res_ : body_;             \
	}

#define SOFT_API(name_, args_, call_)               \
	static CUresult body_##name_ args_;         \
	SOFT_ENTRY(name_, args_, body_##name_ call_) \
	static CUresult body_##name_ args_

#define SOFT_WITH_PT(...) (bool pt, __VA_ARGS__)
#define SOFT_LEGACY(...)  (false, __VA_ARGS__)
#define SOFT_THREAD(...)  (true, __VA_ARGS__)

#define SOFT_BOTH(name_, other_, args_, call_)                   \
	static CUresult body_##name_ SOFT_WITH_PT args_;         \
	SOFT_ENTRY(name_, args_, body_##name_ SOFT_LEGACY call_) \
	SOFT_ENTRY(other_, args_, body_##name_ SOFT_THREAD call_) \
	static CUresult body_##name_ SOFT_WITH_PT args_

#define SOFT_STREAM_API(name_, args_, call_) \
	SOFT_BOTH(name_, name_##_ptsz, args_, call_)
#define SOFT_DEFAULT_API(name_, args_, call_) \
	SOFT_BOTH(name_, name_##_ptds, args_, call_)

#endif
