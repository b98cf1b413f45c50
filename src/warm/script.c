/* warm/script.c -- functions of libc by which a file is looked at, under every name that an interpreter may
 * have them by: which depends on its libc.  They go on to what is behind them. */
#include "warm/script.h"

#include "warm/bare.h"

#define PUBLIC __attribute__((visibility("default")))
#define NEXT_LIBRARY ((void *)-1l)

extern void *dlsym(void *, const char *) __attribute__((weak));

static struct {
        const char *path, *code; /* NULL: it is written */
        const char *directory;   /* NULL: nobody wants to know */
        size_t length;
} unwritten;

int script_give(const char *path, const char *directory, const char *code, size_t length, int later)
{
        if (!later)
                return bare_write_script(path, code, length);
        unwritten.path = path;
        unwritten.directory = directory;
        unwritten.code = code;
        unwritten.length = length;
        return 0;
}

static void write_now(void)
{
        const char *path = unwritten.path;
        unwritten.path = 0;
        if (path)
                bare_write_script(path, unwritten.code, unwritten.length);
}

/* Whoever looks for a module asks for the directory first: whether it is one, or has changed. */
static void looked_at(const char *path)
{
        if (!unwritten.directory || !path)
                return;
        if (bare_same(path, unwritten.directory)) {
                unwritten.directory = 0;
                write_now();
                script_searched();
        } else if (unwritten.path && bare_same(path, unwritten.path)) {
                write_now();
        }
}

/* The function of this name that we stand before.
 * NOLINTBEGIN(bugprone-macro-parentheses): names */
#define NEXT(next, name)                                                                                     \
        static __typeof__(&name) next;                                                                       \
        if (!next)                                                                                           \
        *(void **)&next = dlsym(NEXT_LIBRARY, #name)
/* NOLINTEND(bugprone-macro-parentheses) */

PUBLIC void *fopen(const char *path, const char *mode);
PUBLIC void *fopen64(const char *path, const char *mode);
PUBLIC int open(const char *path, int flags, ...);
PUBLIC int open64(const char *path, int flags, ...);
PUBLIC int stat(const char *path, void *ret);
PUBLIC int stat64(const char *path, void *ret);
PUBLIC int __xstat(int version, const char *path, void *ret);
PUBLIC int __xstat64(int version, const char *path, void *ret);

void *fopen(const char *path, const char *mode)
{
        NEXT(next, fopen);
        script_wanted(path);
        looked_at(path);
        return next ? next(path, mode) : 0;
}

void *fopen64(const char *path, const char *mode)
{
        NEXT(next, fopen64);
        script_wanted(path);
        looked_at(path);
        return next ? next(path, mode) : 0;
}

int open(const char *path, int flags, ...)
{
        BARE_MODE(flags, mode);
        NEXT(next, open);
        looked_at(path);
        return next ? next(path, flags, mode) : -1;
}

int open64(const char *path, int flags, ...)
{
        BARE_MODE(flags, mode);
        NEXT(next, open64);
        looked_at(path);
        return next ? next(path, flags, mode) : -1;
}

int stat(const char *path, void *ret)
{
        NEXT(next, stat);
        looked_at(path);
        return next ? next(path, ret) : -1;
}

int stat64(const char *path, void *ret)
{
        NEXT(next, stat64);
        looked_at(path);
        return next ? next(path, ret) : -1;
}

int __xstat(int version, const char *path, void *ret)
{
        NEXT(next, __xstat);
        looked_at(path);
        return next ? next(version, path, ret) : -1;
}

int __xstat64(int version, const char *path, void *ret)
{
        NEXT(next, __xstat64);
        looked_at(path);
        return next ? next(version, path, ret) : -1;
}
