#include "engine/violations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
