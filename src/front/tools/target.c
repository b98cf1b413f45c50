/* front/tools/target.c -- selects the sandbox of a call; removes sandboxes created for one call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/context/context.h"
#include "core/request/request.h"
#include "front/tools/internal.h"

struct core_sandbox *target_of_session(struct core *core, const struct caller *caller, const char *session)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->scope == SCOPE_SESSION && !sb->removing && !sb->one_shot &&
                    !strcmp(sb->session, session) && !strcmp(sb->key, caller->key))
                        return sb;
        }
        return NULL;
}

int target_find(const struct tool_call *call, bool make, struct core_sandbox **ret, struct cella_err *err)
{
        const char *id = tool_text(call, "sandbox"), *session = tool_text(call, "session");
        const struct exec_request request = {
                .session = session, .scope = SCOPE_SESSION, .workspace = WORKSPACE_NONE};
        if (!id == !session)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               id ? "session and sandbox cannot be combined" : "session is required");
        if (make && session)
                return exec_request_sandbox(call->core, &call->caller, &request, ret, err);
        *ret = id ? sandbox_find(call->core, &call->caller, id)
                  : target_of_session(call->core, &call->caller, session);
        if (*ret)
                return 0;
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "no %s '%.60s'", id ? "sandbox" : "session",
                id ? id : session);
        return err_hint(err, "list_sandboxes lists them");
}

/* ---- removal ---- */

struct leaving {
        uv_timer_t timer;
        struct core *core;
        char sandbox[ID_SIZE], context[ID_SIZE];
};

static void on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

static void leave(uv_timer_t *timer)
{
        struct leaving *l = timer->data;
        list_each (at, &l->core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (strcmp(sb->id, l->sandbox) != 0 || sb->removing)
                        continue;
                struct context *c = l->context[0] ? context_find(sb, l->context) : NULL;
                if (c)
                        context_remove(c);
                else if (!l->context[0])
                        sandbox_remove(sb);
                break;
        }
        uv_close((uv_handle_t *)timer, on_closed);
}

void target_leave(struct core *core, const char *sandbox, const char *context)
{
        struct leaving *l = calloc(1, sizeof *l);
        if (!l)
                return; /* its idle timeout removes it */
        l->core = core;
        snprintf(l->sandbox, sizeof l->sandbox, "%s", sandbox);
        snprintf(l->context, sizeof l->context, "%s", context);
        uv_timer_init(core->loop, &l->timer);
        l->timer.data = l;
        uv_timer_start(&l->timer, leave, 0, 0);
}
