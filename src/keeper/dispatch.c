#include "keeper/dispatch.h"

#include <string.h>

#include "base/auto.h"
#include "keeper/cells.h"

#define KNOWN (CELL_LIVE | CELL_FREEZING | CELL_FROZEN | CELL_DEAD)

static const struct dispatch_rule rules[] = {
        {KEEPER_MAKE, "make", sizeof(struct keeper_make), 0, handle_make},
        {KEEPER_END, "end", sizeof(struct keeper_about), KNOWN, handle_end},
        {KEEPER_KILL, "kill", sizeof(struct keeper_about), KNOWN, handle_kill},
        {KEEPER_COUNT, "count", sizeof(struct keeper_about), KNOWN, handle_count},
        {KEEPER_THROTTLE, "throttle", sizeof(struct keeper_about), KNOWN, handle_throttle},
        {KEEPER_UNTHROTTLE, "unthrottle", sizeof(struct keeper_about), KNOWN, handle_unthrottle},
        {KEEPER_FREEZE, "freeze", sizeof(struct keeper_about), KNOWN, handle_freeze},
        {KEEPER_THAW, "thaw", sizeof(struct keeper_about), KNOWN, handle_thaw},
        {KEEPER_READY, "ready", sizeof(struct keeper_about), 0, handle_ready},
};

static bool ends(const char *text, size_t size)
{
        return memchr(text, '\0', size) != NULL;
}

/* A name that is one component of a path, and nobody's option or hidden file. */
static bool is_name(const char *name)
{
        static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
        return name[0] && name[0] != '.' && name[strspn(name, good)] == '\0';
}

static const char *check_make(const struct keeper_make *m)
{
        const uint32_t limits =
                CELLA_LIMIT_MEMORY | CELLA_LIMIT_CPUS | CELLA_LIMIT_CPU_TIME | CELLA_LIMIT_PROCESSES;
        if (!ends(m->id, sizeof m->id) || !ends(m->name, sizeof m->name) || !ends(m->root, sizeof m->root))
                return "a string without an end";
        if (!is_name(m->id))
                return "a bad id";
        if (m->required & ~limits || m->user_root > 1 || m->terminals > 1 || m->long_lived > 1 || m->reserved)
                return "a value out of range";
        switch (m->workspace) {
        case KEEPER_SCRATCH:
                return m->name[0] || m->root[0] ? "a path without a use" : NULL;
        case KEEPER_PERSISTENT:
                return !is_name(m->name) ? "a bad name" : m->root[0] ? "a path without a use" : NULL;
        case KEEPER_READ_ONLY:
        case KEEPER_READ_WRITE:
                return !is_name(m->name) ? "a bad name" : m->root[0] != '/' ? "a path not absolute" : NULL;
        default:
                return "an unknown kind of workspace";
        }
}

const char *dispatch_check(const union dispatch_packet *packet, size_t len, const struct dispatch_rule **ret)
{
        const struct dispatch_rule *rule = NULL;
        const char *wrong = NULL;
        if (len < sizeof packet->type)
                return "a packet too short";
        for (size_t i = 0; i < ARRAY_LEN(rules) && !rule; i++)
                if (rules[i].type == packet->type)
                        rule = &rules[i];
        if (!rule)
                return "an unknown request";
        if (len != rule->size)
                return "a packet of the wrong size";
        if (rule->type == KEEPER_MAKE)
                wrong = check_make(&packet->make);
        else if (packet->about.reserved || (rule->states == 0 && packet->about.sandbox))
                wrong = "a value out of range";
        if (!wrong)
                *ret = rule;
        return wrong;
}
