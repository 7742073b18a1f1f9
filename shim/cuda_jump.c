/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jumps. A signal handler that leaves by one never comes back to what it
 * interrupted; if that was a hook that held the lock of the map, everybody
 * would wait for it for ever. Signals cannot be blocked in hooks, at two system
 * calls each; so the jump says that it is one. That costs a jump a load and a
 * branch.
 *
 * setcontext(), a C++ exception or the end of the thread inside of a handler
 * are not seen.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <dlfcn.h>
#include <stdlib.h>
#include "base/util.h"
#include "engine/gpu.h"
#include "guard.h"

/* As <setjmp.h> has them, which may give them each other's names. */
typedef void jump(void *env, int value);

#define JUMP(name_)                             \
	HZ_EXPORT jump name_;                   \
	static jump *next_##name_;              \
	void name_(void *env, int value)        \
	{                                       \
		if (hz_unlikely(!next_##name_)) \
			find();                 \
		hz_gpu_jump();                  \
		next_##name_(env, value);       \
	}

static void find(void);
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

static void find_one(void *to, const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	__builtin_memcpy(to, &f, sizeof(f));
}

/* Before a handler can need it: dlsym() is nothing for handlers. */
__attribute__((constructor)) static void find(void)
{
	find_one(&next_longjmp, "longjmp");
	find_one(&next__longjmp, "_longjmp");
	find_one(&next_siglongjmp, "siglongjmp");
	find_one(&next___longjmp_chk, "__longjmp_chk");
}
