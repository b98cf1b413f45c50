#include "core/pool/learn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUESS_US 50000 /* a usual time to import a package, until it was measured */
#define KEEP_SHARE 4   /* a module in the template stays at this fraction of LEARN_SHARE_MIN */

struct learner *learner_new(const char *key, const char *image, const char *program, int64_t now_us)
{
        struct learner *l = calloc(1, sizeof *l);
        if (!l)
                return NULL;
        list_init(&l->link);
        snprintf(l->key, sizeof l->key, "%s", key);
        snprintf(l->image, sizeof l->image, "%s", image);
        snprintf(l->program, sizeof l->program, "%s", program);
        l->born_us = now_us;
        l->halve_us = now_us + LEARN_HALF_US;
        l->most = LEARN_PICK_MAX;
        return l;
}

const char *learn_hidden(const char *modules, const char *name)
{
        char word[SCAN_IMPORT_MAX + 3];
        const int len = snprintf(word, sizeof word, " %s:", name);
        const char *at = strstr(modules, word);
        return at ? at + len : NULL;
}

bool learn_has_module(const char *text, const char *name)
{
        char word[SCAN_IMPORT_MAX + 3];
        snprintf(word, sizeof word, " %s ", name);
        return strstr(text, word) || learn_hidden(text, name);
}

void learner_fade(struct learner *l, int64_t now_us)
{
        while (now_us >= l->halve_us && l->executions > 0) {
                l->halve_us += LEARN_HALF_US;
                l->executions /= 2;
                for (unsigned i = 0; i < l->n_names; i++)
                        l->names[i].count /= 2;
        }
        if (now_us >= l->halve_us)
                l->halve_us = now_us + LEARN_HALF_US;
}

/* Returns the entry of this name, made if there is none.  If there is no room, the least used module that is
 * not in the template is forgotten. */
static struct learn_name *learner_name(struct learner *l, const char *name)
{
        struct learn_name *least = NULL;
        for (unsigned i = 0; i < l->n_names; i++) {
                struct learn_name *n = &l->names[i];
                if (!strcmp(n->name, name))
                        return n;
                if (!n->used && (!least || n->count < least->count))
                        least = n;
        }
        if (l->n_names < LEARN_NAMES_MAX)
                least = &l->names[l->n_names++];
        if (least) {
                *least = (struct learn_name){0};
                snprintf(least->name, sizeof least->name, "%s", name);
        }
        return least;
}

static bool is_often(const struct learner *l, const struct learn_name *n)
{
        const uint64_t share = (uint64_t)n->count * LEARN_SHARE_MIN;
        return n->used ? n->count > 0 && share * KEEP_SHARE >= l->executions
                       : n->count >= LEARN_COUNT_MIN && share >= l->executions;
}

void learner_count(struct learner *l, const char *imports, const char *known, int64_t now_us)
{
        char copy[SCAN_IMPORTS_SIZE], *rest = copy, *word;
        learner_fade(l, now_us);
        l->executions++;
        snprintf(copy, sizeof copy, "%s", imports);
        while ((word = strsep(&rest, " "))) {
                if (!*word || strlen(word) > SCAN_IMPORT_MAX || learn_has_module(known, word))
                        continue;
                struct learn_name *n = learner_name(l, word);
                if (!n)
                        continue;
                n->count++;
                if (!n->used && now_us >= n->failed_until_us && is_often(l, n) && l->wanted_us == 0)
                        l->wanted_us = now_us;
        }
}

static uint64_t worth(const struct learn_name *n)
{
        return n->count * (n->import_us > 0 ? n->import_us : GUESS_US);
}

unsigned learner_pick(struct learner *l, int64_t now_us, struct learn_name *ret[LEARN_PICK_MAX])
{
        unsigned n = 0;
        for (unsigned i = 0; i < l->n_names; i++) {
                struct learn_name *name = &l->names[i];
                unsigned at;
                if (now_us < name->failed_until_us || !is_often(l, name))
                        continue;
                for (at = n; at > 0 && worth(ret[at - 1]) < worth(name); at--)
                        if (at < l->most)
                                ret[at] = ret[at - 1];
                if (at < l->most)
                        ret[at] = name;
                if (n < l->most)
                        n++;
        }
        return n;
}

uint64_t learner_benefit_us(const struct learner *l)
{
        uint64_t sum = 0;
        for (unsigned i = 0; i < l->n_names; i++)
                if (l->names[i].used)
                        sum += l->names[i].count * l->names[i].import_us;
        return l->executions > 0 ? sum / l->executions : 0;
}
