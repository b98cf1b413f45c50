/* keeper/process/handle.c -- the request handlers; the table is in dispatch.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "keeper/process/dispatch.h"
#include "keeper/process/keeper.h"
#include "keeper/process/log.h"
#include "keeper/process/volume.h"
#include "keeper/spawn/assemble.h"
#include "keeper/spawn/image_root.h"
#include "sys/file.h"
#include "wire/mounts.h"

#define DEATH_PATIENCE_US 10000000
#define FREEZE_PATIENCE_US 2000000

static void done(struct keeper *k, const struct sandbox_entry *entry, uint32_t number)
{
        const struct keeper_about about = {.type = KEEPER_DONE, .number = number, .sandbox = entry->handle};
        keeper_reply(k, &about, sizeof about, -1);
}

/* Opens the root of the image in the store, which the server owns. */
static int open_image(const struct keeper *k, const struct keeper_make *m, struct sandbox_image *ret,
                      char path[IMAGE_ROOT_PATH], struct cella_err *err)
{
        *ret = (struct sandbox_image){.root = path, .fd = -1, .uid = m->uid, .gid = m->gid};
        if (!m->image[0])
                return 0;
        int r = ret->fd = image_root_open(k->setup->store, m->image, k->setup->policy.owner, path, err);
        return r < 0 ? r : 0;
}

/* The directories that a sandbox shows, opened and checked. */
struct shown {
        int workspace; /* -1: private */
        bool volume;   /* workspace is a detached mount */
        char path[KEEPER_PATH_MAX + KEEPER_NAME_MAX];
        int fds[KEEPER_MOUNTS_MAX];
        char paths[KEEPER_MOUNTS_MAX][KEEPER_PATH_MAX];
        struct cella_mount mounts[KEEPER_MOUNTS_MAX];
        size_t n_mounts;
};

static void shown_done_auto(struct shown *s)
{
        sys_close(s->workspace);
        for (size_t i = 0; i < s->n_mounts; i++)
                sys_close(s->fds[i]);
}

static int open_workspace(const struct keeper *k, const struct keeper_make *m, struct shown *ret,
                          struct cella_err *err)
{
        int r = workspace_open(&k->setup->policy, m, &ret->workspace, ret->path, err);
        if (r < 0 || m->workspace != KEEPER_PERSISTENT)
                return r;
        ret->volume = k->setup->volumes >= 0;
        if (!ret->volume && (m->required & CELLA_LIMIT_DISK)) {
                err_say(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                        "volume: the limit on disk of a persistent workspace cannot be enforced here");
                return err_hint(err, "run the daemon as root, with loop devices and mke2fs; or ask for none");
        }
        if (!ret->volume)
                return 0;
        sys_close(TAKE_FD(ret->workspace)); /* the directory only marks that the workspace exists */
        r = volume_mount(k->setup->volumes, m->name, &m->limits, err);
        ret->workspace = r < 0 ? -1 : r;
        return r < 0 ? r : 0;
}

/* dispatch_check() has checked their text. */
static int open_mounts(const struct keeper *k, const struct keeper_make_mounts *m, struct shown *ret,
                       struct cella_err *err)
{
        struct mounts_item items[KEEPER_MOUNTS_MAX];
        int n = mounts_parse(m->mounts, m->make.mounts_len, items, KEEPER_MOUNTS_MAX), r = 0;
        for (int i = 0; i < n && r == 0; i++) {
                r = workspace_open_mount(&k->setup->policy, items[i].source, &ret->fds[i], ret->paths[i],
                                         err);
                if (r < 0)
                        return r;
                ret->mounts[i] = (struct cella_mount){ret->paths[i], items[i].target, items[i].writable};
                ret->n_mounts++;
        }
        return r;
}

