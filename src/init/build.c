/* init/build.c -- handles INIT_BUILD: sets up the sandbox. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "init/init.h"
#include "init/refused.h"
#include "init/strangers.h"
#include "init/task.h"
#include "jail/enter.h"
#include "sys/file.h"
#include "sys/process.h"

/* The result points into data; every string must end within it. */
static int init_build_parse(const struct message *message, char *data, struct init_build *head,
                            struct jail_mount *mounts, struct jail_spec *ret)
{
        struct init_mount mount;
        char *end = data + message->len;
        if (message->type != INIT_BUILD || message->len < sizeof *head)
                return -EPROTO;
        memcpy(head, data, sizeof *head);
        if (head->n_mounts > INIT_MOUNTS_MAX || message->len < sizeof *head + head->n_mounts * sizeof mount)
                return -EPROTO;
        char *text = data + sizeof *head + head->n_mounts * sizeof mount;
        for (uint32_t i = 0; i < head->n_mounts; i++) {
                const char *strings[2];
                memcpy(&mount, data + sizeof *head + i * sizeof mount, sizeof mount);
                for (int s = 0; s < 2; s++) {
                        char *nul = memchr(text, '\0', (size_t)(end - text));
                        if (!nul)
                                return -EPROTO;
                        strings[s] = text;
                        text = nul + 1;
                }
                mounts[i] = (struct jail_mount){strings[0], strings[1], mount.writable != 0, mount.idmap_fd,
                                                mount.tree_fd};
        }
        const unsigned n_view = head->view != JAIL_VIEW_OWN;
        const unsigned n_netns = head->together && head->has_netns;
        if (head->view > JAIL_VIEW_TAKES || message->n_fds < n_view + n_netns ||
            (!head->together && message->n_fds > n_view) ||
            (head->view != JAIL_VIEW_OWN &&
             (head->n_mounts > 0 || head->network || head->direct || !head->privileged)))
                return -EPROTO;
        const unsigned image = head->n_mounts > 0 && !strcmp(mounts[0].target, "/");
        *ret = (struct jail_spec){
                .walls = head->walls,
                .privileged = head->privileged != 0,
                .host_uid = head->host_uid,
                .host_gid = head->host_gid,
                .inner_uid = head->inner_uid,
                .inner_gid = head->inner_gid,
                .several = head->several != 0,
                .network = head->network != 0,
                .direct = head->direct != 0,
                .view = (enum jail_view)head->view,
                .view_fd = n_view ? message->fds[0] : -1,
                .view_tag = message->tag,
                .limits = head->limits,
                .mounts = mounts + image,
                .n_mounts = head->n_mounts - image,
                .image = image ? mounts : NULL,
                .together = head->together != 0,
                .netns_fd = n_netns ? message->fds[message->n_fds - 1] : -1,
                .proc_fd = -1,
                .user_fd = -1,
                .census_fd = -1,
                .own_proc_fd = -1,
                .n_ids = 1,
                .listener_fd = -1,
        };
        return head->together ? jail_set_groups(ret, &head->groups, message->fds + n_view,
                                                message->n_fds - n_view - n_netns)
                              : 0;
}

/* Root could install packages into the image, where they end with the sandbox.  pip shall install them into
 * PYTHONUSERBASE, which is in the workspace.  This file, and no variable, because pip reads it only for the
 * Python that has this prefix: in a virtual environment, installing for the user is an error. */
static void keep_packages(void)
{
        static const struct {
                const char *python, *settings;
        } places[] = {
                {"/usr/local/bin/python3", "/usr/local/pip.conf"},
                {"/usr/bin/python3", "/usr/pip.conf"},
                {"/opt/conda/bin/python3", "/opt/conda/pip.conf"},
        };
        static const char text[] = "[install]\nuser = true\n";
        struct statx st;
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                if (sys_statx(AT_FDCWD, places[i].python, 0, STATX_TYPE, &st) < 0)
                        continue;
                int fd = sys_openat(AT_FDCWD, places[i].settings, O_WRONLY | O_CREAT | O_EXCL, 0644);
                if (fd < 0)
                        continue; /* the image has its own */
                sys_write_all(fd, text, sizeof text - 1);
                sys_close(fd);
        }
}

int build(const struct message *message, char *data, struct init_ready *ret, struct cella_err *err)
{
        static BULKY struct jail_mount mounts[INIT_MOUNTS_MAX];
        struct init_build head;
        struct jail_spec spec;
        int r = init_build_parse(message, data, &head, mounts, &spec);
        if (r < 0)
                return err_say(err, CELLA_INTERNAL, r, "the INIT_BUILD message is missing or invalid");
        sys_default_signals(head.ignored);
        r = jail_enter(&spec, INIT_CONTROL_FD, err);
        if (r == 0 && spec.several)
                strangers_see_all(JAIL_CENSUS_FD);
        if (r == 0 && spec.several && spec.image && spec.inner_uid == 0)
                keep_packages();
        refused_listen(spec.listener_fd);
        tasks_limit_disk(spec.limits.disk_bytes);
        ret->walls = spec.walls | (spec.n_ids > 1 ? WALLS_SEVERAL_USERS : 0);
        ret->cpu_us = spec.cpu_outside_us;
        return r;
}
