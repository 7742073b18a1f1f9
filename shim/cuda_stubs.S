/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported names of the driver, dlopen and dlsym, as tail jumps: the driver
 * sees the caller's registers, stack and return address.
 *
 * cuX jumps to hz_cu_entry[X]. At first that is lazy_X, which asks
 * hz_cu_resolve() where to go and stores nothing itself. dlopen lets
 * hz_cu_dlopen_name() replace the name and jumps to the next dlopen, which
 * finds its caller by the return address; dlsym lets hz_cu_dlsym_handle()
 * replace the handle, and does the same.
 */
#if defined(__x86_64__)

	.macro	SAVE
	pushq	%rbp
	movq	%rsp, %rbp
	andq	$-16, %rsp
	subq	$192, %rsp
	movq	%rdi, 0(%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%r8, 32(%rsp)
	movq	%r9, 40(%rsp)
	movq	%rax, 48(%rsp)
	movaps	%xmm0, 64(%rsp)
	movaps	%xmm1, 80(%rsp)
	movaps	%xmm2, 96(%rsp)
	movaps	%xmm3, 112(%rsp)
	movaps	%xmm4, 128(%rsp)
	movaps	%xmm5, 144(%rsp)
	movaps	%xmm6, 160(%rsp)
	movaps	%xmm7, 176(%rsp)
	.endm

	.macro	RESTORE
	movq	0(%rsp), %rdi
	movq	8(%rsp), %rsi
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rcx
	movq	32(%rsp), %r8
	movq	40(%rsp), %r9
	movq	48(%rsp), %rax
	movaps	64(%rsp), %xmm0
	movaps	80(%rsp), %xmm1
	movaps	96(%rsp), %xmm2
	movaps	112(%rsp), %xmm3
	movaps	128(%rsp), %xmm4
	movaps	144(%rsp), %xmm5
	movaps	160(%rsp), %xmm6
	movaps	176(%rsp), %xmm7
	movq	%rbp, %rsp
	popq	%rbp
	.endm

	.macro	FORWARD name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	jmp	*hz_cu_entry + 8 * index(%rip)
	.size	\name, . - \name
lazy_\name:
	movl	$index, %r11d
	jmp	lazy
	.endm

	.text
	.type	lazy, @function
lazy:
	SAVE
	movl	%r11d, %edi
	call	hz_cu_resolve
	movq	%rax, %r11
	RESTORE
	jmp	*%r11
	.size	lazy, . - lazy

	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	SAVE
	call	hz_cu_dlopen_name
	movq	%rax, 0(%rsp)
	call	hz_cu_next_dlopen
	movq	%rax, %r11
	RESTORE
	jmp	*%r11
	.size	dlopen, . - dlopen

	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	SAVE
	call	hz_cu_dlsym_handle
	movq	%rax, 0(%rsp)
	call	hz_cu_next_dlsym
	movq	%rax, %r11
	RESTORE
	jmp	*%r11
	.size	dlsym, . - dlsym

#elif defined(__aarch64__)

	.macro	SAVE
	stp	x29, x30, [sp, #-224]!
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	str	x8, [sp, #80]
	stp	q0, q1, [sp, #96]
	stp	q2, q3, [sp, #128]
	stp	q4, q5, [sp, #160]
	stp	q6, q7, [sp, #192]
	.endm

	.macro	RESTORE
	ldp	x0, x1, [sp, #16]
	ldp	x2, x3, [sp, #32]
	ldp	x4, x5, [sp, #48]
	ldp	x6, x7, [sp, #64]
	ldr	x8, [sp, #80]
	ldp	q0, q1, [sp, #96]
	ldp	q2, q3, [sp, #128]
	ldp	q4, q5, [sp, #160]
	ldp	q6, q7, [sp, #192]
	ldp	x29, x30, [sp], #224
	.endm

	.macro	FORWARD name
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	hint	#34	/* bti c */
	adrp	x16, hz_cu_entry + 8 * index
	ldr	x16, [x16, :lo12:hz_cu_entry + 8 * index]
	br	x16
	.size	\name, . - \name
lazy_\name:
	hint	#36	/* bti j */
	mov	w17, #index
	b	lazy
	.endm

	.text
	.type	lazy, %function
lazy:
	SAVE
	mov	w0, w17
	bl	hz_cu_resolve
	mov	x16, x0
	RESTORE
	br	x16
	.size	lazy, . - lazy

	.globl	dlopen
	.type	dlopen, %function
	.p2align 4
dlopen:
	hint	#34
	SAVE
	bl	hz_cu_dlopen_name
	str	x0, [sp, #16]
	bl	hz_cu_next_dlopen
	mov	x16, x0
	RESTORE
	br	x16
	.size	dlopen, . - dlopen

	.globl	dlsym
	.type	dlsym, %function
	.p2align 4
dlsym:
	hint	#34
	SAVE
	bl	hz_cu_dlsym_handle
	str	x0, [sp, #16]
	bl	hz_cu_next_dlsym
	mov	x16, x0
	RESTORE
	br	x16
	.size	dlsym, . - dlsym

#else
#error "no forwarders to the CUDA driver for this processor"
#endif

	.set	index, 0
#define HZ_CU(name_) FORWARD name_; .set index, index + 1;
#include "cuda_names.def"
#undef HZ_CU

	.section .data.rel.local, "aw"
	.hidden	hz_cu_entry
	.globl	hz_cu_entry
	.p2align 3
hz_cu_entry:
#define HZ_CU(name_) .quad lazy_##name_;
#include "cuda_names.def"
	.size	hz_cu_entry, . - hz_cu_entry

	.section .note.GNU-stack, "", %progbits
