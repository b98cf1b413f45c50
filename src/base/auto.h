/* base/auto.h -- cleanup at the end of a scope.
 *
 *      AUTO(thing_free) struct thing *t = NULL;    frees t on every way out
 *      *ret = TAKE(t);                             hands it over instead
 *
 * DEFINE_AUTO(type, fn) makes fn usable with AUTO; fn gets the value. */
#pragma once

#define AUTO(fn) __attribute__((cleanup(fn##_auto)))

/* NOLINTBEGIN(bugprone-macro-parentheses): a type cannot have any */
#define DEFINE_AUTO(type, fn)                                                                                \
        static inline void fn##_auto(type *p)                                                                \
        {                                                                                                    \
                fn(*p);                                                                                      \
        }

/* NOLINTEND(bugprone-macro-parentheses) */

#define TAKE(p)                                                                                              \
        __extension__({                                                                                      \
                __typeof__(p) taken_ = (p);                                                                  \
                (p) = (__typeof__(p))0;                                                                      \
                taken_;                                                                                      \
        })

/* The same for descriptors, whose "nothing" is -1. */
#define TAKE_FD(fd)                                                                                          \
        __extension__({                                                                                      \
                int taken_ = (fd);                                                                           \
                (fd) = -1;                                                                                   \
                taken_;                                                                                      \
        })

#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

/* Of variables that are large and rarely used: behind all others, which are few pages then.  Init is started
 * so often that each page it touches counts. */
#define BULKY __attribute__((section(".bss.zz_large")))
