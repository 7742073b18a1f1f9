/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.h for the device. text: in and want of one micro-batch.
 */
#ifndef GPU_PASSES_H
#define GPU_PASSES_H

#include "gpu-model.h"

/* add: onto the loss, or the gradients, of the micro-batches before. */
void gpu_forward(struct gpu_model *, CUdeviceptr text, float scale, bool add);
void gpu_backward(struct gpu_model *, CUdeviceptr text, bool add);

#endif
