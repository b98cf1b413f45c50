/* sys/raw.h -- system calls that return -errno and do not set errno.
 *
 * libc's syscall() sets errno, and a helper that shares memory with its parent (such as the one that
 * creates a network namespace, see jail/netns.c) would overwrite the parent's errno. */
#pragma once
#include <sys/syscall.h>

/* Excluded from gcov: on aarch64, the code of the counter would overwrite x0 between its assignment and
 * `svc`. */
__attribute__((no_profile_instrument_function)) static inline long sys_call6(long nr, long a, long b, long c,
                                                                             long d, long e, long f)
{
#if defined __x86_64__
        long ret;
        register long r10 __asm__("r10") = d;
        register long r8 __asm__("r8") = e;
        register long r9 __asm__("r9") = f;
        __asm__ volatile("syscall"
                         : "=a"(ret)
                         : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        return ret;
#elif defined __aarch64__
        register long x8 __asm__("x8") = nr;
        register long x0 __asm__("x0") = a;
        register long x1 __asm__("x1") = b;
        register long x2 __asm__("x2") = c;
        register long x3 __asm__("x3") = d;
        register long x4 __asm__("x4") = e;
        register long x5 __asm__("x5") = f;
        __asm__ volatile("svc 0"
                         : "+r"(x0)
                         : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                         : "memory");
        return x0;
#else
#error "cella runs on x86-64 and aarch64"
#endif
}

#define sys_call0(nr) sys_call6((nr), 0, 0, 0, 0, 0, 0)
#define sys_call1(nr, a) sys_call6((nr), (long)(a), 0, 0, 0, 0, 0)
#define sys_call2(nr, a, b) sys_call6((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define sys_call3(nr, a, b, c) sys_call6((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys_call4(nr, a, b, c, d) sys_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys_call5(nr, a, b, c, d, e) sys_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
