/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A weak body for every symbol: it says not supported and is counted. Where
 * another file implements the symbol, the linker takes that one, here and in
 * the table that cuGetProcAddress reads. No prototype of the driver may be
 * seen in this file, since all stubs have the same.
 */
#include <stdint.h>
#include "symbols.h"

enum soft_symbol_id {
#define SYM(symbol_, asked_, version_, pt_) SOFT_##symbol_,
#include "symbols.def"
#undef SYM
};
unsigned int soft_unsupported(enum soft_symbol_id id);

#define SYM(symbol_, asked_, version_, pt_)                                \
	__attribute__((weak, visibility("default"))) unsigned int symbol_( \
		void);                                                     \
	__attribute__((weak, visibility("default"))) unsigned int symbol_( \
		void)                                                      \
	{                                                                  \
		return soft_unsupported(SOFT_##symbol_);                   \
	}
#include "symbols.def"
#undef SYM

const struct soft_symbol soft_symbols[] = {
#define SYM(symbol_, asked_, version_, pt_) \
	{#symbol_, #asked_, version_, pt_, (void (*)(void))symbol_},
#include "symbols.def"
#undef SYM
};
