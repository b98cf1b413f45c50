/* core/sandbox/change_limits.c -- changes limits of an existing sandbox. */
#include <errno.h>

#include "base/err.h"
#include "core/sandbox/sandbox.h"

static void sandbox_limits_finish(struct core_sandbox *sb, const struct cella_err *failed)
{
        void (*done)(void *, const struct cella_err *) = sb->limits_changed;
        struct cella_err err = {0};
        sb->limits_changed = NULL;
        if (!failed) {
                sb->limits = sb->new_limits;
                sb->required |= sb->new_required;
                failed = sandbox_remember(sb, &err) < 0 ? &err : NULL;
        }
        done(sb->limits_context, failed);
}

static void on_limits(void *context, const union keeper_packet *packet, int fd)
{
        struct core_sandbox *sb = context;
        (void)fd;
        if (sb->limits_changed) /* else it has ended: see sandbox_limits_lost() */
                sandbox_limits_finish(sb, packet->type == KEEPER_FAILED ? &packet->failed.err : NULL);
}

void sandbox_limits_lost(struct core_sandbox *sb)
{
        struct cella_err err = {0};
        if (!sb->limits_changed)
                return;
        err_say(&err, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", sb->id);
        sandbox_limits_finish(sb, &err);
}

static int ask_keeper(struct core_sandbox *sb, const struct cella_limits *limits, struct cella_err *err)
{
        struct keeper_limits packet = {.about = {.type = KEEPER_LIMITS, .sandbox = sb->handle},
                                       .memory_bytes = limits->memory_bytes,
                                       .processes = limits->processes,
                                       .cpus_milli = limits->cpus_milli};
        int r = sandbox_send(sb, &packet, sizeof packet, on_limits, sb);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot ask the keeper") : 0;
}

void sandbox_change_limits(struct core_sandbox *sb, const struct cella_limits *limits, uint32_t required,
                           void (*done)(void *, const struct cella_err *), void *context)
{
        struct cella_err err = {0};
        int r = 0;
        if (sb->limits_changed)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EBUSY,
                            "the limits of the sandbox are being changed by another request");
        else if (sandbox_alive(sb) && sb->state != SANDBOX_RUNNING && sb->state != SANDBOX_PAUSED)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EBUSY, "the sandbox is starting or ending");
        if (r < 0) {
                done(context, &err);
                return;
        }
        sb->limits_changed = done;
        sb->limits_context = context;
        sb->new_limits = *limits;
        sb->new_required = required;
        const bool of_groups = limits->memory_bytes != sb->limits.memory_bytes ||
                               limits->processes != sb->limits.processes ||
                               limits->cpus_milli != sb->limits.cpus_milli;
        if (!of_groups || !sandbox_alive(sb)) /* a stopped one gets them when it starts */
                sandbox_limits_finish(sb, NULL);
        else if (ask_keeper(sb, limits, &err) < 0)
                sandbox_limits_finish(sb, &err);
}

static void ignore_limits(void *context, const struct cella_err *err)
{
        (void)context;
        (void)err;
}

void sandbox_limits_forget(struct core *core, const void *context)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->limits_changed && sb->limits_context == context)
                        sb->limits_changed = ignore_limits;
        }
}
