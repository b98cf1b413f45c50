#include "tally.h"

#include <stdarg.h>
#include <stdio.h>

#define PRINT(word)                                                                                          \
        do {                                                                                                 \
                va_list ap;                                                                                  \
                printf(word " attack %s: ", name);                                                           \
                va_start(ap, format);                                                                        \
                vprintf(format, ap);                                                                         \
                va_end(ap);                                                                                  \
                printf("\n");                                                                                \
        } while (0)

void tally_pass(struct tally *t, const char *name, const char *format, ...)
{
        t->passed++;
        PRINT("ok");
}

void tally_fail(struct tally *t, const char *name, const char *format, ...)
{
        t->failed++;
        PRINT("FAIL");
}

void tally_skip(struct tally *t, const char *name, const char *format, ...)
{
        t->skipped++;
        PRINT("skip");
}
