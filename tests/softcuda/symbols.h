/* SPDX-License-Identifier: Apache-2.0 */
/* The table of symbols.def, with addresses; stubs.c owns it. */
#ifndef SOFTCUDA_SYMBOLS_H
#define SOFTCUDA_SYMBOLS_H

#include <stdbool.h>

struct soft_symbol {
	const char *symbol, *asked;
	unsigned version;
	bool per_thread;
	void (*address)(void);
};
extern const struct soft_symbol soft_symbols[];

#endif
