/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fuzz target does not want to hear.
 */
#include "config.h"
#include "fuzz/fuzz.h"

#include "base/log.h"

void fuzz_quiet(void)
{
	hz_log_set_level((enum hz_log_level) - 1);
}
