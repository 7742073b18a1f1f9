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
 *
 * A stack can be unwound from every instruction here: what runs inside of
 * hz_cu_resolve(), a driver's constructor or a handler of a signal, may want
 * to. Whatever an indirect jump can reach begins with the mark for it.
 */
#if defined(__x86_64__)

	.macro	SAVE
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
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
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	.endm

	.macro	FORWARD name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	jmp	*hz_cu_entry + 8 * index(%rip)
	.cfi_endproc
	.size	\name, . - \name
	.type	lazy_\name, @function
lazy_\name:
	.cfi_startproc
	endbr64
	movl	$index, %r11d
	jmp	lazy
	.cfi_endproc
	.size	lazy_\name, . - lazy_\name
	.endm

	.text
	.type	lazy, @function
lazy:
	.cfi_startproc
	SAVE
	movl	%r11d, %edi
	call	hz_cu_resolve
	movq	%rax, %r11
	RESTORE
	jmp	*%r11
	.cfi_endproc
	.size	lazy, . - lazy

	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	.cfi_startproc
	endbr64
	SAVE
	call	hz_cu_dlopen_name
	movq	%rax, 0(%rsp)
	call	hz_cu_next_dlopen
	movq	%rax, %r11
	RESTORE
	jmp	*%r11
	.cfi_endproc
	.size	dlopen, . - dlopen

	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	SAVE
	call	hz_cu_dlsym_handle
	movq	%rax, 0(%rsp)
	call	hz_cu_next_dlsym
	movq	%rax, %r11
	RESTORE
	jmp	*%r11
	.cfi_endproc
	.size	dlsym, . - dlsym

/* What this file says of itself; the linker says it of the whole library if
 * all parts of it do: indirect jumps land on their marks (1), and returns go
 * where calls came from (2). */
	.section .note.gnu.property, "a"
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000002, 4, 3, 0

#elif defined(__aarch64__)

	.macro	SAVE
	stp	x29, x30, [sp, #-224]!
	.cfi_def_cfa_offset 224
	.cfi_offset 29, -224
	.cfi_offset 30, -216
	mov	x29, sp
	.cfi_def_cfa_register 29
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
	.cfi_def_cfa 31, 0
	.cfi_restore 30
	.cfi_restore 29
	.endm

	.macro	FORWARD name
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	hint	#34	/* bti c */
	adrp	x16, hz_cu_entry + 8 * index
	ldr	x16, [x16, :lo12:hz_cu_entry + 8 * index]
	br	x16
	.cfi_endproc
	.size	\name, . - \name
	.type	lazy_\name, %function
lazy_\name:
	.cfi_startproc
	hint	#36	/* bti j */
	mov	w17, #index
	b	lazy
	.cfi_endproc
	.size	lazy_\name, . - lazy_\name
	.endm

	.text
	.type	lazy, %function
lazy:
	.cfi_startproc
	SAVE
	mov	w0, w17
	bl	hz_cu_resolve
	mov	x16, x0
	RESTORE
	br	x16
	.cfi_endproc
	.size	lazy, . - lazy

	.globl	dlopen
	.type	dlopen, %function
	.p2align 4
dlopen:
	.cfi_startproc
	hint	#34
	SAVE
	bl	hz_cu_dlopen_name
	str	x0, [sp, #16]
	bl	hz_cu_next_dlopen
	mov	x16, x0
	RESTORE
	br	x16
	.cfi_endproc
	.size	dlopen, . - dlopen

	.globl	dlsym
	.type	dlsym, %function
	.p2align 4
dlsym:
	.cfi_startproc
	hint	#34
	SAVE
	bl	hz_cu_dlsym_handle
	str	x0, [sp, #16]
	bl	hz_cu_next_dlsym
	mov	x16, x0
	RESTORE
	br	x16
	.cfi_endproc
	.size	dlsym, . - dlsym

/* As above: branches land on their marks. */
	.section .note.gnu.property, "a"
	.p2align 3
	.long	4, 16, 5
	.asciz	"GNU"
	.long	0xc0000000, 4, 1, 0

#else
#error "no forwarders to the CUDA driver for this processor"
#endif

	.text
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