static int make(struct keeper *k, const struct keeper_make_mounts *with_mounts, struct sandbox **ret,
                struct cella_err *err)
{
        const struct keeper_make *m = &with_mounts->make;
        char root[IMAGE_ROOT_PATH];
        struct sandbox_image image;
        struct cella_options options;
        AUTO(shown_done) struct shown shown;
        shown.workspace = -1;
        shown.volume = false;
        shown.n_mounts = 0;
        if (k->table.used == KEEPER_SANDBOXES_MAX)
                return err_say(err, CELLA_OVER_CAPACITY, -EUSERS, "the maximum of %d sandboxes is reached",
                               KEEPER_SANDBOXES_MAX);
        int r = limits_check(&m->limits, err); /* the limits decide the size of a volume */
        if (r == 0)
                r = open_workspace(k, m, &shown, err);
        if (r == 0)
                r = open_mounts(k, with_mounts, &shown, err);
        if (r == 0)
                r = open_image(k, m, &image, root, err);
        if (r < 0)
                return r;
        cella_options_default(&options);
        options.limits = m->limits;
        if (!k->privileged && options.limits.open_files > k->files_max / 2)
                options.limits.open_files = k->files_max / 2;
        options.required = m->required;
        options.user_root = m->user_root;
        options.workspace = shown.workspace < 0 ? NULL : shown.path;
        options.workspace_writable = m->workspace != KEEPER_READ_ONLY;
        options.mounts = shown.mounts;
        options.n_mounts = shown.n_mounts;
        AUTO(netns_let_go) struct netns_kept netns = spare_take_netns(&k->spare);
        /* Sandboxes for one execution without own mounts or network can copy the shared view. */
        const bool plain = shown.workspace < 0 && shown.n_mounts == 0 && image.fd < 0 && !m->long_lived &&
                           !m->network && !m->direct && !m->user_root;
        /* A long-lived sandbox has additional groups, so it does not take reused ones. */
        struct spare_groups again = {.user = -1};
        if (!m->long_lived && !m->network && !m->direct)
                again = keeper_take_groups(k, &m->limits);
        const bool new_groups = !again.cgroup;
        AUTO(cgroup_free) struct cgroup *cgroup = again.cgroup;
        AUTO(sys_close) int user = again.user;
        int view_fd = -1;
        enum jail_view view = plain ? spare_view(&k->spare, &view_fd) : JAIL_VIEW_OWN;
        const struct sandbox_parts parts = {
                .id = m->id,
                .program = k->program,
                .netns = &netns,
                .workspace_fd = shown.workspace,
                .mount_fds = shown.fds,
                .workspace_is_mount = shown.volume,
                .freezable = m->long_lived,
                /* The network namespace of a sandbox with a network contains rules and sockets. */
                .keep_netns = k->spare.makes && !m->long_lived && !m->network,
                .network = m->network,
                .direct = m->direct,
                .privileged = &k->privileged,
                .ignored = &k->ignored,
                .view = view,
                .view_fd = view_fd,
                .view_tag = k->spare.view_tag,
                .home = k->home,
                .keep_user = plain && k->privileged,
                .cgroup = &cgroup,
                .user = &user,
                .image = image.fd >= 0 ? &image : NULL,
        };
        r = sandbox_assemble(&options, &parts, 0, ret, err);
        sys_close(image.fd); /* the sandbox has its own copy */
        k->spare.count.made += r == 0 && new_groups && (*ret)->cgroup;
        return r;
}

/* Collects the counters that the server reads itself at the end of an execution, without a request. */
static unsigned lend_counters(const struct sandbox *sandbox, struct keeper_made *made, int fds[N_COUNTERS])
{
        static const enum counter wanted[] = {CPU_US, MEMORY_PEAK, OOM_KILLS, PIDS_PEAK, PIDS_REFUSED};
        const struct counters *counters = sandbox->cgroup ? cgroup_counters(sandbox->cgroup) : NULL;
        unsigned n = 0;
        for (size_t i = 0; counters && i < ARRAY_LEN(wanted); i++)
                if (counters->fd[wanted[i]] >= 0) {
                        made->counters |= 1u << wanted[i];
                        fds[n++] = counters->fd[wanted[i]];
                }
        if (counters) {
                made->cpu_us_before = counters->cpu_us_before;
                made->counters_v2 = counters->v2;
        }
        return n;
}

