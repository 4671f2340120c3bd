/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Takes the place of a kernel's own loader, which would unpack it: the kernel lies in memory already.
 *
 *   firmware ──► setup of the kernel's image ──► here, 32 bits, esi = boot_params ──► startup_64 of the kernel
 *
 * Boot protocol: Documentation/arch/x86/boot.rst (xloadflags: 0x236, bit 6: five levels of page tables are enabled). What is
 * mapped is the first 4 GiB, each byte at its own address.
 */
	.set	TABLES, 0x110000
	.set	FIVE, TABLES		/* top of five levels */
	.set	FOUR, TABLES + 0x1000	/* top of four */
	.set	THIRD, TABLES + 0x2000
	.set	SECOND, TABLES + 0x3000	/* four pages of it: 2 MiB an entry */

	.code32
	.globl	_start
_start:
	cli
	cld
	/* Empty tables. */
	movl	$TABLES, %edi
	xorl	%eax, %eax
	movl	$(0x7000 / 4), %ecx
	rep stosl
	movl	$(FOUR + 3), FIVE
	movl	$(THIRD + 3), FOUR
	movl	$(SECOND + 3), %eax
	xorl	%ecx, %ecx
1:	movl	%eax, THIRD(, %ecx, 8)
	addl	$0x1000, %eax
	incl	%ecx
	cmpl	$4, %ecx
	jb	1b
	movl	$0x83, %eax
	xorl	%ecx, %ecx
2:	movl	%eax, SECOND(, %ecx, 8)
	addl	$0x200000, %eax
	incl	%ecx
	cmpl	$2048, %ecx
	jb	2b

	/* Five levels where kernel and processor have them, as the kernel's own loader decides. */
	movl	$FOUR, %ebp
	movl	$0x20, %edi		/* CR4.PAE */
	testb	$0x40, 0x236(%esi)
	jz	3f
	xorl	%eax, %eax
	cpuid
	cmpl	$7, %eax
	jb	3f
	movl	$7, %eax
	xorl	%ecx, %ecx
	cpuid
	btl	$16, %ecx
	jnc	3f
	movl	$FIVE, %ebp
	orl	$0x1000, %edi		/* CR4.LA57 */
3:	movl	%cr4, %eax
	orl	%edi, %eax
	movl	%eax, %cr4
	movl	%ebp, %cr3
	movl	$0xc0000080, %ecx	/* EFER.LME */
	rdmsr
	btsl	$8, %eax
	wrmsr
	lgdt	gdt_pointer
	movl	%cr0, %eax
	orl	$0x80000001, %eax
	movl	%eax, %cr0
	ljmp	$0x10, $long

	.code64
long:
	movl	$0x18, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movl	%esi, %esi		/* the upper half is not defined so far */
	movl	$ENTRY, %eax
	jmp	*%rax

	.balign	8
gdt:
	.quad	0, 0
	.quad	0x00af9a000000ffff	/* __BOOT_CS, 64 bits */
	.quad	0x00cf92000000ffff	/* __BOOT_DS */
gdt_pointer:
	.word	. - gdt - 1
	.long	gdt
