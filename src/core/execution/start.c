/* core/execution/start.c -- the messages that start a command: its files, the code's file, the command; and
 * the scan of the code. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/execution/internal.h"
#include "core/pool/pool.h"
#include "core/request/scan_job.h"
#include "core/sandbox/operation.h"
#include "engine/command.h"
#include "engine/hint.h"
#include "sys/process.h"

#define SPAWN_TICK_US 1000
#define SPAWN_STEP_NS_MAX 200000000 /* the file timestamp clock never has longer steps */
#define CONTROL_GIVEN_UP (-2)
#define MOVES_MAX 2

static void execution_spawn_command(struct execution *ex, bool file_is_there);

struct cella_command execution_command(const struct execution *ex)
{
        const struct exec_request *r = &ex->request;
        size_t len;
        const char *text = execution_text(ex, &len);
        return (struct cella_command){
                .argv = (const char *const *)r->argv,
                .runtime = r->runtime,
                .program = runtime_program(ex->core, r->runtime, ex->task.sandbox->image_name),
                .code = text,
                .code_len = len,
                .env = (const char *const *)r->env,
                .cwd = r->cwd,
                .stdin_fd = -1,
                .cancel_fd = -1,
        };
}

static void execution_fail_start(struct execution *ex, int r, const char *what)
{
        struct cella_err err = {0};
        err_set(&err, r == -ENOBUFS ? CELLA_OVER_CAPACITY : CELLA_INTERNAL, r, "%s", what);
        execution_fail(ex, &err);
}

/* Whether the command made every file that exists at the end. */
static bool lists_all(const struct execution *ex, const struct core_sandbox *sb)
{
        return ex->request.list_files && ex->request.n_files == 0 && sb->workspace == WORKSPACE_NONE;
}

static int send_spawn(struct execution *ex, struct command_form *form, struct cella_err *err)
{
        struct core_sandbox *sb = ex->task.sandbox;
        int theirs[4], n = 3;
        const bool lists = sb->one_shot && lists_all(ex, sb);
        ex->file_list = lists ? LIST_EXPECTED : LIST_ON_REQUEST;
        form->head.flags |= (ex->kind != EXECUTION_PLAIN ? INIT_TELL_STARTED : 0) |
                            (sb->one_shot ? INIT_ALONE : 0) | (lists ? INIT_LIST_ADDED : 0);
        if (ex->kind == EXECUTION_TERMINAL) {
                form->head.flags |= INIT_TERMINAL;
                form->head.columns = ex->columns;
                form->head.rows = ex->rows;
        } else {
                int r = execution_open_io(ex, theirs, err);
                if (r < 0)
                        return r;
                if (ex->values.program && (r = execution_values_open(ex, &theirs[n++])) < 0) {
                        for (int i = 0; i < 3; i++)
                                close(theirs[i]);
                        return err_set(err, CELLA_INTERNAL, r, "cannot create a socket");
                }
        }
        int r = channel_send(sb->channel, INIT_SPAWN, ex->tag, theirs,
                             ex->kind == EXECUTION_TERMINAL ? 0 : (unsigned)n, &form->head, sizeof form->head,
                             form->data, form->len);
        return r < 0 ? err_set(err, r == -ENOBUFS ? CELLA_OVER_CAPACITY : CELLA_INTERNAL, r,
                               "cannot talk to the sandbox")
                     : 0;
}

/* Sends the code as a file, if it cannot be passed as an argument. */
static int send_file(struct execution *ex, const struct command_form *form)
{
        size_t len;
        const char *text = execution_text(ex, &len), *name = form->file_name;
        struct init_put_file head = {.mode = 0644 | (form->in_workspace ? INIT_IN_WORKSPACE : 0),
                                     .name_len = (uint32_t)strlen(name)};
        char front[sizeof head + 256];
        memcpy(front, &head, sizeof head);
        memcpy(front + sizeof head, name, head.name_len);
        ex->due = INIT_DONE;
        return channel_send(ex->task.sandbox->channel, INIT_PUT_FILE, ex->tag, NULL, 0, front,
                            sizeof head + head.name_len, text, len);
}

