/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checksums for every CPU of the architecture (SSE2, NEON).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#define VARIANT	  hz_checksum_base
#define NAME	  "base"
#define SUPPORTED true
#include "checksum_body.h"
