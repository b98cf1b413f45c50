/* snapshot/bare.h -- helper functions for programs without a libc. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "sys/raw.h"

#define BARE_AT_FDCWD (-100)
#define BARE_NEW 02001101 /* O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC */

static inline size_t bare_strlen(const char *s)
{
        size_t n = 0;
        while (s[n])
                n++;
        return n;
}

static inline int bare_same(const char *a, const char *b)
{
        for (; *a && *a == *b; a++, b++)
                continue;
        return *a == *b;
}

static inline int bare_is_zero(const void *page, size_t len)
{
        const uint64_t *x = page;
        for (size_t i = 0; i < len / 8; i++)
                if (x[i])
                        return 0;
        return 1;
}

/* Parses a hexadecimal number and advances *at past it. */
static inline uint64_t bare_hex(const char **at)
{
        uint64_t value = 0;
        for (;; (*at)++) {
                char c = **at;
                if (c >= '0' && c <= '9')
                        value = value * 16 + (uint64_t)(c - '0');
                else if (c >= 'a' && c <= 'f')
                        value = value * 16 + (uint64_t)(c - 'a' + 10);
                else
                        return value;
        }
}

/* Writes the code to `path`, where tracebacks and child processes expect it. */
static inline int bare_write_script(const char *path, const char *code, size_t length)
{
        long fd = sys_call4(SYS_openat, BARE_AT_FDCWD, path, BARE_NEW, 0644);
        while (fd >= 0 && length > 0) {
                long n = sys_call3(SYS_write, fd, code, length);
                if (n <= 0)
                        return -1;
                code += n;
                length -= (size_t)n;
        }
        return fd < 0 ? -1 : (int)sys_call1(SYS_close, fd);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): names. Reads the optional `mode` argument of an open() wrapper. */
#define BARE_TAKES_MODE 020000100 /* O_CREAT, or the bit that only O_TMPFILE has */
#define BARE_MODE(flags, mode)                                                                               \
        __builtin_va_list arguments;                                                                         \
        __builtin_va_start(arguments, flags);                                                                \
        unsigned mode = (flags)&BARE_TAKES_MODE ? __builtin_va_arg(arguments, unsigned) : 0;                 \
        __builtin_va_end(arguments)
/* NOLINTEND(bugprone-macro-parentheses) */

/* Field N of /proc/self/stat, counted from 1 as in proc(5); N > 2. */
static inline uint64_t bare_stat_field(const char *stat, int n)
{
        const char *p = stat;
        uint64_t value = 0;
        for (const char *q = stat; *q; q++)
                if (*q == ')') /* the last parenthesis: the name before it may contain others */
                        p = q;
        for (int field = 2; field < n && *p; p++)
                field += *p == ' ';
        while (*p >= '0' && *p <= '9')
                value = value * 10 + (uint64_t)(*p++ - '0');
        return value;
}

/* One line of /proc/self/maps. */
struct bare_map {
        uint64_t start, end, offset;
        int readable, writable, executable, shared;
        const char *name; /* "" if it has none; bare_next_map() ends it with a NUL in the text */
};

/* Parses the line at *at of a text that ends in NUL; returns 0 at its end. */
static inline int bare_next_map(char **at, struct bare_map *ret)
{
        const char *p = *at;
        if (!*p)
                return 0;
        ret->start = bare_hex(&p);
        p++;
        ret->end = bare_hex(&p);
        ret->readable = p[1] == 'r';
        ret->writable = p[2] == 'w';
        ret->executable = p[3] == 'x';
        ret->shared = p[4] == 's';
        p += 6;
        ret->offset = bare_hex(&p);
        for (int words = 0; words < 2; words++) { /* device, inode */
                while (*p == ' ')
                        p++;
                while (*p && *p != ' ' && *p != '\n')
                        p++;
        }
        while (*p == ' ')
                p++;
        ret->name = p;
        while (*p && *p != '\n')
                p++;
        *at = *p ? (char *)p + 1 : (char *)p;
        *(char *)p = '\0';
        return 1;
}

/* Reads a small file and appends a NUL. Returns its length or -errno. */
static inline long bare_read_file(const char *path, char *buffer, size_t size)
{
        long fd = sys_call4(SYS_openat, BARE_AT_FDCWD, path, 02000000, 0); /* O_RDONLY | O_CLOEXEC */
        size_t at = 0;
        long n = fd;
        while (n >= 0 && at < size - 1 && (n = sys_call3(SYS_read, fd, buffer + at, size - 1 - at)) > 0)
                at += (size_t)n;
        if (fd >= 0)
                sys_call1(SYS_close, fd);
        buffer[at] = '\0';
        return n < 0 ? n : at == size - 1 ? -27 : (long)at; /* EFBIG */
}

/* Returns the number of threads, or a number that differs for each number of threads; 0: unknown. */
static inline uint32_t bare_threads(void)
{
        uint32_t status[64] = {0}; /* struct statx: stx_nlink is the fifth */
        long r = sys_call5(SYS_statx, BARE_AT_FDCWD, "/proc/self/task", 0, 4, status);
        return r < 0 ? 0 : status[4];
}

/* Whether this process has no child and never reaped one, so that it started no other process of the sandbox.
 * 0 if it ignores SIGCHLD, because this is unknown then.  Children that it ignored earlier are not detected.
 */
static inline int bare_is_childless(void)
{
        const long all = 0, signal = 17,
                   want = 0x41000005; /* P_ALL, SIGCHLD; WNOHANG, WEXITED, WNOWAIT, __WALL */
        unsigned long action[8] = {0}, usage[18] = {0};
        if (sys_call4(SYS_rt_sigaction, signal, 0, action, 8) < 0 || action[0] == 1 || (action[1] & 2))
                return 0; /* SIG_IGN, SA_NOCLDWAIT */
        if (sys_call5(SYS_waitid, all, 0, 0, want, 0) != -10 || sys_call2(SYS_getrusage, -1, usage) < 0)
                return 0; /* ECHILD; RUSAGE_CHILDREN */
        for (size_t i = 0; i < sizeof usage / sizeof *usage; i++)
                if (usage[i])
                        return 0;
        return 1;
}
