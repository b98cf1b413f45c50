#include "jail/counters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
        const char *v1, *v1_key; /* the line that starts with this word; NULL: the file is a single number */
        const char *v2, *v2_key;
} files[] = {
        [CPU_US] = {"cpuacct.usage", NULL, "cpu.stat", "usage_usec"},
        [MEMORY_NOW] = {"memory.usage_in_bytes", NULL, "memory.current", NULL},
        [MEMORY_PEAK] = {"memory.max_usage_in_bytes", NULL, "memory.peak", NULL},
        [OOM_KILLS] = {"memory.oom_control", "oom_kill", "memory.events", "oom_kill"},
        [PIDS_NOW] = {"pids.current", NULL, "pids.current", NULL},
        [PIDS_PEAK] = {"pids.peak", NULL, "pids.peak", NULL},
        [PIDS_REFUSED] = {"pids.events", "max", "pids.events", "max"},
};

const char *counter_file(enum counter counter, bool v2)
{
        return v2 ? files[counter].v2 : files[counter].v1;
}

bool counter_find(const char *text, const char *key, uint64_t *ret)
{
        const char *p = text;
        size_t len = key ? strlen(key) : 0;
        while (key && (strncmp(p, key, len) != 0 || p[len] != ' ')) {
                p = strchr(p, '\n');
                if (!p)
                        return false;
                p++;
        }
        *ret = strtoull(p + len, NULL, 10);
        return true;
}

bool counters_get(const struct counters *counters, enum counter counter, uint64_t *ret)
{
        char text[1024]; /* the searched lines are at the start */
        ssize_t n = counters->fd[counter] < 0 ? -1 : pread(counters->fd[counter], text, sizeof text - 1, 0);
        if (n <= 0)
                return false;
        text[n] = '\0';
        return counter_find(text, counters->v2 ? files[counter].v2_key : files[counter].v1_key, ret);
}

/* v1 counts nanoseconds. */
static bool get_cpu_us(const struct counters *counters, uint64_t *ret)
{
        const bool got = counters_get(counters, CPU_US, ret);
        if (got && !counters->v2)
                *ret /= 1000;
        return got;
}

bool counters_begin_cpu(struct counters *counters)
{
        return get_cpu_us(counters, &counters->cpu_us_before);
}

uint64_t counters_cpu_us(const struct counters *counters)
{
        uint64_t now = 0;
        get_cpu_us(counters, &now);
        return now > counters->cpu_us_before ? now - counters->cpu_us_before : 0;
}

void counters_usage(const struct counters *counters, struct cgroup_usage *ret)
{
        uint64_t peak = 0, now = 0;
        *ret = (struct cgroup_usage){.cpu_us = counters_cpu_us(counters)};
        ret->cpu_known = ret->cpu_us > 0;
        ret->memory_known = counters_get(counters, MEMORY_PEAK, &ret->memory_peak_bytes);
        counters_get(counters, MEMORY_NOW, &ret->memory_bytes);
        ret->processes_known = counters_get(counters, PIDS_PEAK, &peak);
        ret->processes_peak = peak > 0 ? (uint32_t)peak - 1 : 0;
        counters_get(counters, PIDS_NOW, &now);
        ret->processes = now > 0 ? (uint32_t)now - 1 : 0;
        counters_get(counters, OOM_KILLS, &ret->oom_kills);
        counters_get(counters, PIDS_REFUSED, &ret->forks_refused);
}

void counters_tell(const struct cgroup_usage *usage, struct keeper_counted *ret)
{
        ret->known = (usage->cpu_known ? KEEPER_KNOWS_CPU : 0) |
                     (usage->memory_known ? KEEPER_KNOWS_MEMORY : 0) |
                     (usage->processes_known ? KEEPER_KNOWS_PROCESSES : 0);
        ret->cpu_us = usage->cpu_us;
        ret->memory_bytes = usage->memory_bytes;
        ret->memory_peak_bytes = usage->memory_peak_bytes;
        ret->oom_kills = usage->oom_kills;
        ret->forks_refused = usage->forks_refused;
        ret->processes = usage->processes;
        ret->processes_peak = usage->processes_peak;
}
