/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the toolkit is there, its headers have to agree with cuda-driver.def:
 * every function exists in that version, with these arguments, and the one
 * structure that the trainer spells out lies as it should. Compiling this is
 * the test.
 */
#include <cudaTypedefs.h>
#include <stddef.h>
#include "cuda-pool.h"

#define SAME(member_, theirs_)                                      \
	_Static_assert(offsetof(struct pool_properties, member_) == \
	                       offsetof(CUmemPoolProps, theirs_),   \
	               "cuda-pool.h has " #member_ " elsewhere");
SAME(allocation, allocType)
SAME(handles, handleTypes)
SAME(location.type, location.type)
SAME(location.id, location.id)
SAME(security, win32SecurityAttributes)
SAME(max_size, maxSize)
SAME(usage, usage)
SAME(reserved, reserved)
_Static_assert(sizeof(struct pool_properties) == sizeof(CUmemPoolProps),
               "cuda-pool.h has another size");

/* In prototypes theirs stands for ours. */
#define pool_properties CUmemPoolProps_st
#define F(name_, version_, args_)                          \
	typedef CUresult(*trainer_##name_) args_;          \
	_Static_assert(__builtin_types_compatible_p(       \
	                       trainer_##name_,            \
	                       PFN_##name_##_v##version_), \
	               "cuda-driver.def has another " #name_);
#include "cuda-driver.def"
#undef F

int main(void)
{
	return 0;
}
