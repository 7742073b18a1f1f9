/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that the loader calls an auditor: it is asked about every library
 * and every symbol while the program starts, in a name space of its own with a
 * C library of its own. Run by startup_order.sh.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <link.h>
#include <stdint.h>
#include <stdlib.h>

#define VISIBLE __attribute__((visibility("default")))

VISIBLE unsigned la_version(unsigned version);
VISIBLE unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie);
VISIBLE uintptr_t la_symbind64(Elf64_Sym *sym, unsigned index, uintptr_t *from,
			       uintptr_t *to, unsigned *flags,
			       const char *name);

VISIBLE unsigned la_version(unsigned version)
{
	free(malloc(5 << 20));
	return version;
}

VISIBLE unsigned la_objopen(struct link_map *map, Lmid_t id, uintptr_t *cookie)
{
	(void)map;
	(void)id;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

VISIBLE uintptr_t la_symbind64(Elf64_Sym *sym, unsigned index, uintptr_t *from,
			       uintptr_t *to, unsigned *flags, const char *name)
{
	(void)index;
	(void)from;
	(void)to;
	(void)flags;
	(void)name;
	return sym->st_value;
}
