/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver of asked_driver.c was asked, and what it shall answer. The
 * program reaches it under the driver's own file name.
 */
#ifndef TEST_CUDA_ASKED_H
#define TEST_CUDA_ASKED_H

#include <stddef.h>
#include <stdint.h>

#define ASKED_CONTEXT	 ((CUcontext)0x10)
#define ASKED_KERNEL	 ((CUfunction)0x2000)
#define ASKED_STREAMS	 16
#define ASKED_STREAM(n_) ((CUstream)(uintptr_t)(0x1000 + 0x100 * (n_)))

struct asked {
	/* counted */
	uint64_t params;    /* questions after a parameter */
	uint64_t capturing; /* is this stream capturing? */
	/* answers */
	unsigned kernel_params;
	size_t param_bytes;
	int captured[ASKED_STREAMS]; /* of ASKED_STREAM(0) .. */
	/* called when handles have ended, before the driver returns */
	void (*between)(void);
};

#endif
