/* core/sandbox/move.c -- copies a workspace from one engine to the other.
 *
 *   from: init packs /workspace (INIT_TAR) --> this process --> to: init unpacks it (INIT_UNTAR)
 *
 * A workspace of the native engine may be a volume that only the keeper mounts, with owners that only its
 * sandbox has, and that of a container ends with the container.  So the files are copied, by the operations
 * that also serve archives: the archive is hostile data, and is parsed only behind the walls of the new
 * sandbox.
 *
 * While both sandboxes exist, the caller holds the place of the new one only: a key with one sandbox can be
 * moved, too. */
#include "core/sandbox/move.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/sandbox/operation.h"

/* What `to` had no room for when `from` was paused, and then everything that is still in the pipe. */
#define DATA_MAX (4 * 64 * 1024)
#define HEADERS_MAX (UINT64_C(64) << 20)

struct move {
        struct core_sandbox *from; /* NULL: it has ended */
        struct core_sandbox *to;
        struct task hold;           /* keeps `from` from being idle */
        struct operation *out, *in; /* NULL: it has ended */
        bool was_stopped;           /* `from`, before the move */
        size_t len;
        char data[DATA_MAX]; /* read from `from`, not written yet */
};

/* `from` is the sandbox of its scope again.  stays: it cannot be copied, so the next requests use it as it
 * is. */
static void move_restore(struct move *m, bool stays)
{
        struct core_sandbox *from = m->from;
        sandbox_detach(&m->hold);
        queue_take_back(&from->place, sandbox_alive(from));
        from->chosen |= stays ? CHOSEN_ENGINE | CHOSEN_IMAGE : 0;
        if (m->was_stopped) /* it was started without its network */
                sandbox_stop(from);
}

static void move_fail(struct move *m, const struct cella_err *why)
{
        const struct cella_err err = *why;
        struct core_sandbox *from = m->from, *to = m->to;
        const bool removed = to->removing; /* by a client */
        if (m->out)
                operation_cancel(m->out);
        if (m->in)
                operation_cancel(m->in);
        if (from)
                move_restore(m, err.kind == CELLA_TOO_LARGE || err.kind == CELLA_INVALID_REQUEST);
        if (from && removed)
                sandbox_remove(from);
        to->filling = false;
        to->removing = true;
        if (to->state == SANDBOX_WAITING || to->state == SANDBOX_MAKING || to->state == SANDBOX_RUNNING ||
            to->state == SANDBOX_PAUSED) /* otherwise its end is the reason */
                sandbox_give_up(to, &err);
        free(m);
}

static void move_done(struct move *m)
{
        struct core_sandbox *to = m->to;
        if (m->from) {
                sandbox_detach(&m->hold);
                sandbox_remove(m->from);
        }
        free(m);
        sandbox_filled(to);
}

/* If `out` were still there, it would have been lost first: everything was read. */
static void on_hold_lost(struct task *task, struct core_sandbox *from, const struct cella_err *err)
{
        struct move *m = list_entry(task, struct move, hold);
        (void)err;
        if (!from->persistent) /* it frees itself */
                m->from = NULL;
}

static void on_out_data(struct operation *out, const char *data, size_t len, void *context)
{
        struct move *m = context;
        const size_t taken = m->len == 0 && m->in ? operation_feed(m->in, data, len) : 0;
        struct cella_err err = {0};
        if (len - taken > sizeof m->data - m->len) { /* init does not write into a full pipe for ever */
                err_say(&err, CELLA_TOO_LARGE, -EFBIG, "the workspace of the sandbox %s cannot be copied",
                        m->from->id);
                move_fail(m, &err);
                return;
        }
        memcpy(m->data + m->len, data + taken, len - taken);
        m->len += len - taken;
        if (m->len > 0)
                operation_pause(out, true);
}

static void on_in_room(struct operation *in, void *context)
{
        struct move *m = context;
        const size_t taken = operation_feed(in, m->data, m->len);
        memmove(m->data, m->data + taken, m->len - taken);
        m->len -= taken;
        if (m->len == 0 && m->out)
                operation_pause(m->out, false);
        else if (m->len == 0)
                operation_feed_end(in);
}

