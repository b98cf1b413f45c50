#include "keeper/process/dispatch.h"

#include <string.h>

#include "base/auto.h"
#include "base/limits.h"
#include "keeper/process/keeper.h"
#include "wire/mounts.h"

#define KNOWN (SANDBOX_LIVE | SANDBOX_FREEZING | SANDBOX_FROZEN | SANDBOX_DEAD)

static const struct dispatch_rule rules[] = {
        {KEEPER_MAKE, 0, "make", sizeof(struct keeper_make), handle_make},
        {KEEPER_END, KNOWN, "end", sizeof(struct keeper_about), handle_end},
        {KEEPER_KILL, KNOWN, "kill", sizeof(struct keeper_about), handle_kill},
        {KEEPER_COUNT, KNOWN, "count", sizeof(struct keeper_about), handle_count},
        {KEEPER_THROTTLE, KNOWN, "throttle", sizeof(struct keeper_about), handle_throttle},
        {KEEPER_UNTHROTTLE, KNOWN, "unthrottle", sizeof(struct keeper_about), handle_unthrottle},
        {KEEPER_FREEZE, KNOWN, "freeze", sizeof(struct keeper_about), handle_freeze},
        {KEEPER_THAW, KNOWN, "thaw", sizeof(struct keeper_about), handle_thaw},
        {KEEPER_READY, 0, "ready", sizeof(struct keeper_about), handle_ready},
        {KEEPER_DROP, 0, "drop", sizeof(struct keeper_drop), handle_drop},
        {KEEPER_IMAGER_WANTED, 0, "imager", sizeof(struct keeper_about), handle_imager},
        {KEEPER_DOCKER_WANTED, 0, "docker", sizeof(struct keeper_about), handle_docker},
        {KEEPER_CHECK_ROOT, 0, "check root", sizeof(struct keeper_root), handle_check_root},
        {KEEPER_LIMITS, KNOWN, "limits", sizeof(struct keeper_limits), handle_limits},
        {KEEPER_PING, 0, "ping", sizeof(struct keeper_about), handle_ping},
};

/* The largest uid and gid that every kernel interface can express. */
#define USER_MAX 0x7ffffffeu

static const char *check_image(const struct keeper_make *m)
{
        static const char digits[] = "0123456789abcdef";
        if (!m->image[0])
                return m->uid || m->gid ? "a user without an image" : NULL;
        if (strlen(m->image) != 64 || strspn(m->image, digits) != 64)
                return "a bad image";
        return m->uid > USER_MAX || m->gid > USER_MAX ? "a value out of range" : NULL;
}

static const char *check_mounts(const struct keeper_make *m, const char *text)
{
        struct mounts_item mounts[KEEPER_MOUNTS_MAX];
        int n = mounts_parse(text, m->mounts_len, mounts, KEEPER_MOUNTS_MAX);
        if (n < 0)
                return "a bad mount";
        return n > 0 && m->direct ? "options that code without isolation cannot have"
                                  : mounts_wrong(mounts, (size_t)n);
}

static const char *check_make(const struct keeper_make *m, const char *mounts)
{
        const char *wrong;
        if (!keeper_text_ends(m->id, sizeof m->id) || !keeper_text_ends(m->name, sizeof m->name) ||
            !keeper_text_ends(m->root, sizeof m->root) || !keeper_text_ends(m->image, sizeof m->image))
                return "an unterminated string";
        if (!keeper_name_is_valid(m->id))
                return "a bad id";
        if (m->required & ~limits_bits() || m->user_root > 1 || m->long_lived > 1 || m->network > 1 ||
            m->direct > 1 || m->pulls)
                return "a value out of range";
        if (m->direct && (m->network || m->long_lived || m->user_root || m->workspace || m->image[0]))
                return "options that code without isolation cannot have";
        if ((wrong = check_image(m)) || (wrong = check_mounts(m, mounts)))
                return wrong;
        switch (m->workspace) {
        case KEEPER_SCRATCH:
                return m->name[0] || m->root[0] ? "an unused path" : NULL;
        case KEEPER_PERSISTENT:
                return !keeper_name_is_valid(m->name) ? "a bad name" : m->root[0] ? "an unused path" : NULL;
        case KEEPER_READ_ONLY:
        case KEEPER_READ_WRITE:
                return !keeper_name_is_valid(m->name) ? "a bad name"
                       : m->root[0] != '/'            ? "a relative path"
                                                      : NULL;
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
        if (len < rule->size || len > sizeof *packet ||
            len != rule->size + (rule->type == KEEPER_MAKE ? packet->make.mounts_len : 0))
                return "a packet of the wrong size";
        if (rule->type == KEEPER_MAKE)
                wrong = check_make(&packet->make, packet->with_mounts.mounts);
        else if (rule->type == KEEPER_DROP)
                wrong = !keeper_text_ends(packet->drop.name, sizeof packet->drop.name)
                                ? "an unterminated string"
                        : !keeper_name_is_valid(packet->drop.name) ? "a bad name"
                                                                   : NULL;
        else if (rule->type == KEEPER_CHECK_ROOT)
                wrong = !keeper_text_ends(packet->root.root, sizeof packet->root.root)
                                ? "an unterminated string"
                        : packet->root.root[0] != '/' ? "a relative path"
                                                      : NULL;
        else if (packet->about.reserved || (rule->states == 0 && packet->about.sandbox))
                wrong = "a value out of range";
        if (!wrong)
                *ret = rule;
        return wrong;
}
