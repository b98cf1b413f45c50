/* keeper/spawn/sandbox.c -- an existing sandbox: waits until it is ready, reads its counters, ends it. */
#include "keeper/spawn/sandbox.h"

#include <errno.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/err.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "wire/init.h"
#include "wire/message.h"

#define DEATH_PATIENCE_US 10000000 /* time for the kernel to end killed processes */

/* Takes the sockets of INIT_NETWORK, which init sends once, before the walls forbid to make sockets.  Returns
 * whether the message was that. */
static bool take_way_out(struct sandbox *sb, struct message *m)
{
        if (m->type != INIT_NETWORK || m->len > 0 || m->n_fds != 2 || !sb->network || sb->way_out[0] >= 0)
                return false;
        memcpy(sb->way_out, m->fds, sizeof sb->way_out);
        m->n_fds = 0;
        return true;
}

int sandbox_wait_ready(struct sandbox *sb, struct cella_err *err)
{
        struct message m;
        struct init_ready ready;
        char data[INIT_REPLY_MAX];
        int r;
        if (sb->ready)
                return 0;
        do {
                r = message_receive(sb->control, &m, data, sizeof data);
        } while (r > 0 && take_way_out(sb, &m));
        if (r > 0)
                message_close_fds(&m);
        if (r > 0 && m.type == INIT_READY && m.len == sizeof ready && sb->network == (sb->way_out[0] >= 0)) {
                memcpy(&ready, data, sizeof ready);
                sb->walls = ready.walls;
                sb->ready_us = ready.at_us <= clock_us() ? ready.at_us : 0;
                sb->cpu_made_us = ready.cpu_us;
                sb->ready = true;
                return 0;
        }
        if (r > 0 && m.type == INIT_FAILED && m.len == sizeof *err) {
                memcpy(err, data, sizeof *err);
                err->msg[sizeof err->msg - 1] = err->hint[sizeof err->hint - 1] = '\0';
                return err->num < 0 ? err->num : -EIO;
        }
        return err_say(err, CELLA_INTERNAL, -EIO, "the sandbox ended before it was ready");
}

bool sandbox_has_ended(const struct sandbox *sb)
{
        return sb->remote ? !sb->context : sb->pid <= 0;
}

bool sandbox_usage(struct sandbox *sb, struct cgroup_usage *ret)
{
        if (sb->remote)
                return sb->context && sb->remote->usage(sb->context, ret);
        if (!sb->cgroup)
                return false;
        cgroup_read_usage(sb->cgroup, ret);
        if (!ret->cpu_known) {
                ret->cpu_us = sb->cut_off_cpu_us;
                ret->cpu_known = ret->cpu_us > 0;
        }
        return true;
}

void sandbox_cut_off(struct sandbox *sb)
{
        if (sb->cgroup && sb->pid > 0 && !sb->cut_off_cpu_us)
                sb->cut_off_cpu_us = cgroup_uncounted_cpu_us(sb->cgroup);
        sandbox_kill(sb);
}

void sandbox_kill(struct sandbox *sb)
{
        if (sb->remote && sb->context)
                sb->remote->kill(sb->context);
        if (sb->pid <= 0)
                return;
        if (sb->cgroup)
                cgroup_unthrottle(sb->cgroup);
        /* init needs CPU time to die and to kill the others, even if they use all of it.  Only root may raise
         * its priority. */
        sys_call3(SYS_setpriority, PRIO_PROCESS, sb->pid, -20);
        /* If that is not permitted, init exits when the socket is closed. */
        if (sys_end_child(sb->pid, sb->pidfd) < 0)
                sys_close(TAKE_FD(sb->control));
        if (sb->cgroup)
                cgroup_let_die(sb->cgroup);
}

/* Opens the user namespace of a sandbox before it is reaped: its credentials exist until then.  init may not
 * have entered the namespace yet, or its maps may be incomplete; the gid map is written last.  It is read
 * after the namespace was opened: if init enters its namespace in between, there is no map yet. */
static void keep_user(struct sandbox *sb)
{
        char path[32], map[40];
        uid_t owner;
        if (!sb->keep_user || sb->user >= 0 || sb->pid <= 0)
                return;
        snprintf(path, sizeof path, "/proc/%d/ns/user", (int)sb->pid);
        AUTO(sys_close) int user = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
        if (user < 0 || sys_call3(SYS_ioctl, user, NS_GET_OWNER_UID, &owner) < 0 || owner != sb->host_uid)
                return;
        snprintf(path, sizeof path, "/proc/%d/gid_map", (int)sb->pid);
        if (sys_read_file(AT_FDCWD, path, map, sizeof map) > 0)
                sb->user = TAKE_FD(user);
}

bool sandbox_try_reap(struct sandbox *sb)
{
        keep_user(sb);
        if (sb->pid > 0 && sys_wait(sb->pid, NULL, __WALL | WNOHANG, NULL) != 0)
                sb->pid = 0; /* negative: no such child, because the caller ignores SIGCHLD */
        return sb->pid <= 0;
}

void sandbox_reap(struct sandbox *sb)
{
        struct pollfd fd = {sb->pidfd, POLLIN, 0};
        if (sb->remote && sb->context)
                sb->remote->reap(sb->context);
        if (sb->pid <= 0)
                return;
        sandbox_kill(sb);
        /* A process may hang in the kernel, for example on a dead network file system.  Do not wait for it;
         * the next sweep removes the group. */
        if (sys_poll(&fd, 1, DEATH_PATIENCE_US) <= 0)
                return;
        sys_wait(sb->pid, NULL, __WALL, NULL); /* fails if the caller ignores SIGCHLD */
        sb->pid = 0;
}

struct sandbox *sandbox_free(struct sandbox *sb)
{
        if (!sb)
                return NULL;
        sys_close(sb->control);
        if (sb->remote && sb->context)
                sb->remote->free(TAKE(sb->context));
        sandbox_reap(sb);
        sys_close(sb->pidfd);
        sys_close(sb->image);
        netns_let_go(&sb->netns);
        sys_close(sb->user);
        sys_close(sb->way_out[0]);
        sys_close(sb->way_out[1]);
        cgroup_free(sb->cgroup);
        sys_close(sb->id_range);
        if (sb->pid <= 0) /* otherwise the kernel could not end it, and it may still use this memory */
                free(sb->spawn);
        free(sb);
        return NULL;
}
