/* keeper/spawn/spawn.c -- the child process from its clone until it executes init. */
#include "keeper/spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/err.h"
#include "jail/identity.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "sys/socket.h"
#include "wire/message.h"

#define INIT_PATIENCE_S 30 /* enough for init to answer on a busy machine */

/* Memory of the child until it executes init.  The child shares the caller's memory (sys_spawn()), so this
 * must live as long. */
struct spawn {
        struct sys_stack stack;
        struct jail_spec spec;
        int control, program;
        bool waits;    /* for its maps */
        int owner_end; /* of the control socket */
        int idmaps[INIT_MOUNTS_MAX];
        int trees[INIT_MOUNTS_MAX];
};

struct spawn *spawn_new(void)
{
        return malloc(sizeof(struct spawn));
}

int spawn_make_control(struct sandbox *sb, struct making *m, struct cella_err *err)
{
        const struct timeval patience = {.tv_sec = INIT_PATIENCE_S};
        int pair[2];
        int r = message_pair(pair);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot create a socket");
        sb->control = pair[0];
        m->child_control = sys_dup_above(pair[1], INIT_FREE_FD);
        sys_close(pair[1]);
        if (m->child_control < 0)
                return err_set(err, CELLA_INTERNAL, m->child_control, "cannot create a socket");
        /* An incomplete message must not block the caller. */
        sys_call5(SYS_setsockopt, sb->control, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sys_call5(SYS_setsockopt, sb->control, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        return 0;
}

/* init enters the other namespaces later: network, cgroup and the code's user namespace. */
static uint64_t clone_flags(const struct jail_spec *spec)
{
        /* JAIL_VIEW_TAKES: init copies the shared view instead of the host's mounts. */
        uint64_t flags = spec->view == JAIL_VIEW_TAKES ? 0 : CLONE_NEWNS;
        if (!spec->privileged)
                flags |= CLONE_NEWUSER;
        if (spec->walls & WALL_PID)
                flags |= CLONE_NEWPID;
        if (spec->walls & WALL_IPC)
                flags |= CLONE_NEWIPC;
        if (spec->walls & WALL_UTS)
                flags |= CLONE_NEWUTS;
        return flags;
}

/* In the child: waits until the owner has written the maps.  false: it has not, and cannot. */
static bool wait_for_maps(const struct spawn *n)
{
        char mapped = 0;
        sys_close(n->owner_end); /* our copy; with it, the death of the owner would not end the wait */
        return sys_read(n->control, &mapped, 1) == 1 && mapped;
}

/* Runs in the child.  It has a copy of the keeper's descriptors; all of them are close-on-exec, so init gets
 * only those that are passed on here.  init closes all others once more (jail/enter.c). */
static void become_init(void *arg)
{
        struct spawn *n = arg;
        char *const argv[] = {"init", NULL}, *const env[] = {NULL};
        struct cella_err err = {0};
        char path[32];
        int r;
        /* Before the exec: if the program's owner is not mapped, the exec makes init undumpable, and init
         * cannot write its own maps. */
        if (!n->spec.privileged && !(n->waits && wait_for_maps(n)) && identity_map_self(&n->spec, &err) < 0)
                goto failed;
        for (size_t i = 0; i < n->spec.n_mounts; i++) {
                if (n->idmaps[i] >= 0)
                        sys_call3(SYS_fcntl, n->idmaps[i], F_SETFD, 0);
                if (n->trees[i] >= 0)
                        sys_call3(SYS_fcntl, n->trees[i], F_SETFD, 0);
        }
        if ((r = sys_dup3(n->control, INIT_CONTROL_FD, 0)) >= 0)
                r = sys_execveat(n->program, "", argv, env, AT_EMPTY_PATH);
        if (r == -ENOENT || r == -ENOSYS) { /* environments (emulators, seccomp filters) without execveat() */
                snprintf(path, sizeof path, "/proc/self/fd/%d", n->program);
                r = (int)sys_call3(SYS_execve, path, argv, env);
        }
        err_set(&err, CELLA_ISOLATION_UNAVAILABLE, r, "cannot start init");
failed:
        message_send(n->control, INIT_FAILED, 0, NULL, 0, &err, sizeof err, NULL, 0);
        sys_exit(1);
}

/* Writes the maps of the waiting child.  If that is not possible, it has one user. */
static int map_child(struct sandbox *sb, struct making *m, struct cella_err *err)
{
        int dumpable = sys_prctl(PR_GET_DUMPABLE, 0, 0);
        /* The /proc files of the child, which still shares our memory, must belong to the user. */
        sys_prctl(PR_SET_DUMPABLE, 1, 0);
        int r = subordinate_map(&m->ids, sb->pid);
        const char mapped = r == 0 ? 1 : 0;
        sys_prctl(PR_SET_DUMPABLE, (unsigned long)dumpable, 0);
        if (r == -EAGAIN) {
                m->spec.n_ids = 1;
                m->spec.set_id = false;
        } else if (r < 0) {
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "user: cannot map subordinate ids");
        }
        sys_send(sb->control, &mapped, 1, 0); /* if the child is dead, the next message fails, too */
        return 0;
}

int spawn_child(struct sandbox *sb, struct making *m, struct cella_err *err)
{
        int cgroup_fd = sb->cgroup ? cgroup_clone_fd(sb->cgroup) : -1;
        struct spawn *n = sb->spawn;
        n->spec = m->spec;
        n->control = m->child_control;
        n->program = m->program;
        n->waits = !m->spec.privileged && m->spec.n_ids > 1;
        n->owner_end = sb->control;
        for (size_t i = 0; i < m->spec.n_mounts; i++) {
                n->idmaps[i] = m->mounts[i].idmap_fd;
                n->trees[i] = m->mounts[i].tree_fd;
        }
        /* No signal handler of the caller may run in the child. */
        sys_block_signals(&m->signals);
        uint64_t flags = clone_flags(&m->spec);
        pid_t pid = sys_spawn(flags, cgroup_fd, &sb->pidfd, &n->stack, become_init, n);
        if (pid == -ENOSYS)
                pid = sys_spawn(flags, cgroup_fd = -1, &sb->pidfd, &n->stack, become_init, n);
        sys_restore_signals(&m->signals);
        if (pid > 0) {
                sb->pid = pid;
                m->cloned_into_cgroup = cgroup_fd >= 0;
                sys_close(TAKE_FD(m->child_control));
                return n->waits ? map_child(sb, m, err) : 0;
        }
        err_set(err, CELLA_ISOLATION_UNAVAILABLE, pid, "user: cannot make namespaces");
        if (pid == -EPERM || pid == -ENOSPC || pid == -EUSERS)
                return err_hint(
                        err,
                        "allow user namespaces (sysctl user.max_user_namespaces, "
                        "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), "
                        "or run as root");
        return pid;
}
