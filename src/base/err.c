#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 4, 0))) static int fill(struct cella_err *err, enum cella_kind kind, int num,
                                                      const char *format, va_list ap)
{
        if (!err)
                return num;
        err->kind = kind;
        err->num = num;
        err->hint[0] = '\0';
        vsnprintf(err->msg, sizeof err->msg, format, ap); /* checked where it is called */
        /* Messages quote what came from outside; it must not write on a terminal, or a second line. */
        for (char *p = err->msg; *p; p++)
                if ((unsigned char)*p < ' ' || *p == 0x7f)
                        *p = '?';
        return num;
}

int err_set(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
{
        va_list ap;
        va_start(ap, format);
        fill(err, kind, num, format, ap);
        va_end(ap);
        if (err) {
                size_t used = strlen(err->msg);
                snprintf(err->msg + used, sizeof err->msg - used, ": %s", strerror(-num));
        }
        return num;
}

int err_say(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
{
        va_list ap;
        va_start(ap, format);
        fill(err, kind, num, format, ap);
        va_end(ap);
        return num;
}

int err_hint(struct cella_err *err, const char *format, ...)
{
        if (!err)
                return -EIO;
        va_list ap;
        va_start(ap, format);
        vsnprintf(err->hint, sizeof err->hint, format, ap);
        va_end(ap);
        return err->num;
}

const char *cella_kind_name(enum cella_kind kind)
{
        static const char *const names[] = {
                [CELLA_OK] = "ok",
                [CELLA_INVALID_REQUEST] = "invalid_request",
                [CELLA_NOT_FOUND] = "not_found",
                [CELLA_RUNTIME_NOT_FOUND] = "runtime_not_found",
                [CELLA_TOO_LARGE] = "too_large",
                [CELLA_ENGINE_UNAVAILABLE] = "engine_unavailable",
                [CELLA_ISOLATION_UNAVAILABLE] = "isolation_unavailable",
                [CELLA_INTERNAL] = "internal",
                [CELLA_UNAUTHORIZED] = "unauthorized",
                [CELLA_ACCESS_DENIED] = "access_denied",
                [CELLA_SCAN_REFUSED] = "scan_refused",
                [CELLA_OVER_CAPACITY] = "over_capacity",
        };
        if ((size_t)kind >= sizeof names / sizeof *names)
                return "internal";
        return names[kind];
}
