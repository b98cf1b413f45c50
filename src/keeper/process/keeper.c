#include "keeper/process/keeper.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/auto.h"
#include "base/clock.h"
#include "keeper/process/log.h"

#define DEATH_PATIENCE_US 10000000

int keeper_watch(struct keeper *k, int fd, uint64_t what)
{
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = what};
        return epoll_ctl(k->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void keeper_watch_server_for(struct keeper *k, uint32_t events)
{
        struct epoll_event event = {.events = events, .data.u64 = ON_SERVER};
        epoll_ctl(k->epoll, EPOLL_CTL_MOD, k->setup->socket, &event);
}

void keeper_unwatch(struct keeper *k, int fd)
{
        epoll_ctl(k->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void keeper_lost(struct keeper *k, const char *why)
{
        if (!k->over)
                log_error(NULL, "%s", why);
        k->over = k->failed = true;
}

int keeper_reply_with(struct keeper *k, const void *packet, size_t len, const struct outbox_rights *rights)
{
        bool waited = outbox_waits(&k->outbox);
        int r = outbox_send(&k->outbox, packet, len, rights);
        if (r == -EOVERFLOW)
                keeper_lost(k, "the server does not read its answers");
        else if (r < 0 && r != -EPIPE && r != -ECONNRESET) /* reading the socket reports these */
                log_error(NULL, "cannot answer the server: %s", strerror(-r));
        if (!waited && outbox_waits(&k->outbox))
                keeper_watch_server_for(k, EPOLLOUT);
        return r;
}

void keeper_reply(struct keeper *k, const void *packet, size_t len, int fd)
{
        const struct outbox_rights rights = {.fd = fd};
        keeper_reply_with(k, packet, len, &rights);
}

void keeper_fail(struct keeper *k, uint32_t number, const struct cella_err *err)
{
        struct keeper_failed failed = {.type = KEEPER_FAILED, .number = number, .err = *err};
        keeper_reply(k, &failed, sizeof failed, -1);
}

void keeper_count(struct sandbox *sandbox, struct keeper_counted *ret)
{
        struct cgroup_usage usage;
        ret->read_us = clock_us();
        if (sandbox_usage(sandbox, &usage))
                counters_tell(&usage, ret);
}

/* Removes the groups of a dead sandbox later. */
static void bury(struct keeper *k, struct cgroup *cgroup)
{
        const int64_t now = cgroup ? clock_us() : 0;
        struct keeper_remains *r = cgroup ? malloc(sizeof *r) : NULL;
        if (!r) {
                k->spare.count.removed += cgroup != NULL;
                cgroup_free(cgroup);
                return;
        }
        *r = (struct keeper_remains){.cgroup = cgroup, .until = now + DEATH_PATIENCE_US};
        list_add(&k->remains, &r->link);
        if (++k->n_remains >= REMAINS_MAX)
                keeper_remove_groups(k, now);
}

unsigned keeper_remove_groups(struct keeper *k, int64_t now)
{
        const unsigned before = k->n_remains;
        unsigned batch = before < REMAINS_BATCH ? before : REMAINS_BATCH;
        list_each (at, &k->remains, other) {
                struct keeper_remains *r = list_entry(at, struct keeper_remains, link);
                if (batch-- == 0)
                        break;
                const bool late = now >= r->until;
                list_remove(&r->link);
                if (!late && cgroup_try_free(r->cgroup) < 0) {
                        list_add(&k->remains, &r->link); /* the next batch begins with others */
                        continue;
                }
                if (late) {
                        log_error(NULL, "a control group cannot be removed: the kernel still uses it");
                        cgroup_free(r->cgroup);
                }
                k->spare.count.removed++;
                k->n_remains--;
                free(r);
        }
        return before - k->n_remains;
}

struct spare_groups keeper_take_groups(struct keeper *k, const struct cella_limits *limits)
{
        struct cgroup *useless;
        struct spare_groups groups = spare_take_groups(&k->spare, limits, &useless);
        bury(k, useless);
        return groups;
}

void keeper_finish(struct keeper *k, struct sandbox_entry *entry)
{
        struct sandbox *sb = entry->sandbox;
        if (entry->state == SANDBOX_ENDING) {
                const struct keeper_about ended = {
                        .type = KEEPER_ENDED, .number = entry->number, .sandbox = entry->handle};
                k->ending--;
                keeper_reply(k, &ended, sizeof ended, -1);
        }
        if (sb->pid > 0) { /* called again when it dies */
                log_error(sb->id, "the kernel does not end it; it is abandoned");
                entry->state = SANDBOX_LOST;
                return;
        }
        struct cgroup *cgroup = TAKE(sb->cgroup);
        spare_add_netns(&k->spare, &sb->netns);
        /* A group is reused together with its uid.  A sandbox that ran directly on the host may have left
         * files of that uid, and one with a network may have connections that the kernel is still closing. */
        if (!sb->direct && !sb->network)
                spare_add_groups(&k->spare, &cgroup, &sb->user);
        sandbox_table_remove(&k->table, entry);
        sandbox_free(sb);
        bury(k, cgroup);
}

struct sandbox_entry *sandbox_table_add(struct sandbox_table *table, struct sandbox *sandbox)
{
        for (unsigned i = 0; i < KEEPER_SANDBOXES_MAX; i++) {
                unsigned place = (table->next + i) % KEEPER_SANDBOXES_MAX;
                struct sandbox_entry *entry = &table->all[place];
                if (entry->state != SANDBOX_FREE)
                        continue;
                uint32_t turn = entry->handle / KEEPER_SANDBOXES_MAX + 1;
                if (turn > UINT32_MAX / KEEPER_SANDBOXES_MAX)
                        turn = 1; /* 0 is not a handle */
                *entry = (struct sandbox_entry){.handle = turn * KEEPER_SANDBOXES_MAX + place,
                                                .state = SANDBOX_LIVE,
                                                .sandbox = sandbox};
                table->next = place + 1;
                table->used++;
                return entry;
        }
        return NULL;
}

struct sandbox_entry *sandbox_table_find(struct sandbox_table *table, uint32_t handle)
{
        struct sandbox_entry *entry = &table->all[handle % KEEPER_SANDBOXES_MAX];
        return entry->state != SANDBOX_FREE && entry->handle == handle ? entry : NULL;
}

void sandbox_table_remove(struct sandbox_table *table, struct sandbox_entry *entry)
{
        entry->state = SANDBOX_FREE;
        entry->sandbox = NULL;
        table->used--;
}
