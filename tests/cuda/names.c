/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See names.h. No prototype of the driver may be seen here: all of its
 * functions are declared alike.
 */
#include "names.h"

#define SYM(symbol_, asked_, version_, own_) extern void symbol_(void);
#include "symbols.def"
#undef SYM

const struct name names[] = {
#define SYM(symbol_, asked_, version_, own_) \
	{#symbol_, #asked_, version_, own_, (void *)symbol_},
#include "symbols.def"
#undef SYM
};
const size_t n_names = sizeof(names) / sizeof(names[0]);

const char *const forwarded[] = {
#define HZ_CU(name_) #name_,
#include "cuda_names.def"
#undef HZ_CU
};
const size_t n_forwarded = sizeof(forwarded) / sizeof(forwarded[0]);

const char *const hooked[] = {
#define HZ_HOOK(name_, ...)	   #name_,
#define HZ_HOOK_ON(name_, ...)	   #name_,
#define HZ_HOOK_FREE(name_, ...)   #name_,
#define HZ_HOOK_AROUND(name_, ...) #name_,
#define HZ_HOOK_ALWAYS(name_, ...) #name_,
#define HZ_HOOK_OWN(name_, ...)	   #name_,
#define HZ_HOOK_TIMED(name_, ...)  #name_,
#define HZ_CALL(name_, ...)
#include "cuda_hooks.def"
};
const size_t n_hooked = sizeof(hooked) / sizeof(hooked[0]);
