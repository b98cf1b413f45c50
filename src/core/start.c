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
#include "core/package_cache.h"
#include "core/pool/pool.h"
#include "core/sandbox/queue.h"
#include "core/sandbox/sandbox.h"
#include "core/sandbox/workers.h"
#include "core/sandbox/workspace.h"
#include "image/store/store.h"

#define IDLE_TICK_MS 1000
#define MAKING_MAX_US 30000000 /* enough even on a busy machine */

struct listener {
        void (*on_keeper_lost)(void *userdata, const char *why);
        void (*on_keeper_event)(void *userdata, uint32_t type);
        void *userdata;
};

struct whole {
        struct core core;
        struct listener listener;
};

static void core_start_on_event(void *userdata, const union keeper_packet *packet, int fd)
{
        struct whole *w = userdata;
        if (packet->type == KEEPER_EGRESS) {
                egress_connect(&w->core, fd);
                return;
        }
        if (packet->type == KEEPER_WORKER) {
                workers_connect(&w->core, packet->about.sandbox, fd);
                return;
        }
        if (fd >= 0)
                close(fd);
        if (packet->type == KEEPER_DIED)
                sandbox_receive_keeper(&w->core, NULL, &packet->about);
        else
                w->listener.on_keeper_event(w->listener.userdata, packet->type);
}

static void core_start_on_lost(void *userdata, const char *why)
{
        struct whole *w = userdata;
        w->listener.on_keeper_lost(w->listener.userdata, why);
}

static const struct keeper_link_events keeper_events = {core_start_on_event, core_start_on_lost};
static const struct docker_events docker_events = {sandbox_engine_lost, sandbox_engine_used};

static void on_sandbox_gone(struct core_sandbox *sb)
{
        execution_forget_processes(sb);
        context_remove_all(sb);
        executions_forget_sandbox(sb);
        pool_sandbox_gone(sb);
}

static const struct core_hooks hooks = {on_sandbox_gone, pools_give_way, executions_since,
                                        context_remove_all};

static void on_cleanup(uv_timer_t *timer)
{
        struct core *core = timer->data;
        sandbox_cleanup(core, true);
        package_cache_trim(core, core->settings.packages_cache_bytes);
}

/* libuv calls the newest handle first, so the server's own one, which sends the answers, runs before this. */
static void on_settle(uv_prepare_t *prepare)
{
        executions_settle(prepare->data);
}

static bool has_running(const struct core *core)
{
        return !list_empty(&core->executions) || core->alive > 0;
}

/* Kills the executions that did not end after the SIGTERM of core_stop(). */
static void check_stopping(struct core *core)
{
        int64_t now = clock_us();
        if (!core->stopping)
                return;
        executions_settle(core);
        if (list_empty(&core->executions) && !context_run_cancel_all(core) && now < core->stop_at_us)
                core->stop_at_us = now; /* nothing runs that needs the grace time */
        if (now >= core->stop_at_us)
                list_each (at, &core->sandboxes, other) {
                        struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                        if (sb->one_shot)
                                continue; /* ends with its execution */
                        sandbox_stop(sb);
                }
        if (now >= core->stop_at_us)
                list_each (at, &core->executions, other)
                        execution_cancel(list_entry(at, struct execution, link));
        if (has_running(core) && now < core->stop_at_us + 5000000)
                return;
        if (core->on_drained) {
                void (*drained)(struct core *, void *) = core->on_drained;
                core->on_drained = NULL;
                drained(core, core->drained_context);
        }
}

/* The end of a sandbox's time and the work of an idle pool may wait for a second. */
static void slow_down(struct core *core, bool making)
{
        if (core->waiting > 0 || making || !list_empty(&core->executions) || core->stopping || !core->probed)
                return;
        uv_timer_set_repeat(&core->tick, IDLE_TICK_MS);
        uv_timer_again(&core->tick);
}

