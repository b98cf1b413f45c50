#include "front/rest/log_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/parse.h"
#include "core/sandbox/sandbox.h"

/* RFC 3339 in UTC, or milliseconds since 1970. */
static int parse_since(const char *text, int64_t *ret)
{
        struct tm tm = {0};
        uint64_t ms;
        if (parse_count(text, &ms) == 0 && ms < INT64_MAX) {
                *ret = (int64_t)ms;
                return 0;
        }
        const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
        if (!end)
                return -EINVAL;
        int64_t fraction = 0, scale = 100;
        if (*end == '.')
                for (end++; *end >= '0' && *end <= '9'; end++, scale /= 10)
                        fraction += (*end - '0') * scale;
        if (strcmp(end, "Z") != 0 && strcmp(end, "+00:00") != 0)
                return -EINVAL;
        *ret = (int64_t)timegm(&tm) * 1000 + fraction;
        return 0;
}

struct parameters {
        struct log_filter *filter;
        bool pages;
        struct cella_err *err;
        bool bad;
};

static void log_filter_refuse(struct parameters *p, const char *what)
{
        p->bad = true;
        err_say(p->err, CELLA_INVALID_REQUEST, -EINVAL, "%s", what);
}

static void log_filter_copy(struct parameters *p, const char *name, const char *value, char *to, size_t size,
                            const char **ret)
{
        if (strlen(value) < size) {
                *ret = memcpy(to, value, strlen(value) + 1);
                return;
        }
        p->bad = true;
        err_say(p->err, CELLA_INVALID_REQUEST, -EINVAL, "%s is too long", name);
}

/* "a,b", or given several times. */
static void add_status(struct parameters *p, const char *value)
{
        struct log_filter *f = p->filter;
        size_t have = strlen(f->status);
        if (have + 1 + strlen(value) >= sizeof f->status)
                log_filter_refuse(p, "status is too long");
        else
                snprintf(f->status + have, sizeof f->status - have, "%s%s", have ? "," : "", value);
        f->audit.status = f->status;
}

static bool take_page(struct parameters *p, const char *name, const char *value)
{
        struct audit_filter *f = &p->filter->audit;
        uint64_t number;
        if (!strcmp(name, "since")) {
                if (parse_since(value, &f->since_ms) < 0)
                        log_filter_refuse(
                                p,
                                "since must be a time like 2026-11-15T05:00:00Z, or milliseconds since 1970");
        } else if (!strcmp(name, "cursor")) {
                if (parse_count(value, &f->cursor) < 0)
                        log_filter_refuse(p, "cursor must come from an earlier answer");
        } else if (!strcmp(name, "limit")) {
                if (parse_count(value, &number) < 0 || number < 1 || number > 1000)
                        log_filter_refuse(p, "limit must be a whole number from 1 to 1000");
                else
                        f->limit = (unsigned)number;
        } else {
                return false;
        }
        return true;
}

static void log_filter_take(void *context, const char *name, const char *value)
{
        struct parameters *p = context;
        struct log_filter *f = p->filter;
        if (p->bad)
                return;
        if (!strcmp(name, "sandbox")) {
                log_filter_copy(p, name, value, f->sandbox, sizeof f->sandbox, &f->audit.sandbox);
        } else if (!strcmp(name, "session")) {
                log_filter_copy(p, name, value, f->session, sizeof f->session, &f->audit.session);
        } else if (!strcmp(name, "agent")) {
                log_filter_copy(p, name, value, f->agent, sizeof f->agent, &f->audit.agent);
        } else if (!strcmp(name, "text")) {
                log_filter_copy(p, name, value, f->text, sizeof f->text, &f->audit.text);
        } else if (!strcmp(name, "status")) {
                add_status(p, value);
        } else if (p->pages ? !take_page(p, name, value) : strcmp(name, "topics") != 0) {
                p->bad = true;
                err_say(p->err, CELLA_INVALID_REQUEST, -EINVAL,
                        "unknown parameter '%.40s': sandbox, session, agent, status, text, %s", name,
                        p->pages ? "since, limit, cursor" : "topics");
        }
}

int log_filter_read(const struct call *call, bool pages, struct log_filter *ret, struct cella_err *err)
{
        struct parameters p = {.filter = ret, .pages = pages, .err = err};
        *ret = (struct log_filter){.audit.limit = 100};
        http_each_query(call->request, log_filter_take, &p);
        const struct core_sandbox *named =
                ret->audit.sandbox ? sandbox_find(call->core, &call->caller, ret->sandbox) : NULL;
        if (named)
                snprintf(ret->sandbox, sizeof ret->sandbox, "%s", named->id);
        return p.bad ? -EINVAL : 0;
}
