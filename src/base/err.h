/* base/err.h -- filling in the caller's struct cella_err. */
#pragma once
#include "cella.h"

/* Sets *err (which may be NULL) and returns num, which is -errno; so that
 * `return err_set(...)` reads well.  The text of the errno is added to the message.  Out of descriptors is
 * over capacity, whatever it was for. */
int err_set(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* The same without the text of the errno: where the message already says it all. */
int err_say(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

#ifdef __clang_analyzer__ /* it does not look into another file, and would take the number for any */
#define ERR_NUMBER(function, err, kind, num, ...)                                                            \
        __extension__({                                                                                      \
                int num_ = (num);                                                                            \
                (function)((err), (kind), num_, __VA_ARGS__);                                                \
                num_;                                                                                        \
        })
#define err_set(...) ERR_NUMBER(err_set, __VA_ARGS__)
#define err_say(...) ERR_NUMBER(err_say, __VA_ARGS__)
#endif

/* Adds what to do about it.  Returns err->num (with err NULL: -EIO). */
int err_hint(struct cella_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