/* err: of the copy. */
static void on_either_end(struct move *m, const struct cella_err *err)
{
        struct cella_err copy = {0};
        if (err) {
                copy = *err;
                if (!copy.hint[0])
                        err_hint(&copy, "the sandbox keeps its files and its engine; or remove it: %s",
                                 m->from ? m->from->id : m->to->id);
                move_fail(m, &copy);
        } else if (!m->in && !m->out) {
                move_done(m);
        } else if (m->in && m->len == 0) {
                operation_feed_end(m->in);
        }
}

static void on_out_end(struct operation *out, const struct cella_err *err, void *context)
{
        struct move *m = context;
        (void)out;
        m->out = NULL;
        on_either_end(m, err);
}

static void on_in_end(struct operation *in, const struct cella_err *err, void *context)
{
        struct move *m = context;
        (void)in;
        m->in = NULL;
        on_either_end(m, err);
}

static const struct operation_events out_events = {.on_data = on_out_data, .on_end = on_out_end};
static const struct operation_events in_events = {.on_room = on_in_room, .on_end = on_in_end};

/* Whether `to` is still there, after its first task could not be attached. */
static bool is_there(const struct core *core, const struct core_sandbox *to)
{
        list_each (at, &core->sandboxes, other)
                if (list_entry(at, struct core_sandbox, link) == to)
                        return true;
        return false;
}

/* On failure `to` is gone. */
static int move_begin(struct move *m, struct cella_err *err)
{
        const uint64_t disk = m->from->limits.disk_bytes;
        const struct init_operate pack = {.operation = INIT_TAR, .offset = disk ? 2 * disk + HEADERS_MAX : 0};
        const struct init_operate unpack = {.operation = INIT_UNTAR, .length = ~UINT64_C(0), .mode = 0755};
        m->was_stopped = !sandbox_alive(m->from);
        queue_set_aside(&m->from->place);
        int r = operation_new(m->from, &pack, "/workspace", NULL, &out_events, m, &m->out, err);
        if (r < 0) {
                queue_take_back(&m->from->place, sandbox_alive(m->from));
                sandbox_remove(m->to);
                return r;
        }
        sandbox_attach(m->from, &m->hold);
        m->to->filling = true;
        r = operation_new(m->to, &unpack, "/workspace", NULL, &in_events, m, &m->in, err);
        if (r < 0) {
                operation_cancel(m->out);
                move_restore(m, false);
                if (is_there(m->from->core, m->to))
                        sandbox_remove(m->to);
        }
        return r;
}

int sandbox_move(struct core_sandbox *from, const struct sandbox_spec *spec, struct core_sandbox **ret,
                 struct cella_err *err)
{
        const struct sandbox_spec like = {.caller = spec->caller,
                                          .scope = from->scope,
                                          .session = from->session,
                                          .agent = from->agent,
                                          .limits = from->limits,
                                          .required = from->required,
                                          .workspace = spec->workspace,
                                          .network = from->network,
                                          .mounts = from->mounts,
                                          .engine = spec->engine,
                                          .image = spec->image,
                                          .chosen = from->chosen};
        const bool has_files = from->workspace == WORKSPACE_NONE;
        struct move *m = calloc(1, sizeof *m);
        if (!m)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "sandbox");
        int r = sandbox_add(from->core, &like, &m->to, err);
        if (r == 0) {
                m->from = from;
                m->hold = (struct task){.on_lost = on_hold_lost};
                list_init(&m->hold.link);
                from->core->hooks->on_sandbox_renewed(from);
        }
        if (r == 0 && has_files)
                r = move_begin(m, err);
        else if (r == 0)
                sandbox_remove(from); /* an agent's directory stays where it is */
        if (r == 0)
                *ret = m->to;
        if (r < 0 || !has_files)
                free(m);
        return r;
}