static void core_start_on_tick(uv_timer_t *timer)
{
        struct core *core = timer->data;
        int64_t now = clock_us();
        bool making = false;
        if (core->waiting > 0) {
                queue_make_room(core); /* a sandbox may have become idle since */
                queue_expire(core);
        }
        sandbox_cleanup(core, false);
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                making |= sb->state == SANDBOX_MAKING;
                if (sb->state == SANDBOX_MAKING && now - sb->making_us > MAKING_MAX_US && sb->handle)
                        sandbox_ask(sb, KEEPER_KILL, NULL, NULL);
        }
        pools_tick(core);
        docker_tick(core->docker);
        check_stopping(core);
        slow_down(core, making);
}

static void configure_audit(struct core *core)
{
        const struct settings *s = &core->settings;
        audit_configure(core->audit, &(struct audit_options){.keep_days = s->audit_keep_days,
                                                             .keep_bytes = s->audit_keep_bytes,
                                                             .keep_output = s->audit_keep_output});
}

int core_configure(struct core *core, json_t *document, struct cella_err *err)
{
        struct settings settings;
        int r = settings_from(document, &settings, err);
        if (r < 0) {
                json_decref(document);
                return r;
        }
        const bool other_network = !json_equal(json_object_get(core->settings.document, "network"),
                                               json_object_get(settings.document, "network"));
        const bool other_docker = !json_equal(json_object_get(core->settings.document, "docker"),
                                              json_object_get(settings.document, "docker"));
        settings_done(&core->settings);
        core->settings = settings;
        configure_audit(core);
        if (other_network)
                egress_configure(core);
        if (other_docker)
                docker_configure(core->docker);
        images_configure(core);
        package_cache_trim(core, settings.packages_cache_bytes);
        if ((r = pools_configure(core, err)) < 0)
                return r;
        uv_timer_start(&core->cleanup, on_cleanup, settings.cleanup_interval_ms,
                       settings.cleanup_interval_ms);
        pools_give_way(core, queue_wants(core));
        queue_pump(core);
        return 0;
}

static int open_stores(struct core *core, struct cella_err *err)
{
        const struct settings *s = &core->settings;
        const struct audit_options audit = {.directory = core->directory,
                                            .keep_days = s->audit_keep_days,
                                            .keep_bytes = s->audit_keep_bytes,
                                            .keep_output = s->audit_keep_output};
        int r = audit_open(&audit, &core->audit, &core->interrupted, err);
        if (r == 0)
                r = sandbox_restore_all(core, err);
        if (r == 0)
                workspace_sweep(core, sandbox_has_workspace);
        core->metrics.executions[CELLA_INTERRUPTED] = core->interrupted;
        return r;
}

/* Sets up the parts that cannot fail, before those that can. */
static void set_up(struct core *core, const struct core_options *options)
{
        core->hooks = &hooks;
        core->loop = options->loop;
        core->state = options->state;
        core->secrets = options->secrets;
        core->no_secrets = options->no_secrets;
        core->volumes = options->volumes;
        core->started_us = clock_us();
        const long cores = sysconf(_SC_NPROCESSORS_ONLN);
        core->cores = cores < 1 ? 1 : (unsigned)cores;
        snprintf(core->directory, sizeof core->directory, "%s", options->directory);
        if (options->store)
                snprintf(core->store, sizeof core->store, "%s", options->store);
        else
                image_store_path(options->directory, core->store, sizeof core->store, NULL);
        list_init(&core->sandboxes);
        list_init(&core->executions);
        list_init(&core->queue);
        list_init(&core->places);
        list_init(&core->pools);
        list_init(&core->learners);
        list_init(&core->used_images);
        list_init(&core->settling);
        list_init(&core->scan_jobs);
        list_init(&core->packages);
        uv_prepare_init(core->loop, &core->settle);
        uv_timer_init(core->loop, &core->cleanup);
        uv_timer_init(core->loop, &core->tick);
        uv_timer_init(core->loop, &core->lull);
        core->cleanup.data = core->tick.data = core->lull.data = core->settle.data = core;
}

static void start_clocks(struct core *core)
{
        uv_timer_start(&core->cleanup, on_cleanup, core->settings.cleanup_interval_ms,
                       core->settings.cleanup_interval_ms);
        uv_timer_start(&core->tick, core_start_on_tick, CORE_TICK_MS, CORE_TICK_MS);
        uv_prepare_start(&core->settle, on_settle);
        uv_unref((uv_handle_t *)&core->settle);
}

