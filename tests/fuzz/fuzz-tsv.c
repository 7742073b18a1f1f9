/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of traces as tables of text.
 */
#include "config.h"
#include "fuzz/fuzz.h"

#include "replay/work.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz_quiet();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct work *w = work_parse_tsv("-", (const char *)data, size);

	if (w)
		fuzz_work(w);
	if (w)
		work_free(w);
	return 0;
}
