/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each device kernel should compute, in double precision and in the
 * plainest way, for the test to compare with.
 */
#ifndef KERNEL_REFERENCE_H
#define KERNEL_REFERENCE_H

#include <stdint.h>
#include "launch.h"
#include "model.h"

/* a_k, b_k: k goes along the rows of A, of B. bias, plus: may be NULL. */
void ref_product(double *c, const double *a, const double *b,
                 const double *bias, const double *plus,
                 const struct gemm_shape *, int batch, bool a_k, bool b_k);
void ref_sum_columns(double *out, const double *x, int rows, int width);
double ref_gelu(double x);
double ref_gelu_slope(double x);
void ref_norm(double *y, double *stat, const double *x, const double *w,
              const double *bias, int rows, int width);
/* dx, dw, dbias: added to. */
void ref_norm_back(double *dx, double *dw, double *dbias, const double *dy,
                   const double *x, const double *w, int rows, int width);
void ref_attention(const struct shape *, double *mix, double *probs,
                   const double *qkv);
void ref_attention_back(const struct shape *, double *dqkv, const double *dmix,
                        const double *probs, const double *qkv);
double ref_loss(double *d, const double *logits, int want, double scale);

#endif
