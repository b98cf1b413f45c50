#include "core/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/context/context.h"
#include "core/docker.h"
#include "core/egress.h"
#include "core/execution/execution.h"
#include "core/image/images.h"
#include "core/image/used_image.h"
#include "core/pool/pool.h"
#include "core/sandbox/queue.h"
#include "core/sandbox/sandbox.h"
#include "core/sandbox/workspace.h"
#include "image/store/store.h"

#define TICK_MS 50
#define MAKING_MAX_US 30000000 /* on however busy a machine, a sandbox is ready by then or never will be */

struct listener {
        void (*on_keeper_lost)(void *userdata, const char *why);
        void (*on_keeper_event)(void *userdata, uint32_t type);
        void *userdata;
};

struct whole {
        struct box box;
        struct listener listener;
};

static void on_event(void *userdata, const union keeper_packet *packet, int fd)
{
        struct whole *w = userdata;
        if (packet->type == KEEPER_EGRESS) {
                egress_connect(&w->box, fd);
                return;
        }
        if (fd >= 0)
                close(fd);
        if (packet->type == KEEPER_DIED)
                sandbox_hear_keeper(&w->box, &packet->about);
        else
                w->listener.on_keeper_event(w->listener.userdata, packet->type);
}

static void on_lost(void *userdata, const char *why)
{
        struct whole *w = userdata;
        w->listener.on_keeper_lost(w->listener.userdata, why);
}

static const struct keeper_link_events keeper_events = {on_event, on_lost};
static const struct docker_events docker_events = {sandbox_engine_lost, sandbox_engine_used};

static void on_sandbox_gone(struct box_sandbox *sb)
{
        execution_forget_processes(sb);
        context_remove_all(sb);
        executions_forget_sandbox(sb);
        pool_sandbox_gone(sb);
}

static const struct box_hooks hooks = {on_sandbox_gone, pools_give_way, executions_since};

static void on_cleanup(uv_timer_t *timer)
{
        sandbox_cleanup(timer->data, true);
}

/* The server's own, which sends the answers, was started later and so comes first: libuv calls the newest
 * first. */
static void on_settle(uv_prepare_t *prepare)
{
        executions_settle(prepare->data);
}

static bool has_running(const struct box *box)
{
        return !list_empty(&box->executions) || box->alive > 0;
}

/* Those that were told to stop: SIGTERM came first, see box_stop(). */
static void check_stopping(struct box *box)
{
        int64_t now = clock_us();
        if (!box->stopping)
                return;
        executions_settle(box);
        if (list_empty(&box->executions) && !context_run_cancel_all(box) && now < box->stop_at_us)
                box->stop_at_us = now; /* nobody is left who could use the time */
        if (now >= box->stop_at_us)
                list_each (at, &box->sandboxes, other) {
                        struct box_sandbox *sb = list_entry(at, struct box_sandbox, link);
                        if (sb->one_shot)
                                continue; /* goes with its execution */
                        sandbox_stop(sb);
                }
        if (now >= box->stop_at_us)
                list_each (at, &box->executions, other)
                        execution_cancel(list_entry(at, struct execution, link));
        if (has_running(box) && now < box->stop_at_us + 5000000)
                return;
        if (box->on_drained) {
                void (*drained)(struct box *, void *) = box->on_drained;
                box->on_drained = NULL;
                drained(box, box->drained_context);
        }
}

static void on_tick(uv_timer_t *timer)
{
        struct box *box = timer->data;
        int64_t now = clock_us();
        if (box->waiting > 0) {
                queue_make_room(box); /* a sandbox may have become idle since */
                queue_expire(box);
        }
        sandbox_cleanup(box, false);
        list_each (at, &box->sandboxes, other) {
                struct box_sandbox *sb = list_entry(at, struct box_sandbox, link);
                if (sb->state == SANDBOX_MAKING && now - sb->making_us > MAKING_MAX_US && sb->handle)
                        sandbox_ask(sb, KEEPER_KILL, NULL, NULL);
        }
        pools_tick(box);
        docker_tick(box->docker);
        check_stopping(box);
}

static void configure_audit(struct box *box)
{
        const struct settings *s = &box->settings;
        audit_configure(box->audit, &(struct audit_options){.keep_days = s->audit_keep_days,
                                                            .keep_bytes = s->audit_keep_bytes,
                                                            .keep_output = s->audit_keep_output});
}

int box_configure(struct box *box, json_t *document, struct cella_err *err)
{
        struct settings settings;
        int r = settings_from(document, &settings, err);
        if (r < 0) {
                json_decref(document);
                return r;
        }
        const bool other_network = !json_equal(json_object_get(box->settings.document, "network"),
                                               json_object_get(settings.document, "network"));
        const bool other_docker = !json_equal(json_object_get(box->settings.document, "docker"),
                                              json_object_get(settings.document, "docker"));
        settings_done(&box->settings);
        box->settings = settings;
        configure_audit(box);
        if (other_network)
                egress_configure(box);
        if (other_docker)
                docker_configure(box->docker);
        images_configure(box);
        if ((r = pools_configure(box, err)) < 0)
                return r;
        uv_timer_start(&box->cleanup, on_cleanup, settings.cleanup_interval_ms, settings.cleanup_interval_ms);
        pools_give_way(box, queue_wants(box));
        queue_pump(box);
        return 0;
}

static int open_stores(struct box *box, struct cella_err *err)
{
        const struct settings *s = &box->settings;
        const struct audit_options audit = {.directory = box->directory,
                                            .keep_days = s->audit_keep_days,
                                            .keep_bytes = s->audit_keep_bytes,
                                            .keep_output = s->audit_keep_output};
        int r = audit_open(&audit, &box->audit, &box->interrupted, err);
        if (r == 0)
                r = sandbox_restore_all(box, err);
        if (r == 0)
                workspace_sweep(box, sandbox_has_workspace);
        box->metrics.executions[CELLA_INTERRUPTED] = box->interrupted;
        return r;
}

