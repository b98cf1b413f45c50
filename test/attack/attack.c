#include "attack.h"

#include <stdarg.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

static struct attack *first;

/* Sorted by name, because the linker decides the order of constructors. */
void attack_register(struct attack *attack)
{
        struct attack **at = &first;

        while (*at && strcmp((*at)->name, attack->name) < 0)
                at = &(*at)->next;
        attack->next = *at;
        *at = attack;
}

struct attack *attack_first(void)
{
        return first;
}

static void __attribute__((format(printf, 2, 0))) say(const char *prefix, const char *format, va_list ap)
{
        char line[512];
        int n = snprintf(line, sizeof line, "%s", prefix);

        vsnprintf(line + n, sizeof line - (size_t)n, format, ap);
        dprintf(STDOUT_FILENO, "%s\n", line);
}

#define SAY(prefix)                                                                                          \
        do {                                                                                                 \
                va_list ap;                                                                                  \
                va_start(ap, format);                                                                        \
                say(prefix, format, ap);                                                                     \
                va_end(ap);                                                                                  \
        } while (0)

void attack_say(const char *format, ...)
{
        SAY("");
}

enum attack_outcome attack_succeeded(const char *format, ...)
{
        SAY("succeeded: ");
        return ATTACK_SUCCEEDED;
}

enum attack_outcome attack_blocked(const char *format, ...)
{
        SAY("blocked: ");
        return ATTACK_BLOCKED;
}

enum attack_outcome attack_broken(const char *format, ...)
{
        SAY("broken: ");
        return ATTACK_BROKEN;
}

enum attack_outcome attack_moot(const char *format, ...)
{
        SAY("moot: ");
        return ATTACK_BLOCKED;
}

enum attack_outcome attack_counted(long n, const char *what, bool stopped, const struct attack_victim *victim)
{
        if (victim->limit <= 0)
                return attack_broken("needs limit");
        if (stopped && n <= victim->limit)
                return attack_blocked("stopped at %ld %s", n, what);
        return attack_succeeded("%ld %s, %ld allowed, %s", n, what, victim->limit,
                                stopped ? ATTACK_THEN_STOPPED : "not stopped");
}

enum attack_outcome attack_worse(enum attack_outcome a, enum attack_outcome b)
{
        if (a == ATTACK_SUCCEEDED || b == ATTACK_SUCCEEDED)
                return ATTACK_SUCCEEDED;
        return a == ATTACK_BROKEN ? a : b;
}

enum attack_outcome attack_judge(const char *call, long result, int refusal, const int *answers)
{
        if (result >= 0)
                return attack_succeeded("%s: done (%ld)", call, result);
        if (result == -refusal)
                return attack_blocked("%s: %s", call, strerror(refusal));
        for (; *answers; answers++)
                if (result == -*answers)
                        return attack_succeeded("%s: reached the kernel, which says %s", call,
                                                strerror(*answers));
        return attack_broken("%s: unforeseen: %s", call, strerror((int)-result));
}

long attack_call(long nr, long a, long b, long c, long d, long e, long f)
{
        long r = syscall(nr, a, b, c, d, e, f);

        return r < 0 ? -(long)errno : r;
}

bool attack_kernel_before(int major, int minor)
{
        struct utsname name;
        int have_major = 0, have_minor = 0;

        if (uname(&name) < 0 || sscanf(name.release, "%d.%d", &have_major, &have_minor) != 2)
                return false;
        return have_major < major || (have_major == major && have_minor < minor);
}

bool attack_userns_restricted(void)
{
        char value = '0';
        int fd = open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return false;
        ssize_t n = read(fd, &value, 1);
        close(fd);
        return n == 1 && value == '1';
}

enum attack_outcome attack_steal(int fd, const struct attack_victim *victim)
{
        char text[4096];
        ssize_t n = read(fd, text, sizeof text - 1);
        int error = errno;

        close(fd);
        if (n < 0)
                return attack_broken("opened, but not readable: %s", strerror(error));
        if (!memmem(text, (size_t)n, victim->nonce, strlen(victim->nonce)))
                return attack_broken("read %zd bytes without the secret", n);
        return attack_succeeded("read the secret");
}

enum attack_outcome attack_open_and_steal(const char *path, const struct attack_victim *victim)
{
        if (!path)
                return attack_broken("the runner named no path");
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0)
                return attack_steal(fd, victim);
        if (errno == ENOENT)
                return attack_blocked("%s: %s", path, strerror(errno));
        return attack_broken("%s: unforeseen: %s", path, strerror(errno));
}

enum attack_outcome attack_open_for_writing(const char *path)
{
        /* With O_TRUNC the kernel looks whether the mount is read-only before it looks at
         * owner and mode; without, after.  Files of /proc have nothing to cut off. */
        int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK);
        struct stat st;

        if (fd >= 0) {
                int r = fstat(fd, &st);
                close(fd);
                if (r == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
                        return attack_blocked("%s: /dev/null is mounted over it", path);
                return attack_succeeded("%s: open for writing", path);
        }
        switch (errno) {
        case EROFS:
        case ENOENT:
                return attack_blocked("%s: %s", path, strerror(errno));
        case EACCES:
        case EPERM:
        case ETXTBSY:
                return attack_succeeded("%s: not read-only, only its owner and mode refuse: %s", path,
                                        strerror(errno));
        default:
                return attack_broken("%s: unforeseen: %s", path, strerror(errno));
        }
}

void attack_fuse(void)
{
        signal(SIGALRM, SIG_DFL);
        alarm(10);
}

bool attack_alone(const struct attack_victim *victim)
{
        struct stat st;

        if (victim->pid_ns < 0 || stat("/proc/self/ns/pid", &st) < 0) {
                attack_say("cannot tell whether this is the host's pid namespace: not tried");
                return false;
        }
        if ((long)st.st_ino == victim->pid_ns) {
                attack_say("this is the host's pid namespace: not tried");
                return false;
        }
        return true;
}
