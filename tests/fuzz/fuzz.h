/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fuzz target is: the two functions that a fuzzer calls. driver.c calls
 * them where there is none.
 */
#ifndef HZ_FUZZ_H
#define HZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_EXPORT __attribute__((visibility("default")))

FUZZ_EXPORT int LLVMFuzzerInitialize(int *argc, char ***argv);
FUZZ_EXPORT int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct work;

/* Messages are not wanted. */
void fuzz_quiet(void);
/* What must hold of a trace that was accepted; then it is planned. */
void fuzz_work(const struct work *work);

#endif