void handle_make(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        struct cella_err err = {0};
        struct sandbox *sandbox = NULL;
        (void)entry;
        if (make(k, &packet->with_mounts, &sandbox, &err) < 0 || !sandbox) {
                log_error(packet->make.id, "cannot make a sandbox: %s", err.msg);
                keeper_fail(k, packet->number, &err);
                return;
        }
        struct sandbox_entry *new = sandbox_table_add(&k->table, sandbox);
        bool unlimited = packet->make.workspace == KEEPER_PERSISTENT && k->setup->volumes < 0;
        struct keeper_made made = {
                .type = KEEPER_MADE,
                .number = packet->number,
                .sandbox = new->handle,
                .missing = sandbox->missing | (unlimited ? (uint32_t)CELLA_LIMIT_DISK : 0),
                .counted = sandbox->cgroup != NULL,
                .groups = k->spare.count,
        };
        int lent[N_COUNTERS];
        struct outbox_rights rights = {.lent = lent, .n_lent = lend_counters(sandbox, &made, lent)};
        int r = keeper_watch(k, new->sandbox->pidfd, new->handle);
        if (r == 0) {
                /* This closes the keeper's copy: init exits when the server closes its own. */
                rights.fd = TAKE_FD(sandbox->control);
                r = keeper_reply_with(k, &made, sizeof made, &rights);
        }
        if (r == 0 || k->over || r == -EPIPE || r == -ECONNRESET) /* EPIPE, ECONNRESET: the server is gone */
                return;
        err_set(&err, r == -ETOOMANYREFS ? CELLA_OVER_CAPACITY : CELLA_INTERNAL, r,
                "cannot hand out the sandbox");
        keeper_fail(k, packet->number, &err);
        sandbox_table_remove(&k->table, new);
        sandbox_free(sandbox);
}

static void stop_freezing(struct keeper *k, struct sandbox_entry *entry, const char *why)
{
        struct cella_err err = {0};
        if (entry->state != SANDBOX_FREEZING)
                return;
        k->freezing--;
        err_say(&err, CELLA_NOT_FOUND, -ECANCELED, "%s", why);
        keeper_fail(k, entry->number, &err);
}

void handle_end(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        bool dead = entry->state == SANDBOX_DEAD || sandbox_try_reap(entry->sandbox);
        stop_freezing(k, entry, "the sandbox ended while it was being frozen");
        entry->state = SANDBOX_ENDING;
        entry->number = packet->number;
        entry->deadline = clock_us() + DEATH_PATIENCE_US;
        k->ending++;
        if (!dead)
                sandbox_kill(entry->sandbox);
        if (dead || sandbox_try_reap(entry->sandbox))
                keeper_finish(k, entry);
}

void handle_kill(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        (void)k, (void)packet;
        sandbox_cut_off(entry->sandbox);
}

void handle_count(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        struct keeper_counted counted = {
                .type = KEEPER_COUNTED, .number = packet->number, .sandbox = entry->handle};
        keeper_count(entry->sandbox, &counted);
        keeper_reply(k, &counted, sizeof counted, -1);
}

void handle_throttle(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        struct sandbox *sb = entry->sandbox;
        (void)k, (void)packet;
        if (sb->pid <= 0 || !sb->cgroup || cgroup_throttle(sb->cgroup, sb->limits.cpus_milli) == 0)
                return;
        /* Kill rather than exceed the CPU limit. */
        log_error(sb->id, "cannot limit its CPUs: killed");
        sandbox_kill(sb);
}

void handle_unthrottle(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        (void)k, (void)packet;
        if (entry->sandbox->cgroup)
                cgroup_unthrottle(entry->sandbox->cgroup);
}

static int change_limits(struct sandbox *sb, const struct cella_limits *limits, struct cella_err *err)
{
        const uint32_t changed =
                (limits->memory_bytes != sb->limits.memory_bytes ? (uint32_t)CELLA_LIMIT_MEMORY : 0) |
                (limits->processes != sb->limits.processes ? (uint32_t)CELLA_LIMIT_PROCESSES : 0) |
                (limits->cpus_milli != sb->limits.cpus_milli ? (uint32_t)CELLA_LIMIT_CPUS : 0);
        if (!changed)
                return 0;
        if (!sb->cgroup || (changed & cgroup_missing(sb->cgroup))) {
                err_say(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                        "cgroup: a limit of a running sandbox cannot be changed here");
                return err_hint(err, "there is no control group for it: make a sandbox with this limit");
        }
        int r = cgroup_change(sb->cgroup, limits);
        if (r == -EBUSY) {
                err_say(err, CELLA_INVALID_REQUEST, r,
                        "limits.memory_bytes: the sandbox uses more than that");
                return err_hint(err, "end processes or remove files in it");
        }
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cgroup: cannot change the limits");
        sb->limits = *limits;
        return 0;
}

void handle_limits(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        const struct keeper_limits *asked = &packet->limits;
        struct cella_limits limits = entry->sandbox->limits;
        struct cella_err err = {0};
        if (asked->memory_bytes)
                limits.memory_bytes = asked->memory_bytes;
        if (asked->processes)
                limits.processes = asked->processes;
        if (asked->cpus_milli)
                limits.cpus_milli = asked->cpus_milli;
        int r = entry->state == SANDBOX_DEAD ? err_say(&err, CELLA_NOT_FOUND, -ESRCH, "the sandbox has ended")
                                             : limits_check(&limits, &err);
        if (r == 0)
                r = change_limits(entry->sandbox, &limits, &err);
        if (r < 0)
                keeper_fail(k, packet->number, &err);
        else
                done(k, entry, packet->number);
}