int core_new(const struct core_options *options, struct core **ret, struct cella_err *err)
{
        struct whole *w = calloc(1, sizeof *w);
        struct core *core = &w->core;
        if (!w)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "core");
        w->listener = (struct listener){options->on_keeper_lost, options->on_keeper_event, options->userdata};
        set_up(core, options);
        int r = settings_from(options->settings, &core->settings, err);
        if (r == 0)
                r = egress_new(core, &core->egress, err);
        if (r == 0)
                r = images_new(core, &core->images, err);
        if (r == 0)
                r = docker_new(core, &docker_events, &core->docker, err);
        if (r == 0)
                r = keeper_link_new(core->loop, options->keeper_fd, &keeper_events, w, &core->keeper, err);
        if (r == 0)
                r = open_stores(core, err);
        if (r == 0)
                r = pools_configure(core, err);
        if (r < 0)
                return r; /* the process ends */
        images_configure(core);
        start_clocks(core);
        *ret = core;
        return 0;
}

struct core *core_free(struct core *core)
{
        if (!core)
                return NULL;
        executions_settle(core);
        uv_prepare_stop(&core->settle);
        audit_close(core->audit);
        core->images = images_free(core->images);
        core->docker = docker_free(core->docker);
        workers_free(core);
        keeper_link_free(core->keeper);
        core->egress = egress_free(core->egress);
        used_images_done(core);
        package_cache_trim(core, 0);
        settings_done(&core->settings);
        uv_timer_stop(&core->cleanup);
        uv_timer_stop(&core->tick);
        uv_timer_stop(&core->lull);
        return NULL;
}

/* ---- determining the capabilities of this host ---- */

struct probe {
        struct task task;
        struct core *core;
        void (*done)(struct core *, void *);
        void *context;
};

static void probed(struct probe *p)
{
        p->core->probed = true;
        pools_refill(p->core);
        if (p->done)
                p->done(p->core, p->context);
        free(p);
}

static void probe_ready(struct task *task)
{
        struct probe *p = list_entry(task, struct probe, task);
        struct core_sandbox *sb = task->sandbox;
        p->core->walls = sb->walls;
        p->core->missing = sb->missing;
        p->core->unable = (struct cella_err){0};
        sandbox_detach(task);
        sandbox_remove(sb);
        probed(p);
}

static void probe_lost(struct task *task, struct core_sandbox *sb, const struct cella_err *err)
{
        struct probe *p = list_entry(task, struct probe, task);
        (void)sb;
        if (err)
                p->core->unable = *err;
        else
                err_say(&p->core->unable, CELLA_INTERNAL, -EIO, "a sandbox died as soon as it was made");
        probed(p);
}

void core_probe(struct core *core, void (*done)(struct core *, void *), void *context)
{
        struct probe *p = calloc(1, sizeof *p);
        struct core_sandbox *sb = NULL;
        struct caller owner;
        caller_owner(&owner);
        const struct sandbox_spec spec = {.caller = &owner,
                                          .scope = SCOPE_EXECUTION,
                                          .one_shot = true,
                                          .limits = core->settings.limits};
        if (!p || sandbox_add(core, &spec, &sb, &core->unable) < 0) {
                free(p);
                return;
        }
        *p = (struct probe){.core = core, .done = done, .context = context};
        p->task = (struct task){.on_ready = probe_ready, .on_lost = probe_lost};
        list_init(&p->task.link);
        sandbox_attach(sb, &p->task);
}

void core_stop(struct core *core, void (*drained)(struct core *, void *), void *context)
{
        core->stopping = true;
        core_hurry(core);
        pools_stop(core);
        core->on_drained = drained;
        core->drained_context = context;
        core->stop_at_us = clock_us() + (int64_t)core->settings.limits.grace_ms * 1000;
        list_each (at, &core->executions, other)
                execution_terminate(list_entry(at, struct execution, link));
        if (!context_run_cancel_all(core) && list_empty(&core->executions))
                core->stop_at_us = clock_us();
        check_stopping(core);
}
