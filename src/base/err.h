/* base/err.h -- fills in the caller's struct cella_err. */
#pragma once
#include "cella.h"

/* Sets *err (err may be NULL), appends the text of the errno to the message, and returns num, which is
 * -errno, for use as `return err_set(...)`.  -EMFILE and -ENFILE change the kinds CELLA_INTERNAL and
 * CELLA_ISOLATION_UNAVAILABLE to CELLA_OVER_CAPACITY. */
int err_set(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

/* Same as err_set(), but does not append the text of the errno and does not change the kind. */
int err_say(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

#ifdef __clang_analyzer__ /* The analyzer does not see err.c and would assume that any number can be         \
                             returned. */
#define ERR_NUMBER(function, err, kind, num, ...)                                                            \
        __extension__({                                                                                      \
                int num_ = (num);                                                                            \
                (function)((err), (kind), num_, __VA_ARGS__);                                                \
                num_;                                                                                        \
        })
#define err_set(...) ERR_NUMBER(err_set, __VA_ARGS__)
#define err_say(...) ERR_NUMBER(err_say, __VA_ARGS__)
#endif

/* The beginning of the message about a program that the sandbox does not have. */
#define COMMAND_NOT_FOUND "command not found: "

/* Sets the hint: what the user can do about the error.  Returns err->num, or -EIO if err is NULL. */
int err_hint(struct cella_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
