/* core/sandbox/raise.c -- raises limits of an existing sandbox. */
#include <errno.h>

#include "base/err.h"
#include "core/sandbox/sandbox.h"

static void sandbox_raise_finish(struct core_sandbox *sb, const struct cella_err *failed)
{
        void (*done)(void *, const struct cella_err *) = sb->raised;
        struct cella_err err = {0};
        sb->raised = NULL;
        if (!failed) {
                sb->limits = sb->raised_limits;
                sb->required |= sb->raised_required;
                failed = sandbox_remember(sb, &err) < 0 ? &err : NULL;
        }
        done(sb->raised_context, failed);
}

static void on_raised(void *context, const union keeper_packet *packet, int fd)
{
        struct core_sandbox *sb = context;
        (void)fd;
        if (sb->raised) /* else it has ended: see sandbox_raise_lost() */
                sandbox_raise_finish(sb, packet->type == KEEPER_FAILED ? &packet->failed.err : NULL);
}

void sandbox_raise_lost(struct core_sandbox *sb)
{
        struct cella_err err = {0};
        if (!sb->raised)
                return;
        err_say(&err, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s has ended", sb->id);
        sandbox_raise_finish(sb, &err);
}

static int ask_keeper(struct core_sandbox *sb, const struct cella_limits *limits, struct cella_err *err)
{
        struct keeper_raise raise = {.about = {.type = KEEPER_RAISE, .sandbox = sb->handle},
                                     .memory_bytes = limits->memory_bytes,
                                     .processes = limits->processes,
                                     .cpus_milli = limits->cpus_milli};
        int r = sandbox_send(sb, &raise, sizeof raise, on_raised, sb);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot ask the keeper") : 0;
}

void sandbox_raise(struct core_sandbox *sb, const struct cella_limits *limits, uint32_t required,
                   void (*done)(void *, const struct cella_err *), void *context)
{
        struct cella_err err = {0};
        int r = 0;
        if (sb->raised)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EBUSY,
                            "the limits of the sandbox are being changed by another request");
        else if (sandbox_alive(sb) && sb->state != SANDBOX_RUNNING && sb->state != SANDBOX_PAUSED)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EBUSY, "the sandbox is starting or ending");
        if (r < 0) {
                done(context, &err);
                return;
        }
        sb->raised = done;
        sb->raised_context = context;
        sb->raised_limits = *limits;
        sb->raised_required = required;
        const bool of_groups = limits->memory_bytes != sb->limits.memory_bytes ||
                               limits->processes != sb->limits.processes ||
                               limits->cpus_milli != sb->limits.cpus_milli;
        if (!of_groups || !sandbox_alive(sb)) /* a stopped one gets them when it starts */
                sandbox_raise_finish(sb, NULL);
        else if (ask_keeper(sb, limits, &err) < 0)
                sandbox_raise_finish(sb, &err);
}

static void ignore_raised(void *context, const struct cella_err *err)
{
        (void)context;
        (void)err;
}

void sandbox_raise_forget(struct core *core, const void *context)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->raised && sb->raised_context == context)
                        sb->raised = ignore_raised;
        }
}
