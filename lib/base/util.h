/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small things that every file may use: sizes, alignment, cleanup.
 */
#ifndef HZ_UTIL_H
#define HZ_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The unit of host tiering: one transparent huge page on x86-64 and on
 * arm64 with 4 KiB pages. */
#define HZ_BLOCK_SHIFT 21
#define HZ_BLOCK_SIZE  ((size_t)1 << HZ_BLOCK_SHIFT)

/* The unit in which ranges are packed inside blocks. */
#define HZ_UNIT_SHIFT	   16
#define HZ_UNIT_SIZE	   ((size_t)1 << HZ_UNIT_SHIFT)
#define HZ_UNITS_PER_BLOCK (1u << (HZ_BLOCK_SHIFT - HZ_UNIT_SHIFT))

#define HZ_PAGE_SIZE ((size_t)4096)

#define HZ_NONE UINT32_MAX /* "no block", "no frame", "no slot" */

#define hz_align_up(x_, a_)   (((x_) + ((a_)-1)) & ~((__typeof__(x_))(a_)-1))
#define hz_align_down(x_, a_) ((x_) & ~((__typeof__(x_))(a_)-1))
#define hz_array_len(a_)      (sizeof(a_) / sizeof((a_)[0]))
#define hz_likely(x_)	      __builtin_expect(!!(x_), 1)
#define hz_unlikely(x_)	      __builtin_expect(!!(x_), 0)
#define hz_cleanup(f_)	      __attribute__((cleanup(f_)))
#define hz_container_of(p_, t_, m_) \
	((t_ *)((char *)(p_)-offsetof(t_, m_)))

#define hz_min(a_, b_)                        \
	({                                    \
		__typeof__(a_) hz_a_ = (a_);  \
		__typeof__(b_) hz_b_ = (b_);  \
		hz_a_ < hz_b_ ? hz_a_ : hz_b_; \
	})
#define hz_max(a_, b_)                        \
	({                                    \
		__typeof__(a_) hz_a_ = (a_);  \
		__typeof__(b_) hz_b_ = (b_);  \
		hz_a_ > hz_b_ ? hz_a_ : hz_b_; \
	})

#endif
