/* test/fuzz/keeper.c -- whatever the server sends, the keeper's check of it must not stumble, and
 * what passes must be what the handlers count on. */
#include "fuzz.h"
#include "jail/workspace.h"
#include "keeper/process/dispatch.h"
#include "wire/mounts.h"

static void must(int condition)
{
        if (!condition)
                abort();
}

static void check_make(const struct keeper_make *m)
{
        static const struct workspace_policy policy = {.workspaces = -1, .state = "/var/lib/cella"};
        must(memchr(m->id, '\0', sizeof m->id) && memchr(m->name, '\0', sizeof m->name) &&
             memchr(m->root, '\0', sizeof m->root));
        must(strchr(m->name, '/') == NULL && m->name[0] != '.');
        must(memchr(m->image, '\0', sizeof m->image) &&
             strspn(m->image, "0123456789abcdef") == strlen(m->image));
        must(m->workspace <= KEEPER_READ_WRITE);
        if (m->workspace >= KEEPER_READ_ONLY)
                must(m->root[0] == '/' && m->name[0]);
        must(m->mounts_len <= KEEPER_MOUNTS_BYTES && (!m->direct || m->mounts_len == 0));
        struct mounts_item mounts[KEEPER_MOUNTS_MAX];
        int n = mounts_parse((const char *)(m + 1), m->mounts_len, mounts, KEEPER_MOUNTS_MAX);
        must(n >= 0);
        for (int i = 0; i < n; i++)
                must(mounts[i].source[0] == '/' && !mounts_target_wrong(mounts[i].target) &&
                     !mounts_is_in(mounts[i].target, "/workspace"));
        /* The function expects a real path; here only its consistency is checked. */
        if (workspace_is_allowed(&policy, m->root))
                must(strcmp(m->root, "/") != 0 && strncmp(m->root, "/etc/", 5) != 0 &&
                     strncmp(m->root, "/var/lib/cella/", 15) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        /* A copy of exact size, so that a sanitizer reports a read past its end. */
        union dispatch_packet *packet = malloc(len > 0 ? len : 1);
        const struct dispatch_rule *rule = NULL;
        if (!packet)
                return 0;
        memcpy(packet, data, len);
        const char *wrong = dispatch_check(packet, len, &rule);
        must((wrong == NULL) == (rule != NULL));
        if (rule) {
                must(rule->size <= len && rule->type == packet->type && rule->handle != NULL);
                if (rule->type == KEEPER_MAKE)
                        check_make(&packet->make);
                if (rule->type == KEEPER_CHECK_ROOT)
                        must(packet->root.root[0] == '/' &&
                             memchr(packet->root.root, '\0', sizeof packet->root.root));
        }
        free(packet);
        return 0;
}
