#include "traces.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t read_proc(const char *pid, const char *file, char *text, size_t size)
{
        char path[320];

        snprintf(path, sizeof path, "/proc/%s/%s", pid, file);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -1;
        ssize_t n = read(fd, text, size - 1);
        close(fd);
        text[n > 0 ? n : 0] = '\0';
        return n;
}

static long status_number(const char *pid, const char *key)
{
        char text[8192];

        if (read_proc(pid, "status", text, sizeof text) <= 0)
                return -1;
        const char *at = strstr(text, key);
        return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* The directory of one line of /proc/PID/cgroup: "4:memory:/a/b", or "0::/a/b". */
static void add_cgroup(struct traces *t, const char *line)
{
        static const char *const roots[] = {"/sys/fs/cgroup/", "/sys/fs/cgroup/unified"};
        const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        struct stat st;

        if (!path || t->n_cgroups == TRACES_CGROUPS)
                return;
        names++;
        int length = (int)(path++ - names);
        /* A named hierarchy is mounted under its name. */
        if (strncmp(names, "name=", 5) == 0) {
                names += 5;
                length -= 5;
        }
        for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
                char *dir = t->cgroups[t->n_cgroups];

                snprintf(dir, sizeof t->cgroups[0], "%s%.*s%s", roots[i], length, names, path);
                if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode)) {
                        t->n_cgroups++;
                        return;
                }
        }
}

void traces_find(struct traces *t, pid_t other)
{
        char text[8192], own[8192], name[32];
        struct dirent *entry;

        memset(t, 0, sizeof *t);
        DIR *proc = opendir("/proc");
        while (proc && (entry = readdir(proc))) {
                if (!isdigit((unsigned char)entry->d_name[0]) || atoi(entry->d_name) == other)
                        continue;
                if (status_number(entry->d_name, "\nPPid:") == getpid())
                        t->init = atoi(entry->d_name);
        }
        if (proc)
                closedir(proc);
        if (t->init <= 0)
                return;
        snprintf(name, sizeof name, "%d", (int)t->init);
        t->uid = (uid_t)status_number(name, "\nUid:");
        if (read_proc(name, "cgroup", text, sizeof text) <= 0 ||
            read_proc("self", "cgroup", own, sizeof own) <= 0)
                return;
        for (char *at = text, *line; (line = strsep(&at, "\n")) && *line;) {
                const char *same = strstr(own, line);

                if (!same || same[strlen(line)] != '\n')
                        add_cgroup(t, line);
        }
}

static bool process_left(const struct traces *t, const char *mark, char *what, size_t size)
{
        char text[4096];
        struct dirent *entry;
        bool found = false;
        DIR *proc = opendir("/proc");

        while (proc && !found && (entry = readdir(proc))) {
                if (!isdigit((unsigned char)entry->d_name[0]))
                        continue;
                ssize_t n = read_proc(entry->d_name, "cmdline", text, sizeof text);
                if (n > 0 && memmem(text, (size_t)n, mark, strlen(mark))) {
                        snprintf(what, size, "process %s is left", entry->d_name);
                        found = true;
                } else if (t->uid != getuid() && t->uid != 0 &&
                           status_number(entry->d_name, "\nUid:") == (long)t->uid) {
                        snprintf(what, size, "process %s with the sandbox's uid %u is left", entry->d_name,
                                 (unsigned)t->uid);
                        found = true;
                }
        }
        if (proc)
                closedir(proc);
        return found;
}

const char *traces_left(const struct traces *t, const char *mark)
{
        static char what[640];
        struct stat st;

        if (process_left(t, mark, what, sizeof what))
                return what;
        for (size_t i = 0; i < t->n_cgroups; i++) {
                for (int tries = 0; stat(t->cgroups[i], &st) == 0; tries++) {
                        if (tries == 20) {
                                snprintf(what, sizeof what, "%s is left", t->cgroups[i]);
                                return what;
                        }
                        usleep(10000);
                }
        }
        return NULL;
}

long traces_memory_now(void)
{
        return status_number("self", "\nVmRSS:");
}

void traces_memory_reset(void)
{
        int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return;
        ssize_t n = write(fd, "5", 1); /* the peak starts anew */
        close(fd);
        (void)n;
}

long traces_memory_peak(void)
{
        return status_number("self", "\nVmHWM:");
}
