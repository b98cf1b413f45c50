#include "engine/hint.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/limits.h"

/* The name of the limit that a status is about; NULL: none. */
static const char *limit_of_status(const struct verdict_facts *facts, enum cella_status status)
{
        switch (status) {
        case CELLA_TIMEOUT:
                return "timeout_ms";
        case CELLA_MEMORY_LIMIT:
                return "memory_bytes";
        case CELLA_DISK_LIMIT:
                return facts->reported && facts->exited.disk_inodes_free == 0 ? "disk_inodes" : "disk_bytes";
        case CELLA_PROCESS_LIMIT:
                return "processes";
        case CELLA_CPU_LIMIT:
                return "cpu_time_ms";
        case CELLA_OUTPUT_LIMIT:
                return "output_bytes";
        default:
                return NULL;
        }
}

/* Writes a value with the largest unit in which it is a whole number. */
static void write_value(const struct limit *l, uint64_t value, char *ret, size_t size)
{
        static const char *const bytes[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
        size_t unit = 0;
        if (l->unit == LIMIT_BYTES) {
                for (; value >= 1024 && value % 1024 == 0 && unit < 4; unit++)
                        value /= 1024;
                snprintf(ret, size, "%llu %s", (unsigned long long)value, bytes[unit]);
        } else if (l->unit == LIMIT_TIME) {
                const bool whole = value >= 1000 && value % 1000 == 0;
                snprintf(ret, size, "%llu %s", (unsigned long long)(whole ? value / 1000 : value),
                         whole ? "s" : "ms");
        } else {
                snprintf(ret, size, "%llu", (unsigned long long)value);
        }
}

static void hint_of_limit(const char *name, const struct cella_limits *limits, struct cella_result *r)
{
        char value[40];
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                if (strcmp(l->name, name) != 0)
                        continue;
                write_value(l, limit_get(limits, l), value, sizeof value);
                snprintf(r->hint, sizeof r->hint, "%s: %s reached; limits.%s, --%s", l->option, value,
                         l->name, l->option);
        }
}

/* What allows a refused connection, by words in the reason; "": nothing does. */
static const char *hint_of_reason(const char *detail)
{
        static const struct {
                const char *words, *hint;
        } reasons[] = {
                {"no network", "; network.tier and network.allowed_domains, --network and --allow"},
                {"in blocked_domains", "; network.blocked_domains, --block"},
                {"allowed_domains", "; network.allowed_domains, --allow"},
                {", which is ", "; network.allowed_private, --allow-private"},
        };
        for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
                if (strstr(detail, reasons[i].words))
                        return reasons[i].hint;
        return "";
}

/* Code that copes with a refusal needs no hint. */
static void hint_of_refusal(struct cella_result *r)
{
        for (size_t i = 0; i < r->n_violations && r->exit_code != 0; i++) {
                const struct cella_violation *v = &r->violations[i];
                if (strcmp(v->kind, "network") != 0)
                        continue;
                snprintf(r->hint, sizeof r->hint, "network: %.60s refused, %.50s%s", v->target, v->detail,
                         hint_of_reason(v->detail));
                return;
        }
}

void hint_set(const struct verdict_facts *facts, const struct cella_limits *limits, struct cella_result *r)
{
        const char *name = limit_of_status(facts, r->status);
        r->hint[0] = '\0';
        if (name)
                hint_of_limit(name, limits, r);
        else
                hint_of_refusal(r);
}
