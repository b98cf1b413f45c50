#include "base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"

#define FIELD(f) offsetof(struct cella_limits, f), sizeof(((struct cella_limits *)0)->f)
#define K UINT64_C(1024)
#define DAY_MS (24 * UINT64_C(3600000))

const struct limit limits_table[] = {
        {"timeout_ms", "timeout", "Timeout", LIMIT_TIME, LIMIT_OF_EXECUTION, 0, NULL, FIELD(timeout_ms), 1,
         7 * DAY_MS, 300000, "wall time until SIGTERM, then SIGKILL"},
        {"grace_ms", "grace", "Grace time", LIMIT_TIME, LIMIT_OF_EXECUTION, 0, NULL, FIELD(grace_ms), 0,
         600000, 2000, "from SIGTERM to SIGKILL; never more than the timeout"},
        {"cpu_time_ms", "cpu-time", "CPU time", LIMIT_TIME, LIMIT_OF_EXECUTION, CELLA_LIMIT_CPU_TIME,
         "limit:cpu_time", FIELD(cpu_time_ms), 1, 7 * DAY_MS, 0, "CPU time of all processes together"},
        {"memory_bytes", "memory", "Memory", LIMIT_BYTES, LIMIT_OF_SANDBOX, CELLA_LIMIT_MEMORY,
         "limit:memory", FIELD(memory_bytes), 4 * K *K, 1024 * K *K *K, 512 * K *K,
         "memory of all processes and files in /tmp, swap included"},
        {"cpus", "cpus", "CPU cores", LIMIT_CORES, LIMIT_OF_SANDBOX, CELLA_LIMIT_CPUS, "limit:cpus",
         FIELD(cpus_milli), 10, 1024000, 1000, "CPU cores of all processes together; 0.5 is half of one"},
        {"disk_bytes", "disk", "Disk", LIMIT_BYTES, LIMIT_OF_SANDBOX, CELLA_LIMIT_DISK, "limit:disk",
         FIELD(disk_bytes), 64 * K, 1024 * K *K *K, 256 * K *K, "bytes in the private file system"},
        {"disk_inodes", "inodes", "Number of files", LIMIT_COUNT, LIMIT_OF_SANDBOX, 0, NULL,
         FIELD(disk_inodes), 16, 100000000, 65536, "files in the private file system"},
        {"processes", "processes", "Processes", LIMIT_COUNT, LIMIT_OF_SANDBOX, CELLA_LIMIT_PROCESSES,
         "limit:processes", FIELD(processes), 1, 100000, 64, "processes and threads at once"},
        {"open_files", "files", "Open files", LIMIT_COUNT, LIMIT_OF_SANDBOX, 0, NULL, FIELD(open_files), 16,
         1048576, 1024, "open files of a process"},
        {"output_bytes", "output", "Output kept", LIMIT_BYTES, LIMIT_OF_EXECUTION, 0, NULL,
         FIELD(output_bytes), 0, K *K *K, K *K, "kept of stdout and of stderr: the first half and the last"},
};
const size_t limits_table_len = ARRAY_LEN(limits_table);

uint64_t limit_get(const struct cella_limits *limits, const struct limit *limit)
{
        uint64_t wide = 0;
        uint32_t narrow = 0;
        const char *field = (const char *)limits + limit->offset;
        if (limit->size == sizeof wide) {
                memcpy(&wide, field, sizeof wide);
                return wide;
        }
        memcpy(&narrow, field, sizeof narrow);
        return narrow;
}

void limit_put(struct cella_limits *limits, const struct limit *limit, uint64_t value)
{
        uint32_t narrow = (uint32_t)value;
        char *field = (char *)limits + limit->offset;
        if (limit->size == sizeof value)
                memcpy(field, &value, sizeof value);
        else
                memcpy(field, &narrow, sizeof narrow);
}

void cella_limits_default(struct cella_limits *limits)
{
        memset(limits, 0, sizeof *limits);
        for (size_t i = 0; i < limits_table_len; i++)
                limit_put(limits, &limits_table[i], limits_table[i].standard);
}

void cella_options_default(struct cella_options *options)
{
        memset(options, 0, sizeof *options);
        cella_limits_default(&options->limits);
}

void limit_write(const struct limit *l, uint64_t value, char *ret, size_t size)
{
        static const struct limit_scale {
                uint64_t scale;
                const char *name;
        } bytes[] = {{K * K * K * K, "T"}, {K * K * K, "G"}, {K * K, "M"}, {K, "K"}, {1, ""}},
          times[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
        const struct limit_scale *unit = bytes;
        if (l->unit == LIMIT_CORES) {
                const int digits = value % 10 ? 3 : value % 100 ? 2 : value % 1000 ? 1 : 0;
                snprintf(ret, size, "%.*f", digits, (double)value / 1000);
                return;
        }
        if (l->unit == LIMIT_COUNT) {
                snprintf(ret, size, "%llu", (unsigned long long)value);
                return;
        }
        if (l->unit == LIMIT_TIME)
                unit = times;
        while (unit->scale > 1 && (value == 0 || value % unit->scale))
                unit++;
        snprintf(ret, size, "%llu%s", (unsigned long long)(value / unit->scale), unit->name);
}

int limits_check(const struct cella_limits *limits, struct cella_err *err)
{
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                uint64_t value = limit_get(limits, l);
                bool unset = value == 0 && l->standard == 0;
                if (!unset && (value < l->min || value > l->max))
                        return err_say(err, CELLA_INVALID_REQUEST, -ERANGE,
                                       "%s is %llu, but may be from %llu to %llu", l->name,
                                       (unsigned long long)value, (unsigned long long)l->min,
                                       (unsigned long long)l->max);
        }
        return 0;
}

uint32_t limits_bits(void)
{
        uint32_t bits = 0;
        for (size_t i = 0; i < limits_table_len; i++)
                bits |= limits_table[i].bit;
        return bits;
}

const struct limit *limit_of_bits(uint32_t bits)
{
        const uint32_t lowest = bits & -bits;
        for (size_t i = 0; i < limits_table_len; i++)
                if (limits_table[i].bit & lowest)
                        return &limits_table[i];
        return NULL;
}

bool limits_fit_sandbox(const struct cella_limits *made, const struct cella_limits *wanted)
{
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                const uint64_t a = limit_get(made, l), b = limit_get(wanted, l);
                if (l->scope == LIMIT_OF_SANDBOX ? a != b : l->bit && (a == 0) != (b == 0))
                        return false;
        }
        return true;
}
