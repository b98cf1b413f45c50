/* box/execution_start.c -- the messages that start a command: its files, the code's file, itself. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "box/execution_parts.h"
#include "box/operation.h"
#include "engine/command.h"

#define SPAWN_TICK_US 1000

struct cella_command execution_command(const struct execution *ex)
{
        const struct exec_request *r = &ex->request;
        return (struct cella_command){
                .argv = (const char *const *)r->argv,
                .runtime = r->runtime,
                .code = r->code,
                .code_len = r->code_len,
                .env = (const char *const *)r->env,
                .cwd = r->cwd,
                .stdin_fd = -1,
                .cancel_fd = -1,
        };
}

static void fail(struct execution *ex, int r, const char *what)
{
        struct cella_err err = {0};
        err_set(&err, r == -ENOBUFS || r == -EMFILE || r == -ENFILE ? CELLA_OVER_CAPACITY : CELLA_INTERNAL, r,
                "%s", what);
        execution_fail(ex, &err);
}

static int send_spawn(struct execution *ex, struct command_form *form, struct cella_err *err)
{
        struct box_sandbox *sb = ex->task.sandbox;
        int theirs[3];
        form->head.flags =
                (ex->kind != EXECUTION_PLAIN ? INIT_TELL_STARTED : 0) | (sb->one_shot ? INIT_ALONE : 0);
        if (ex->kind == EXECUTION_TERMINAL) {
                form->head.flags |= INIT_TERMINAL;
                form->head.columns = ex->columns;
                form->head.rows = ex->rows;
        } else {
                int r = execution_open_io(ex, theirs, err);
                if (r < 0)
                        return r;
        }
        int r = channel_send(sb->channel, INIT_SPAWN, ex->tag, theirs, ex->kind == EXECUTION_TERMINAL ? 0 : 3,
                             &form->head, sizeof form->head, form->data, form->len);
        return r < 0 ? err_set(err, r == -ENOBUFS ? CELLA_OVER_CAPACITY : CELLA_INTERNAL, r,
                               "cannot talk to the sandbox")
                     : 0;
}

/* The code's own file, where it cannot go as an argument. */
static int send_file(struct execution *ex, const char *name)
{
        const struct exec_request *r = &ex->request;
        struct init_put_file head = {.mode = 0644, .name_len = (uint32_t)strlen(name)};
        char front[sizeof head + 256];
        memcpy(front, &head, sizeof head);
        memcpy(front + sizeof head, name, head.name_len);
        ex->due = INIT_DONE;
        return channel_send(ex->task.sandbox->channel, INIT_PUT_FILE, ex->tag, NULL, 0, front,
                            sizeof head + head.name_len, r->code, r->code_len);
}

/* The clock that files are stamped with. */
static void coarse_now(struct timespec *ret)
{
        clock_gettime(CLOCK_REALTIME_COARSE, ret);
}

static void spawn(struct execution *ex, bool file_is_there)
{
        struct box_sandbox *sb = ex->task.sandbox;
        const struct cella_command command = execution_command(ex);
        const struct command_place place = {.foreign_home = sb->workspace != WORKSPACE_NONE,
                                            .slot = (unsigned)ex->slot};
        AUTO(command_form_done) struct command_form form = {0};
        struct cella_err err = {0};
        int r = command_fill(&form, &place, &command, &err);
        if (r == 0 && form.file_name[0] && !file_is_there) {
                if ((r = send_file(ex, form.file_name)) < 0)
                        fail(ex, r, "cannot send the code");
                return;
        }
        if (r == 0) {
                coarse_now(&ex->since);
                r = send_spawn(ex, &form, &err);
        }
        if (r < 0) {
                execution_fail(ex, &err);
                return;
        }
        ex->spawned = true;
        execution_log_begin(ex);
        if (sb->ready)
                execution_clock_start(ex);
}

static void put_next(struct execution *ex)
{
        struct put_file *f = &ex->request.files[ex->files_put];
        ex->due = INIT_EXITED;
        int r = operation_put(ex->task.sandbox, ex->tag, f->path, f->data, f->len);
        if (r < 0)
                fail(ex, r, "cannot send a file");
}

void execution_begin(struct execution *ex)
{
        execution_clock_begin(ex);
        if (ex->request.n_files > 0)
                put_next(ex);
        else
                spawn(ex, false);
}

static void file_was_put(struct execution *ex, const char *data)
{
        struct init_exited exited;
        memcpy(&exited, data, sizeof exited);
        if (exited.wait_status != 0) {
                struct cella_err err = {0};
                operation_explain(exited.wait_status, ex->request.files[ex->files_put].path, &err);
                execution_fail(ex, &err);
        } else if (++ex->files_put < ex->request.n_files) {
                put_next(ex);
        } else if (ex->request.list_files) { /* what it changes must not look as old as what we wrote */
                coarse_now(&ex->since);
                execution_clock_spawn(ex, SPAWN_TICK_US);
        } else {
                spawn(ex, false);
        }
}

void execution_spawn(struct execution *ex)
{
        struct timespec now;
        coarse_now(&now);
        /* It goes in steps of some milliseconds, and on an idle machine of more. */
        if (now.tv_sec == ex->since.tv_sec && now.tv_nsec == ex->since.tv_nsec)
                execution_clock_spawn(ex, SPAWN_TICK_US);
        else if (!ex->over && ex->task.sandbox && ex->task.sandbox->channel && !ex->task.sandbox->died)
                spawn(ex, false); /* if it has died, on_lost() is on its way */
}

void execution_hear_start(struct execution *ex, uint32_t type, const char *data)
{
        ex->due = 0;
        if (type == INIT_EXITED) {
                file_was_put(ex, data);
        } else if (type == INIT_DONE) {
                spawn(ex, true);
        } else {
                const struct cella_command command = execution_command(ex);
                struct cella_err cause, err = {0};
                memcpy(&cause, data, sizeof cause);
                command_explain(&command, cause.num < 0 ? cause.num : -EIO, &err);
                execution_fail(ex, &err);
        }
}
