/* keeper/process/process.h -- the keeper as a process: the only one of the daemon with privilege.
 *
 * One thread, one loop, nothing that waits for anybody else.  It parses fixed-size packets and
 * nothing more. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "keeper/process/cells.h"
#include "keeper/process/docker.h"
#include "keeper/process/egress.h"
#include "keeper/process/imager.h"
#include "keeper/process/outbox.h"
#include "keeper/process/stock.h"
#include "keeper/process/workspace.h"

struct keeper_setup {
        int socket; /* to the server, see wire/keeper.h */
        pid_t server;
        int server_pidfd;
        struct workspace_policy policy;
        int volumes;              /* state/volumes, see volume.h; -1: none here */
        const char *images_state; /* the state directory whose images are used; store: STATE/images */
        const char *store;
        const char *imager_program; /* cella-image; NULL: not installed.  It runs as policy.owner: */
        bool imager_change_user;
        unsigned imager_gid;
};

/* Groups that the kernel was not done with when their sandbox was. */
struct keeper_remains {
        struct keeper_remains *next;
        struct cgroup *cgroup;
        int64_t until;
};

struct keeper {
        const struct keeper_setup *setup;
        struct cells cells;
        struct outbox outbox;
        int epoll, signals;
        int program;              /* init's, shared by all */
        struct cgroup_home *home; /* NULL: this user has no groups */
        struct cgroup *quota;     /* an empty group with a CPU limit, see process.c */
        bool privileged;          /* sandbox_is_privileged() */
        uint64_t files_max;       /* descriptors that we may have.  Where code is the same user as we, the
                                   * kernel takes none from us while more than that are on their way: so it
                                   * may have half as many. */
        uint64_t ignored;         /* sys_ignored_signals(), which never changes */
        struct stock stock;
        struct keeper_egress egress;
        struct keeper_imager imager;
        struct keeper_docker docker;
        struct keeper_remains *remains;
        unsigned freezing, ending; /* cells in these states */
        int64_t tick_at;           /* when to look at what no descriptor tells of */
        int64_t stop_by;           /* when a stopping server is killed; 0: it is not stopping */
        bool server_gone;
        int server_status;
        bool over; /* all must end */
        bool failed;
};

/* Runs until the server has ended, and ends everything.  Returns the process's exit status. */
int keeper_run(const struct keeper_setup *setup);

/* What the handlers need. */
void keeper_reply(struct keeper *k, const void *packet, size_t len, int fd);
int keeper_reply_with(struct keeper *k, const void *packet, size_t len, const struct outbox_rights *rights);
int keeper_watch(struct keeper *k, const struct cell *cell);
int keeper_watch_egress(struct keeper *k, int pidfd);
int keeper_watch_imager(struct keeper *k, int pidfd);
int keeper_watch_docker(struct keeper *k, int pidfd);
void keeper_finish(struct keeper *k, struct cell *cell);
/* Ready ones with these limits, which the caller frees; or NULL. */
struct stock_groups keeper_take_groups(struct keeper *k, const struct cella_limits *limits);
void keeper_count(struct sandbox *sandbox, struct keeper_counted *ret);
void keeper_fail(struct keeper *k, uint32_t number, const struct cella_err *err);

#define KEEPER_TICK_US 2000
