/* core/sandbox/keeper.c -- requests about a sandbox to the process that made it: the keeper, one of its
 * workers, or cella-docker.
 *
 * The cgroups of a sandbox out of a pool were used before, and the keeper has their files open.  It lends
 * these files to us, so that the end of an execution needs no request: two wake-ups less before the answer.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/docker.h"
#include "core/mount.h"
#include "core/sandbox/sandbox.h"
#include "core/sandbox/workers.h"
#include "core/sandbox/workspace.h"

static struct keeper_link *link_of(const struct core_sandbox *sb)
{
        if (sb->engine == ENGINE_DOCKER)
                return docker_link(sb->core->docker);
        return sb->worker ? sb->worker->link : sb->core->keeper;
}

int sandbox_ask(struct core_sandbox *sb, enum keeper_request type, keeper_answer answer, void *context)
{
        return keeper_link_ask(link_of(sb), type, sb->handle, answer, context);
}

int sandbox_send(struct core_sandbox *sb, void *packet, size_t len, keeper_answer answer, void *context)
{
        struct keeper_link *link = link_of(sb);
        return link ? keeper_link_send(link, packet, len, answer, context) : -EPIPE;
}

void sandbox_ask_forget(struct core *core, const void *context)
{
        keeper_link_forget(core->keeper, context);
        workers_forget(core, context);
        docker_forget(core->docker, context);
}

bool sandbox_has_network(const struct core_sandbox *sb)
{
        return sb->network.tier != TIER_RESTRICTED;
}

static int fill_workspace(const struct core_sandbox *sb, struct keeper_make *make, struct cella_err *err)
{
        const char *root = sb->core->settings.workspace_root;
        if (sb->workspace != WORKSPACE_NONE) {
                if (!root || strlen(root) >= sizeof make->root)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "workspace_root is not set");
                memcpy(make->root, root, strlen(root) + 1);
                memcpy(make->name, sb->agent, sizeof make->name); /* short enough: see names_directory() */
                make->workspace = sb->workspace == WORKSPACE_READ_ONLY ? KEEPER_READ_ONLY : KEEPER_READ_WRITE;
        } else if (sb->directory[0]) {
                memcpy(make->name, sb->directory, sizeof make->name);
                make->workspace = KEEPER_PERSISTENT;
                return workspace_make(sb->core, sb->directory, err);
        }
        return 0;
}

/* A sandbox that was stopped and starts again uses the image that its name refers to now. */
static int fill_image(struct core_sandbox *sb, struct keeper_make *make, struct cella_err *err)
{
        if (sb->engine == ENGINE_DOCKER) { /* cella-docker looks the image up */
                memcpy(make->image, sb->image_name, strlen(sb->image_name) + 1);
                make->pulls = sb->image->pulls;
                return 0;
        }
        if (sb->persistent) {
                struct used_image *now;
                int r = used_image_find(sb->core, sb->image_name, &now, err);
                if (r < 0)
                        return r;
                used_image_unref(sb->image);
                sb->image = now;
        }
        const struct image *image = used_image_get(sb->image);
        if (image) {
                memcpy(make->image, image->id, sizeof image->id);
                make->uid = image->uid;
                make->gid = image->gid;
        }
        return 0;
}

int sandbox_make(struct core_sandbox *sb, keeper_answer answer, struct cella_err *err)
{
        struct keeper_make_mounts with_mounts; /* large: only the used part of the mounts is set */
        with_mounts.make = (struct keeper_make){
                .required = sb->required,
                .long_lived = !sb->one_shot,
                .network = sandbox_has_network(sb),
                .direct = sb->direct,
                .limits = sb->limits,
        };
        struct keeper_make *make = &with_mounts.make;
        memcpy(make->id, sb->id, sizeof make->id);
        int r = fill_image(sb, make, err);
        if (r == 0)
                r = fill_workspace(sb, make, err);
        if (r == 0)
                r = mount_fill(&sb->core->settings, sb->mounts, &with_mounts, err);
        if (r < 0)
                return r;
        /* The keeper removes the volumes of persistent workspaces, so only the keeper opens them. */
        const bool by_keeper = sb->engine == ENGINE_DOCKER || make->workspace == KEEPER_PERSISTENT;
        sb->worker = by_keeper ? NULL : workers_choose(sb->core);
        r = sb->engine == ENGINE_DOCKER ? docker_make(sb->core->docker, &with_mounts, answer, sb)
                                        : keeper_link_make(link_of(sb), make, answer, sb);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot ask the keeper for a sandbox") : 0;
}

void sandbox_close_counters(struct core_sandbox *sb)
{
        for (int i = 0; i < N_COUNTERS && sb->has_files; i++)
                if (sb->files.fd[i] >= 0)
                        close(sb->files.fd[i]);
        sb->has_files = false;
}

void sandbox_take_counters(struct core_sandbox *sb)
{
        sandbox_close_counters(sb);
        keeper_link_take_counters(link_of(sb), &sb->files);
        sb->has_files = true;
        /* All that the result of an execution needs, or none. */
        if (sb->files.fd[MEMORY_PEAK] < 0 || sb->files.fd[OOM_KILLS] < 0 || sb->files.fd[PIDS_REFUSED] < 0)
                sandbox_close_counters(sb);
}

bool sandbox_counted(const struct core_sandbox *sb, bool cpu, struct keeper_counted *ret)
{
        struct counters files = sb->files;
        struct cgroup_usage usage;
        if (!sb->has_files)
                return false;
        if (!cpu) /* the most expensive one */
                files.fd[CPU_US] = -1;
        *ret = (struct keeper_counted){.type = KEEPER_COUNTED, .sandbox = sb->handle, .read_us = clock_us()};
        counters_usage(&files, &usage);
        counters_tell(&usage, ret);
        return true;
}

int sandbox_count(struct core_sandbox *sb, keeper_answer answer, void *context)
{
        return sandbox_ask(sb, KEEPER_COUNT, answer, context);
}
