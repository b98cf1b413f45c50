/* front/mcp/session.c -- sessions of the older revisions, from "initialize" to DELETE or to the idle
 * timeout. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/sandbox/sandbox.h"
#include "front/mcp/mcp.h"

#define GIVES_WAY_US 60000000 /* after this idle time a session may be dropped if there are too many */

void session_touch(struct mcp_session *session)
{
        session->used_us = clock_us();
}

void session_init(struct mcp_session *session, struct mcp *mcp)
{
        *session =
                (struct mcp_session){.mcp = mcp, .revision = MCP_2025_11_25, .level = mcp_level_find("info")};
        list_init(&session->link);
        list_init(&session->requests);
        session_touch(session);
}

static bool is_idle(const struct mcp_session *session, int64_t since_us)
{
        return session->n_requests == 0 && session->used_us <= since_us;
}

/* Returns the session that was idle longest, of this key or of any. */
static struct mcp_session *mcp_session_oldest(struct mcp *mcp, const char *key, bool any)
{
        struct mcp_session *found = NULL;
        list_each (at, &mcp->sessions, other) {
                struct mcp_session *s = list_entry(at, struct mcp_session, link);
                if (is_idle(s, clock_us() - GIVES_WAY_US) && (any || !strcmp(s->key, key)) &&
                    (!found || s->used_us < found->used_us))
                        found = s;
        }
        return found;
}

static unsigned mcp_session_count(const struct mcp *mcp, const char *key)
{
        unsigned n = 0;
        list_each (at, &mcp->sessions, other)
                n += !strcmp(list_entry(at, struct mcp_session, link)->key, key);
        return n;
}

static int mcp_session_make_room(struct mcp *mcp, const char *key, struct cella_err *err)
{
        const bool many_of_key = mcp_session_count(mcp, key) >= MCP_SESSIONS_OF_KEY_MAX;
        if (!many_of_key && mcp->n_sessions < MCP_SESSIONS_MAX)
                return 0;
        struct mcp_session *old = mcp_session_oldest(mcp, key, !many_of_key);
        if (!old) { /* all of them are in use */
                err_say(err, CELLA_OVER_CAPACITY, -EAGAIN, "too many sessions");
                return err_hint(err, "end those that are not needed, with DELETE");
        }
        session_end(old);
        return 0;
}

int session_new(struct mcp *mcp, const struct caller *caller, struct mcp_session **ret, struct cella_err *err)
{
        int r = mcp_session_make_room(mcp, caller->key, err);
        if (r < 0)
                return r;
        struct mcp_session *session = calloc(1, sizeof *session);
        if (!session)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "session");
        session_init(session, mcp);
        if ((r = id_make("mcp_", session->id)) < 0) {
                free(session);
                return err_set(err, CELLA_INTERNAL, r, "session");
        }
        memcpy(session->key, caller->key, sizeof session->key);
        memcpy(session->name, session->id, sizeof session->id);
        list_add(&mcp->sessions, &session->link);
        mcp->n_sessions++;
        *ret = session;
        return 0;
}

struct mcp_session *session_find(struct mcp *mcp, const struct caller *caller, const char *id)
{
        list_each (at, &mcp->sessions, other) {
                struct mcp_session *session = list_entry(at, struct mcp_session, link);
                if (!strcmp(session->id, id) && !strcmp(session->key, caller->key)) {
                        session_touch(session);
                        return session;
                }
        }
        return NULL;
}

/* No other request can name the sandbox of this session. */
static void remove_sandbox(const struct mcp_session *session)
{
        struct caller caller = {0};
        memcpy(caller.key, session->key, sizeof caller.key);
        const struct sandbox_spec spec = {
                .caller = &caller, .scope = SCOPE_SESSION, .session = session->name};
        struct core_sandbox *sb = sandbox_find_of_scope(session->mcp->core, &spec);
        if (sb)
                sandbox_remove(sb);
}

void session_end(struct mcp_session *session)
{
        while (!list_empty(&session->requests))
                mcp_cancel(list_entry(session->requests.next, struct mcp_request, link));
        exchanges_forget(session);
        if (!session->mcp->ending)
                remove_sandbox(session);
        list_remove(&session->link);
        session->mcp->n_sessions--;
        json_decref(session->client);
        free(session);
}

void sessions_expire(struct mcp *mcp)
{
        const int64_t since = clock_us() - MCP_SESSION_IDLE_US;
        list_each (at, &mcp->sessions, other) {
                struct mcp_session *session = list_entry(at, struct mcp_session, link);
                if (is_idle(session, since))
                        session_end(session);
        }
}