/* Notes the time after which changed files count as changed by the code. */
static void mark_time(struct execution *ex)
{
        if (execution_had_nothing(ex)) /* not needed */
                return;
        operation_stamp(ex->task.sandbox, &ex->since);
}

/* A file of the request may have the same name as the script. */
static bool own_workspace(const struct execution *ex, const struct core_sandbox *sb)
{
        for (size_t i = 0; i < ex->request.n_files; i++)
                if (strstr(ex->request.files[i].path, "main."))
                        return false;
        return sb->one_shot && sb->workspace == WORKSPACE_NONE;
}

/* ---- a waiting interpreter, or one that is restored ---- */

static bool can_restore(struct execution *ex, const struct core_sandbox *sb)
{
        if (!sb->one_shot || sb->direct || sb->workspace != WORKSPACE_NONE ||
            ex->control == CONTROL_GIVEN_UP || ex->kind == EXECUTION_TERMINAL)
                return false;
        pool_how(ex->core, sb->image, ex->key, &ex->request, &ex->how);
        return ex->how.kind == WAITING_TEMPLATE;
}

static void execution_release_code(struct execution *ex, bool waited)
{
        struct core_sandbox *sb = ex->task.sandbox;
        const char *script = waiting_script(&ex->how);
        struct cella_err err = {0};
        int theirs[3];
        mark_time(ex);
        execution_log_begin(ex);
        int r = execution_open_io(ex, theirs, &err);
        ex->released_us = clock_us();
        if (r == 0 && !waited) {
                r = waiting_spawn_released(sb, ex->tag, &ex->how, &ex->request, ex->kind != EXECUTION_PLAIN,
                                           theirs, &ex->control, &err);
        } else if (r == 0) {
                r = waiting_release(ex->control, &ex->how, &ex->request, sb, theirs, &err);
                /* It has died.  init will report that, and the code is started again. */
                if (r == -EPIPE || r == -ECONNRESET) {
                        ex->undelivered = true;
                        r = 0;
                }
        }
        if (r < 0) {
                execution_fail(ex, &err);
                return;
        }
        snprintf(ex->script, sizeof ex->script, "%s", script ? script : "");
        ex->file_list = lists_all(ex, sb) ? LIST_EXPECTED : LIST_ON_REQUEST;
        execution_set_phase(ex, EXECUTION_RUNNING);
        if (sb->ready)
                execution_clock_start(ex);
        if (waited && ex->kind != EXECUTION_PLAIN)
                execution_started(ex, NULL, ex->pid);
        execution_scan_beside(ex);
}

/* Whether the interpreter, which is dead, had read the complete release message. */
static bool took_release(struct execution *ex)
{
        bool unread = false;
        const bool said = waiting_said(ex->control, !ex->waited, &ex->cpu_before_us, &unread);
        return !unread && !ex->undelivered && (ex->waited || said);
}

/* Resets the execution as if nothing had been sent. */
static void forget_start(struct execution *ex)
{
        if (ex->phase == EXECUTION_RUNNING)
                execution_set_phase(ex, EXECUTION_ATTACHED);
        if (ex->control >= 0)
                close(ex->control);
        ex->how = (struct waiting_how){.kind = WAITING_NOT, .template_fd = -1};
        ex->facts.exited = (struct init_exited){0};
        ex->facts.reported = false;
        ex->pid = 0;
        execution_close_io(ex);
        ex->in.at = ex->in.len = 0;
        ex->file_list = LIST_ON_REQUEST;
        ex->early_count = EARLY_NONE;
        ex->undelivered = false;
}

/* Starts the code normally if the interpreter ended, or could not be started, before it read the release
 * message: then nothing of the code has run.  This happens in the next loop iteration, because the current
 * one still handles the end. */
bool execution_start_again(struct execution *ex)
{
        if (ex->control < 0)
                return false;
        if (ex->facts.ending != END_BY_ITSELF || took_release(ex))
                return false; /* the code itself ended it */
        forget_start(ex);
        ex->control = CONTROL_GIVEN_UP;
        execution_clock_spawn(ex, 0);
        return true;
}

