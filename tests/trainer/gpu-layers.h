/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h and matmul.h for the device: the same operations, each enqueued on
 * the stream. Where the host adds one array to another, `plus` is added
 * here. Arrays are float or bf16 as model->shape.narrow says, but for
 * gradients of weights, stat, loss and logits, which are float.
 */
#ifndef GPU_LAYERS_H
#define GPU_LAYERS_H

#include "gpu-model.h"

enum product {
	FORWARD,      /* y = x w^T + bias + plus */
	FORWARD_FULL, /* the same, y float */
	BACK_INPUT,   /* dx = dy w */
	BACK_WEIGHT,  /* dw = dy^T x + plus, dw float */
	CROSS,        /* the same, dw as its operands */
	PRODUCTS
};

/* batch: sequences times heads, or 1. */
void gpu_product(struct gpu_model *, enum product, CUdeviceptr c, CUdeviceptr a,
                 CUdeviceptr b, CUdeviceptr bias, CUdeviceptr plus,
                 const struct gemm_shape *, int batch);

void gpu_linear(struct gpu_model *, enum product, int in, int out,
                CUdeviceptr y, CUdeviceptr x, CUdeviceptr w, CUdeviceptr bias,
                CUdeviceptr plus);
void gpu_linear_back_input(struct gpu_model *, int in, int out, CUdeviceptr dx,
                           CUdeviceptr dy, CUdeviceptr w);
void gpu_linear_back_weight(struct gpu_model *, int in, int out, CUdeviceptr dw,
                            CUdeviceptr dbias, CUdeviceptr dy, CUdeviceptr x,
                            bool add);

void gpu_sum_columns(struct gpu_model *, CUdeviceptr out, CUdeviceptr x,
                     int width, bool add);
void gpu_gelu(struct gpu_model *, CUdeviceptr y, CUdeviceptr x, long len);
void gpu_gelu_back(struct gpu_model *, CUdeviceptr dy, CUdeviceptr x, long len);

struct gpu_norm {
	CUdeviceptr w, bias, dw, dbias, stat;
};
void gpu_norm(struct gpu_model *, const struct gpu_norm *, CUdeviceptr y,
              CUdeviceptr x);
void gpu_norm_back(struct gpu_model *, const struct gpu_norm *, CUdeviceptr dx,
                   CUdeviceptr dy, CUdeviceptr x, bool add);

void gpu_attention(struct gpu_model *, CUdeviceptr mix, CUdeviceptr probs,
                   CUdeviceptr qkv);
void gpu_attention_back(struct gpu_model *, CUdeviceptr dqkv,
                        CUdeviceptr dprobs, CUdeviceptr dmix, CUdeviceptr probs,
                        CUdeviceptr qkv);

void gpu_embed(struct gpu_model *, CUdeviceptr out, CUdeviceptr token,
               CUdeviceptr place, CUdeviceptr in);
void gpu_embed_back(struct gpu_model *, CUdeviceptr dtoken, CUdeviceptr dplace,
                    CUdeviceptr dout, CUdeviceptr in, bool add);

/* The mean goes to out->loss, or is added to it. */
void gpu_loss(struct gpu_model *, CUdeviceptr loss, CUdeviceptr dlogits,
              CUdeviceptr logits, CUdeviceptr want, float scale, bool add);

/* The norm of the gradients and the optimizer's step, by in and out. */
void gpu_adamw(struct gpu_model *);

#endif
