#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Removes an incomplete UTF-8 character at the end of text. */
static void cut_clean(char *text)
{
        size_t len = strlen(text);
        for (size_t n = 1; n <= 3 && n <= len; n++) {
                unsigned char c = (unsigned char)text[len - n];
                if (c < 0x80)
                        return;
                if (c >= 0xc0) {
                        if (n < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u))
                                text[len - n] = '\0';
                        return;
                }
        }
}

/* Replaces control characters and invalid UTF-8 by '?'.  Messages quote foreign text, which must not
 * control a terminal or add a line, and JSON must be UTF-8.  A precision in the format ("%.80s") can also
 * cut a character in the middle of the text. */
static void clean(char *text, bool was_cut)
{
        if (was_cut)
                cut_clean(text);
        for (char *p = text, *end = text + strlen(text); p < end;) {
                size_t n = utf8_len(p, (size_t)(end - p));
                if (n == 0 || (n == 1 && (*p < ' ' || *p == 0x7f)))
                        *p = '?';
                p += n > 0 ? n : 1;
        }
}

__attribute__((format(printf, 4, 0))) static int fill(struct cella_err *err, enum cella_kind kind, int num,
                                                      const char *format, va_list ap)
{
        if (!err)
                return num;
        err->kind = kind;
        err->num = num;
        err->hint[0] = '\0';
        int n = vsnprintf(err->msg, sizeof err->msg, format,
                          ap); /* the compiler checks format at the callers */
        clean(err->msg, n >= (int)sizeof err->msg);
        return num;
}

int(err_set)(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
{
        va_list ap;
        va_start(ap, format);
        if ((kind == CELLA_INTERNAL || kind == CELLA_ISOLATION_UNAVAILABLE) &&
            (num == -EMFILE || num == -ENFILE))
                kind = CELLA_OVER_CAPACITY;
        fill(err, kind, num, format, ap);
        va_end(ap);
        if (err) {
                size_t used = strlen(err->msg);
                snprintf(err->msg + used, sizeof err->msg - used, ": %s", strerror(-num));
        }
        return num;
}

int(err_say)(struct cella_err *err, enum cella_kind kind, int num, const char *format, ...)
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
        int n = vsnprintf(err->hint, sizeof err->hint, format, ap);
        va_end(ap);
        clean(err->hint, n >= (int)sizeof err->hint);
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