void execution_interpreter_died(struct execution *ex)
{
        forget_start(ex);
        ex->control = CONTROL_GIVEN_UP;
}

/* A pipe's state is final only when its reader is dead; a socket's when the other end is closed. */
bool execution_needs_deaths(const struct task *task)
{
        const struct execution *ex = list_entry(task, struct execution, task);
        struct pollfd control = {.fd = ex->control};
        if (ex->phase != EXECUTION_RUNNING || ex->control < 0 || ex->facts.ending != END_BY_ITSELF)
                return false;
        return ex->waited ? sys_poll(&control, 1, 0) == 0 : true;
}

static bool has_begun(struct execution *ex, const struct core_sandbox *sb)
{
        if (ex->phase < EXECUTION_RUNNING)
                return false;
        return ex->control >= 0 ? took_release(ex) : !channel_unread(sb->channel, ex->spawn_number);
}

bool execution_start_elsewhere(struct execution *ex, const struct core_sandbox *sb)
{
        struct core_sandbox *next = NULL;
        struct cella_err err = {0};
        if (!sb->one_shot || !sb->ready || sb->engine != ENGINE_NATIVE || ex->core->stopping ||
            ex->facts.ending != END_BY_ITSELF || ex->moves == MOVES_MAX || has_begun(ex, sb) ||
            sandbox_add_like(sb, &next, &err) < 0)
                return false;
        ex->moves++;
        sandbox_ask_forget(ex->core, ex);
        execution_clock_stop(ex);
        forget_start(ex);
        ex->control = -1;
        if (ex->phase == EXECUTION_ATTACHED)
                execution_set_phase(ex, EXECUTION_NEW);
        ex->waited = ex->cpu_counted = false;
        ex->tag = ex->put_tag = ex->due = 0;
        ex->slot = -1;
        ex->files_put = 0;
        ex->script[0] = '\0';
        ex->started_us = 0;
        ex->cpu_before_us = 0;
        ex->before = (struct keeper_counted){0};
        memcpy(ex->sandbox_id, next->id, sizeof ex->sandbox_id);
        sandbox_attach(next, &ex->task);
        return true;
}

static void execution_spawn_command(struct execution *ex, bool file_is_there)
{
        struct core_sandbox *sb = ex->task.sandbox;
        if (execution_values_prepare(ex) < 0) {
                execution_fail_start(ex, -ENOMEM, "run");
                return;
        }
        const struct cella_command command = execution_command(ex);
        const struct command_place place = {.foreign_home = sb->workspace != WORKSPACE_NONE,
                                            .network = sb->network.tier != TIER_RESTRICTED,
                                            .own_workspace = own_workspace(ex, sb),
                                            .direct = sb->direct,
                                            .slot = (unsigned)ex->slot,
                                            .image = used_image_get(sb->image)};
        AUTO(command_form_done) struct command_form form = {0};
        struct cella_err err = {0};
        if (ex->files_put > 0 || file_is_there)
                execution_count_before(ex);
        if (ex->control >= 0 || (!file_is_there && can_restore(ex, sb))) {
                execution_release_code(ex, ex->control >= 0);
                return;
        }
        int r = command_fill(&form, &place, &command, &err);
        if (form.in_workspace)
                memcpy(ex->script, form.file_name, strlen(form.file_name) + 1);
        if (r == 0 && form.file_name[0] && !file_is_there) {
                if ((r = send_file(ex, &form)) < 0)
                        execution_fail_start(ex, r, "cannot send the code");
                return;
        }
        if (r == 0) {
                mark_time(ex);
                execution_log_begin(ex);
                ex->released_us = clock_us();
                r = send_spawn(ex, &form, &err);
        }
        if (r < 0) {
                execution_fail(ex, &err);
                return;
        }
        ex->spawn_number = channel_sent(sb->channel);
        execution_set_phase(ex, EXECUTION_RUNNING);
        if (sb->ready)
                execution_clock_start(ex);
        execution_scan_beside(ex);
}