static int freeze(struct sandbox_entry *entry, struct cella_err *err)
{
        struct cgroup *cg = entry->sandbox->cgroup;
        if (entry->state == SANDBOX_DEAD)
                return err_say(err, CELLA_NOT_FOUND, -ESRCH, "the sandbox has ended");
        if (entry->state == SANDBOX_FREEZING)
                return err_say(err, CELLA_INVALID_REQUEST, -EBUSY, "the sandbox is being frozen already");
        int r = cg ? cgroup_freeze(cg) : -ENOTSUP;
        if (r == 0)
                return 0;
        if (r != -ENOTSUP)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cgroup: cannot freeze");
        err_say(err, CELLA_ISOLATION_UNAVAILABLE, r, "cgroup: this sandbox cannot be frozen");
        return err_hint(err, "it needs cgroup v2 or the freezer of v1, writable for cella");
}

void handle_freeze(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        struct cella_err err = {0};
        if (entry->state == SANDBOX_FROZEN) {
                done(k, entry, packet->number);
                return;
        }
        if (freeze(entry, &err) < 0) {
                keeper_fail(k, packet->number, &err);
                return;
        }
        if (cgroup_is_frozen(entry->sandbox->cgroup)) {
                entry->state = SANDBOX_FROZEN;
                done(k, entry, packet->number);
                return;
        }
        entry->state = SANDBOX_FREEZING;
        entry->number = packet->number;
        entry->deadline = clock_us() + FREEZE_PATIENCE_US;
        k->freezing++;
}

void handle_thaw(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        struct cella_err err = {0};
        int r = 0;
        if (entry->state == SANDBOX_DEAD)
                r = err_say(&err, CELLA_NOT_FOUND, -ESRCH, "the sandbox has ended");
        else if (entry->state != SANDBOX_LIVE && (r = cgroup_thaw(entry->sandbox->cgroup)) < 0)
                err_set(&err, CELLA_ISOLATION_UNAVAILABLE, r, "cgroup: cannot thaw");
        if (r < 0) {
                keeper_fail(k, packet->number, &err);
                return;
        }
        stop_freezing(k, entry, "the sandbox was thawed while it was being frozen");
        entry->state = SANDBOX_LIVE;
        done(k, entry, packet->number);
}

void handle_look(struct keeper *k, struct sandbox_entry *entry, int64_t now)
{
        if (entry->state == SANDBOX_FREEZING && cgroup_is_frozen(entry->sandbox->cgroup)) {
                k->freezing--;
                entry->state = SANDBOX_FROZEN;
                done(k, entry, entry->number);
        } else if (entry->state == SANDBOX_FREEZING && now >= entry->deadline) {
                cgroup_thaw(entry->sandbox->cgroup);
                stop_freezing(k, entry, "something in the sandbox cannot be frozen");
                entry->state = SANDBOX_LIVE;
        } else if (entry->state == SANDBOX_ENDING &&
                   (sandbox_try_reap(entry->sandbox) || now >= entry->deadline)) {
                keeper_finish(k, entry);
        }
}

void handle_death(struct keeper *k, struct sandbox_entry *entry)
{
        const struct keeper_about died = {.type = KEEPER_DIED, .sandbox = entry->handle};
        if (entry->state == SANDBOX_ENDING || entry->state == SANDBOX_LOST) {
                keeper_finish(k, entry);
                return;
        }
        stop_freezing(k, entry, "the sandbox ended while it was being frozen");
        entry->state = SANDBOX_DEAD;
        keeper_reply(k, &died, sizeof died, -1);
}

void handle_drop(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        (void)entry;
        int r = k->setup->volumes >= 0 ? volume_remove(k->setup->volumes, packet->drop.name) : 0;
        if (r < 0)
                log_error(packet->drop.name, "cannot remove its volume: %s", strerror(-r));
}

void handle_check_root(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        struct cella_err err = {0};
        const struct keeper_about done = {.type = KEEPER_DONE, .number = packet->number};
        (void)entry;
        if (workspace_check_root(&k->setup->policy, packet->root.root, &err) < 0)
                keeper_fail(k, packet->number, &err);
        else
                keeper_reply(k, &done, sizeof done, -1);
}
