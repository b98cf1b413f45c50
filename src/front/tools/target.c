/* front/tools/target.c -- selects the sandbox of a call; removes sandboxes created for one call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/context/context.h"
#include "core/request/request.h"
#include "front/tools/internal.h"

/* Finds the sandbox of a scope; NULL: it has none yet. */
static struct core_sandbox *find_of_scope(struct core *core, const struct caller *caller,
                                          const struct exec_request *r)
{
        const struct sandbox_spec spec = {.caller = caller,
                                          .scope = (enum sandbox_scope)r->scope,
                                          .session = r->session,
                                          .agent = r->agent};
        return sandbox_find_of_scope(core, &spec);
}

static int find_or_make(const struct tool_call *call, bool make, const char *session,
                        struct core_sandbox **ret, struct cella_err *err)
{
        struct exec_request r = {.session = session,
                                 .agent = tool_text(call, "agent"),
                                 .scope = -1,
                                 .workspace = -1,
                                 .engine = -1};
        int e = exec_request_identify(call->core, &call->caller, &r, err);
        if (e == 0 && make) {
                e = exec_request_sandbox(call->core, &call->caller, &r, ret, err);
        } else if (e == 0 && !(*ret = find_of_scope(call->core, &call->caller, &r))) {
                if (session && r.scope == SCOPE_SESSION)
                        err_say(err, CELLA_NOT_FOUND, -ENOENT, "no session '%.60s'", session);
                else
                        err_say(err, CELLA_NOT_FOUND, -ENOENT, "there is no sandbox of scope '%s' yet",
                                scope_words[r.scope]);
                e = err_hint(err, "list_sandboxes lists them");
        }
        exec_request_done(&r);
        return e;
}

int target_find(const struct tool_call *call, bool make, struct core_sandbox **ret, struct cella_err *err)
{
        const char *id = tool_text(call, "sandbox"), *session = tool_text(call, "session");
        const bool agent = tool_text(call, "agent"),
                   named = id || session || agent || call->core->settings.scope != SCOPE_EXECUTION;
        if (!named || (id && (session || agent)))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s",
                               !id       ? "session is required"
                               : session ? "session and sandbox cannot be combined"
                                         : "agent and sandbox cannot be combined");
        if (!id)
                return find_or_make(call, make, session, ret, err);
        if ((*ret = sandbox_find(call->core, &call->caller, id)))
                return 0;
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "no sandbox '%.60s'", id);
        return err_hint(err, "list_sandboxes lists them");
}

/* ---- removal ---- */

struct leaving {
        uv_timer_t timer;
        struct core *core;
        char sandbox[ID_SIZE], context[ID_SIZE];
};

static void tools_target_on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

struct core_sandbox *target_again(const struct core *core, const char *id)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (!strcmp(sb->id, id) && !sb->removing)
                        return sb;
        }
        return NULL;
}

static void tools_target_leave(uv_timer_t *timer)
{
        struct leaving *l = timer->data;
        struct core_sandbox *sb = target_again(l->core, l->sandbox);
        struct context *c = sb && l->context[0] ? context_find(sb, l->context) : NULL;
        if (c)
                context_remove(c);
        else if (sb && !l->context[0])
                sandbox_remove(sb);
        uv_close((uv_handle_t *)timer, tools_target_on_closed);
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
        uv_timer_start(&l->timer, tools_target_leave, 0, 0);
}
