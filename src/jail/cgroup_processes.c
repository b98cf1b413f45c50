#include "jail/cgroup_processes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/file.h"

#define LIST_MAX 8192 /* bytes: some thousand numbers */

static ssize_t read_text(int at, const char *path, char *text, size_t size)
{
        AUTO(sys_close) int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
        text[n < 0 ? 0 : n] = '\0';
        return n;
}

/* Its own, and that of its children that were waited for: fields 14 to 17.  The name before them may have
 * anything in it. */
static uint64_t ticks_of(unsigned long pid)
{
        char path[32], text[1024];
        unsigned long used[4];
        snprintf(path, sizeof path, "/proc/%lu/stat", pid);
        const char *behind = read_text(AT_FDCWD, path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
        if (!behind || sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
                              &used[0], &used[1], &used[2], &used[3]) != 4)
                return 0;
        return (uint64_t)used[0] + used[1] + used[2] + used[3];
}

uint64_t cgroup_processes_cpu_us(int group)
{
        char text[LIST_MAX], *at = text, *end;
        const long per_second = sysconf(_SC_CLK_TCK);
        uint64_t ticks = 0;
        unsigned long pid;
        if (group < 0 || per_second <= 0 || read_text(group, "cgroup.procs", text, sizeof text) <= 0)
                return 0;
        for (; (pid = strtoul(at, &end, 10)) > 0 && end > at; at = end)
                ticks += ticks_of(pid);
        return ticks * 1000000 / (uint64_t)per_second;
}