static void put_next(struct execution *ex)
{
        struct put_file *f = &ex->request.files[ex->files_put];
        ex->due = INIT_EXITED;
        int r = operation_put(ex->task.sandbox, ex->put_tag, f->path, f->data, f->len);
        if (r < 0)
                execution_fail_start(ex, r, "cannot send a file");
}

void execution_begin(struct execution *ex)
{
        execution_clock_begin(ex);
        if (ex->request.n_files > 0)
                put_next(ex);
        else
                execution_spawn_command(ex, false);
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
        } else if (ex->request.list_files && !operation_stamp(ex->task.sandbox, &ex->since)) {
                /* The code must start at a later clock step than this: files that we wrote have timestamps up
                 * to now. */
                clock_gettime(CLOCK_REALTIME, &ex->since);
                execution_clock_spawn(ex, SPAWN_TICK_US);
        } else {
                execution_spawn_command(ex, false);
        }
}

void execution_spawn(struct execution *ex)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        const int64_t ahead_ns =
                (ex->since.tv_sec - now.tv_sec) * INT64_C(1000000000) + ex->since.tv_nsec - now.tv_nsec;
        /* The coarse clock has steps of some milliseconds, more on an idle machine.  A larger difference
         * means that the clock was set back. */
        if (ahead_ns >= 0 && ahead_ns < SPAWN_STEP_NS_MAX)
                execution_clock_spawn(ex, SPAWN_TICK_US);
        else if (ex->phase == EXECUTION_ATTACHED && ex->task.sandbox &&
                 sandbox_takes_messages(ex->task.sandbox))
                execution_spawn_command(ex, false); /* if the sandbox has died, execution_lost() follows */
}

void execution_receive_start(struct execution *ex, uint32_t type, const char *data)
{
        ex->due = 0;
        if (type == INIT_EXITED) {
                file_was_put(ex, data);
        } else if (type == INIT_DONE) {
                execution_spawn_command(ex, true);
        } else {
                const struct cella_command command = execution_command(ex);
                struct cella_err cause, err = {0};
                memcpy(&cause, data, sizeof cause);
                const struct image *image = used_image_get(ex->task.sandbox->image);
                command_explain(image, &command, cause.num < 0 ? cause.num : -EIO, &err);
                if (err.kind == CELLA_RUNTIME_NOT_FOUND)
                        hint_of_runtime(ex->core->store, command.runtime, !image, &err);
                execution_fail(ex, &err);
        }
}

/* ---- the scan of the code ----
 *
 * An advisory scan runs while the code runs, and only the answer waits for it.  A scan that may refuse the
 * code, and takes too long for the event loop (core/request/scan.c), ends before the code begins. */

static void on_decision(void *context, int r, struct cella_err *err)
{
        struct execution *ex = context;
        ex->scan = NULL;
        ex->request.scan_first = false;
        if (r < 0)
                execution_fail(ex, err);
        else if (ex->phase == EXECUTION_ATTACHED)
                execution_begin(ex);
}

void execution_scan_first(struct execution *ex)
{
        struct cella_err err = {0};
        int r = scan_job_decide(ex->core, &ex->request, on_decision, ex, &ex->scan, &err);
        if (r < 0)
                on_decision(ex, r, &err);
}

static void on_advice(void *context, int r, const struct scan_report *report)
{
        struct execution *ex = context;
        ex->scan = NULL;
        if (r == 0)
                exec_request_keep_report(&ex->request, report);
        execution_counted(&ex->observer); /* if its end waits for this */
}

void execution_scan_beside(struct execution *ex)
{
        if (ex->kind == EXECUTION_BACKGROUND || ex->kind == EXECUTION_TERMINAL || ex->scan)
                return; /* its result is not reported */
        if (exec_request_warn(ex->core, &ex->request))
                scan_job_new(ex->core, &ex->request, SCAN_ADVICE_MS, on_advice, ex, &ex->scan);
}
