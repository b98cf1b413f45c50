#include "keeper/process/imager.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/auto.h"
#include "base/err.h"
#include "keeper/process/dispatch.h"
#include "keeper/process/log.h"
#include "keeper/process/state_dir.h"
#include "keeper/spawn/imager_process.h"
#include "sys/file.h"
#include "sys/process.h"
#include "wire/keeper.h"

void keeper_imager_init(struct keeper_imager *im)
{
        *im = (struct keeper_imager){.child = CHILD_NONE};
}

static int start(struct keeper *k, int *ret_socket, struct cella_err *err)
{
        const struct keeper_setup *s = k->setup;
        if (!s->imager_program) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -ENOENT, "cella-image is not installed");
                return err_hint(err, "./dev install puts it in place");
        }
        AUTO(sys_close) int store = state_dir_images(s->images_state, s->policy.owner, s->imager_gid, err);
        if (store < 0)
                return store;
        const struct imager_setup setup = {.program = s->imager_program,
                                           .store = store,
                                           .change_user = s->imager_change_user,
                                           .uid = s->policy.owner,
                                           .gid = s->imager_gid};
        int r = imager_process_start(&setup, &k->imager.child, ret_socket, err);
        if (r < 0)
                return r;
        k->imager.lives = true;
        r = keeper_watch(k, k->imager.child.pidfd, ON_IMAGER_DEATH);
        if (r < 0) {
                sys_close(TAKE_FD(*ret_socket));
                keeper_imager_done(&k->imager);
                return err_set(err, CELLA_INTERNAL, r, "cannot watch cella-image");
        }
        return 0;
}

static void answer(struct keeper *k, uint32_t number)
{
        const struct keeper_about about = {.type = KEEPER_IMAGER, .number = number};
        struct cella_err err = {0};
        int socket = -1;
        if (start(k, &socket, &err) < 0) {
                log_error(NULL, "images cannot be used: %s", err.msg);
                keeper_fail(k, number, &err);
        } else {
                keeper_reply(k, &about, sizeof about, socket);
        }
}

void handle_imager(struct keeper *k, struct sandbox_entry *entry, const union dispatch_packet *packet)
{
        struct keeper_imager *im = &k->imager;
        struct cella_err err = {0};
        (void)entry;
        if (!im->lives) {
                answer(k, packet->number);
                return;
        }
        if (im->wanted) { /* the server sends one request at a time */
                err_say(&err, CELLA_INTERNAL, -EBUSY, "cella-image is being started already");
                keeper_fail(k, packet->number, &err);
                return;
        }
        /* The server no longer uses the old process, which may not have noticed it yet. */
        im->wanted = packet->number;
        child_kill(&im->child);
}

void keeper_imager_died(struct keeper *k)
{
        struct keeper_imager *im = &k->imager;
        struct cella_err err = {0};
        uint32_t wanted = im->wanted;
        int status = 0;
        if (!im->lives || sys_wait(im->child.pid, &status, __WALL | WNOHANG, NULL) == 0)
                return;
        im->child.pid = 0;
        if (child_confirm(&im->child, "cella-image", &err) < 0)
                log_error(NULL, "%s", err.msg);
        else if (WIFSIGNALED(status) && !wanted)
                log_error(NULL, "cella-image was killed by signal %d", WTERMSIG(status));
        else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
                log_error(NULL, "cella-image ended with status %d", WEXITSTATUS(status));
        keeper_imager_done(im); /* this also closes the watched pidfd */
        if (wanted && k->stop_by == 0)
                answer(k, wanted);
}

void keeper_imager_done(struct keeper_imager *im)
{
        child_end(&im->child);
        keeper_imager_init(im);
}
