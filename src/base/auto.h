/* base/auto.h -- cleanup at the end of a scope.
 *
 *      AUTO(thing_free) struct thing *t = NULL;    calls thing_free(t) wherever the scope is left
 *      *ret = TAKE(t);                             transfers ownership instead
 *
 * DEFINE_AUTO(type, fn) makes fn usable with AUTO; fn is called with the variable's value.
 * DEFINE_AUTO_DONE(type, fn): the same, but fn is called with the variable's address. */
#pragma once

#define AUTO(fn) __attribute__((cleanup(fn##_auto)))

/* NOLINTBEGIN(bugprone-macro-parentheses): a type cannot be in parentheses */
#define DEFINE_AUTO(type, fn)                                                                                \
        static inline void fn##_auto(type *p)                                                                \
        {                                                                                                    \
                fn(*p);                                                                                      \
        }
#define DEFINE_AUTO_DONE(type, fn)                                                                           \
        static inline void fn##_auto(type *p)                                                                \
        {                                                                                                    \
                fn(p);                                                                                       \
        }

/* NOLINTEND(bugprone-macro-parentheses) */

#define TAKE(p)                                                                                              \
        __extension__({                                                                                      \
                __typeof__(p) taken_ = (p);                                                                  \
                (p) = (__typeof__(p))0;                                                                      \
                taken_;                                                                                      \
        })

/* TAKE() for descriptors: sets fd to -1 and returns the old value. */
#define TAKE_FD(fd)                                                                                          \
        __extension__({                                                                                      \
                int taken_ = (fd);                                                                           \
                (fd) = -1;                                                                                   \
                taken_;                                                                                      \
        })

#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

/* For large variables that are rarely used.  Places them behind all other variables, so that the frequently
 * used ones share few pages.  init is started so often that each page it touches costs measurable time. */
#define BULKY __attribute__((section(".bss.zz_large")))
