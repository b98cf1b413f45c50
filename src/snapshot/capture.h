/* snapshot/capture.h -- the registers that a function call preserves: setjmp() without a libc. */
#pragma once
#include "snapshot/template.h"

/* Returns 0; and once more in each process that was restored from here, with 1. */
int capture(struct template_registers *registers) __attribute__((returns_twice, noinline));

#if defined __x86_64__
#define CAPTURE_STACK(r) ((r)->saved[6])
__asm__(".text\n.globl capture\n.hidden capture\n.type capture, @function\ncapture:\n"
        "mov %rbx, 0(%rdi)\nmov %rbp, 8(%rdi)\nmov %r12, 16(%rdi)\nmov %r13, 24(%rdi)\n"
        "mov %r14, 32(%rdi)\nmov %r15, 40(%rdi)\n"
        "lea 8(%rsp), %rax\nmov %rax, 48(%rdi)\nmov (%rsp), %rax\nmov %rax, 56(%rdi)\n"
        "xor %eax, %eax\nret\n.size capture, . - capture\n");
#elif defined __aarch64__
#define CAPTURE_STACK(r) ((r)->saved[12])
__asm__(".text\n.globl capture\n.hidden capture\n.type capture, %function\ncapture:\n"
        "stp x19, x20, [x0]\nstp x21, x22, [x0, 16]\nstp x23, x24, [x0, 32]\nstp x25, x26, [x0, 48]\n"
        "stp x27, x28, [x0, 64]\nstp x29, x30, [x0, 80]\nmov x1, sp\nstr x1, [x0, 96]\n"
        "stp d8, d9, [x0, 104]\nstp d10, d11, [x0, 120]\nstp d12, d13, [x0, 136]\n"
        "stp d14, d15, [x0, 152]\nmov x0, 0\nret\n.size capture, . - capture\n");
#endif
