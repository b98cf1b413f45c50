#include "engine/violation.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const violation_words[] = {
        [VIOLATION_NETWORK] = "network", [VIOLATION_LIMIT] = "limit", [VIOLATION_SYSCALL] = "syscall"};

static void engine_violation_copy(char *to, size_t to_size, const char *from, size_t size)
{
        size_t n = strnlen(from, size < to_size - 1 ? size : to_size - 1);
        for (size_t i = 0; i < n; i++)
                to[i] = (char)(from[i] >= ' ' && from[i] <= '~' ? from[i] : '?');
        to[n] = '\0';
}

void violation_set(struct violation *ret, enum violation_kind kind, const char *target, size_t target_size,
                   const char *detail, size_t detail_size)
{
        ret->kind = kind;
        engine_violation_copy(ret->target, sizeof ret->target, target, target_size);
        engine_violation_copy(ret->detail, sizeof ret->detail, detail, detail_size);
}

bool violation_same(const struct violation *a, const struct violation *b)
{
        return a->kind == b->kind && !strcmp(a->target, b->target) && !strcmp(a->detail, b->detail);
}

__attribute__((format(printf, 3, 4))) static void say(struct violation *v, const char *target,
                                                      const char *format, ...)
{
        va_list ap;
        v->kind = VIOLATION_LIMIT;
        snprintf(v->target, sizeof v->target, "%s", target);
        va_start(ap, format);
        vsnprintf(v->detail, sizeof v->detail, format, ap);
        va_end(ap);
}

unsigned violations_of_limits(const struct verdict_facts *facts, const struct cella_limits *limits,
                              enum cella_status status, struct violation ret[VIOLATIONS_OF_LIMITS])
{
        const struct cgroup_usage *u = &facts->usage;
        unsigned n = 0;
        if (facts->counted && u->forks_refused > 0 && status != CELLA_PROCESS_LIMIT)
                say(&ret[n++], "processes", "%llu fork%s refused: at most %u processes",
                    (unsigned long long)u->forks_refused, u->forks_refused == 1 ? " was" : "s were",
                    limits->processes);
        if (facts->counted && u->oom_kills > 0 && status != CELLA_MEMORY_LIMIT)
                say(&ret[n++], "memory", "%llu process%s killed: at most %llu bytes",
                    (unsigned long long)u->oom_kills, u->oom_kills == 1 ? " was" : "es were",
                    (unsigned long long)limits->memory_bytes);
        if (verdict_disk_is_full(facts) && status != CELLA_DISK_LIMIT) {
                if (facts->exited.disk_inodes_free == 0)
                        say(&ret[n++], "disk", "full: at most %llu files",
                            (unsigned long long)limits->disk_inodes);
                else
                        say(&ret[n++], "disk", "full: at most %llu bytes",
                            (unsigned long long)limits->disk_bytes);
        }
        return n;
}

void violation_of_no_network(struct violation *ret)
{
        say(ret, "any address", "no network in tier 'restricted'");
        ret->kind = VIOLATION_NETWORK;
}

void violation_of_more(struct violation *ret, uint64_t more)
{
        say(ret, "violations", "%llu more are not listed", (unsigned long long)more);
}

void violations_add(struct violations *v, const struct violation *violation)
{
        if (!v->list)
                v->list = calloc(VIOLATIONS_MAX, sizeof *v->list);
        if (!v->list)
                return;
        for (unsigned i = 0; i < v->n; i++)
                if (violation_same(&v->list[i], violation))
                        return;
        if (v->n == VIOLATIONS_MAX)
                v->more++;
        else
                v->list[v->n++] = *violation;
}

int violations_take(struct violations *v, struct cella_result *result)
{
        size_t bytes = v->n * sizeof *result->violations;
        if (v->n == 0)
                return 0;
        if (v->more > 0)
                violation_of_more(&v->list[v->n - 1], v->more + 1);
        for (unsigned i = 0; i < v->n; i++)
                bytes += strlen(v->list[i].target) + strlen(v->list[i].detail) + 2;
        struct cella_violation *all = malloc(bytes);
        if (!all)
                return -ENOMEM;
        char *text = (char *)(all + v->n);
        for (unsigned i = 0; i < v->n; i++) {
                all[i].kind = violation_words[v->list[i].kind];
                all[i].target = text;
                text = stpcpy(text, v->list[i].target) + 1;
                all[i].detail = text;
                text = stpcpy(text, v->list[i].detail) + 1;
        }
        result->violations = all;
        result->n_violations = v->n;
        return 0;
}

void violations_done(struct violations *v)
{
        free(v->list);
        *v = (struct violations){0};
}