/* What cannot fail, so that all of it is there for what can. */
static void set_up(struct box *box, const struct box_options *options)
{
        box->hooks = &hooks;
        box->loop = options->loop;
        box->state = options->state;
        box->secrets = options->secrets;
        box->no_secrets = options->no_secrets;
        box->started_us = clock_us();
        const long cores = sysconf(_SC_NPROCESSORS_ONLN);
        box->cores = cores < 1 ? 1 : (unsigned)cores;
        snprintf(box->directory, sizeof box->directory, "%s", options->directory);
        if (options->store)
                snprintf(box->store, sizeof box->store, "%s", options->store);
        else
                image_store_path(options->directory, box->store, sizeof box->store, NULL);
        list_init(&box->sandboxes);
        list_init(&box->executions);
        list_init(&box->queue);
        list_init(&box->places);
        list_init(&box->pools);
        list_init(&box->used_images);
        list_init(&box->settling);
        list_init(&box->scan_jobs);
        uv_prepare_init(box->loop, &box->settle);
        uv_timer_init(box->loop, &box->cleanup);
        uv_timer_init(box->loop, &box->tick);
        uv_timer_init(box->loop, &box->lull);
        box->cleanup.data = box->tick.data = box->lull.data = box->settle.data = box;
}

static void start_clocks(struct box *box)
{
        uv_timer_start(&box->cleanup, on_cleanup, box->settings.cleanup_interval_ms,
                       box->settings.cleanup_interval_ms);
        uv_timer_start(&box->tick, on_tick, TICK_MS, TICK_MS);
        uv_prepare_start(&box->settle, on_settle);
        uv_unref((uv_handle_t *)&box->settle);
}

int box_new(const struct box_options *options, struct box **ret, struct cella_err *err)
{
        struct whole *w = calloc(1, sizeof *w);
        struct box *box = &w->box;
        if (!w)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "box");
        w->listener = (struct listener){options->on_keeper_lost, options->on_keeper_event, options->userdata};
        set_up(box, options);
        int r = settings_from(options->settings, &box->settings, err);
        if (r == 0)
                r = egress_new(box, &box->egress, err);
        if (r == 0)
                r = images_new(box, &box->images, err);
        if (r == 0)
                r = docker_new(box, &docker_events, &box->docker, err);
        if (r == 0)
                r = keeper_link_new(box->loop, options->keeper_fd, &keeper_events, w, &box->keeper, err);
        if (r == 0)
                r = open_stores(box, err);
        if (r == 0)
                r = pools_configure(box, err);
        if (r < 0)
                return r; /* the process ends with it */
        images_configure(box);
        start_clocks(box);
        *ret = box;
        return 0;
}

struct box *box_free(struct box *box)
{
        if (!box)
                return NULL;
        executions_settle(box);
        uv_prepare_stop(&box->settle);
        audit_close(box->audit);
        box->images = images_free(box->images);
        box->docker = docker_free(box->docker);
        keeper_link_free(box->keeper);
        box->egress = egress_free(box->egress);
        used_images_done(box);
        settings_done(&box->settings);
        uv_timer_stop(&box->cleanup);
        uv_timer_stop(&box->tick);
        uv_timer_stop(&box->lull);
        return NULL;
}

/* ---- finding out what this host can do ---- */

struct probe {
        struct task task;
        struct box *box;
        void (*done)(struct box *, void *);
        void *context;
};

static void probed(struct probe *p)
{
        p->box->probed = true;
        pools_refill(p->box);
        if (p->done)
                p->done(p->box, p->context);
        free(p);
}

static void probe_ready(struct task *task)
{
        struct probe *p = list_entry(task, struct probe, task);
        struct box_sandbox *sb = task->sandbox;
        p->box->walls = sb->walls;
        p->box->missing = sb->missing;
        p->box->unable = (struct cella_err){0};
        sandbox_detach(task);
        sandbox_remove(sb);
        probed(p);
}

static void probe_lost(struct task *task, struct box_sandbox *sb, const struct cella_err *err)
{
        struct probe *p = list_entry(task, struct probe, task);
        (void)sb;
        if (err)
                p->box->unable = *err;
        else
                err_say(&p->box->unable, CELLA_INTERNAL, -EIO, "a sandbox died as soon as it was made");
        probed(p);
}

void box_probe(struct box *box, void (*done)(struct box *, void *), void *context)
{
        struct probe *p = calloc(1, sizeof *p);
        struct box_sandbox *sb = NULL;
        struct caller owner;
        caller_owner(&owner);
        const struct sandbox_spec spec = {
                .caller = &owner, .scope = SCOPE_EXECUTION, .one_shot = true, .limits = box->settings.limits};
        if (!p || sandbox_add(box, &spec, &sb, &box->unable) < 0) {
                free(p);
                return;
        }
        *p = (struct probe){.box = box, .done = done, .context = context};
        p->task = (struct task){.on_ready = probe_ready, .on_lost = probe_lost};
        list_init(&p->task.link);
        sandbox_attach(sb, &p->task);
}

void box_stop(struct box *box, void (*drained)(struct box *, void *), void *context)
{
        box->stopping = true;
        pools_stop(box);
        box->on_drained = drained;
        box->drained_context = context;
        box->stop_at_us = clock_us() + (int64_t)box->settings.limits.grace_ms * 1000;
        list_each (at, &box->executions, other)
                execution_terminate(list_entry(at, struct execution, link));
        if (!context_run_cancel_all(box) && list_empty(&box->executions))
                box->stop_at_us = clock_us();
        check_stopping(box);
}
