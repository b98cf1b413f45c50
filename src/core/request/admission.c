/* core/request/admission.c -- whether a request may run, and where: on the host or in a sandbox. */
#include "core/request/admission.h"

#include <errno.h>
#include <stdio.h>

#include "base/err.h"
#include "core/request/scan_job.h"

/* Returns the requested property that only a sandbox has, or NULL.  agent: of the request, or of the
 * caller. */
static const char *wall_asked_for(const struct core *core, const struct exec_request *r, bool agent)
{
        if (r->network)
                return "network";
        if (r->image)
                return "image";
        if (r->workspace >= 0 || (agent && core->settings.workspace != WORKSPACE_NONE))
                return "workspace";
        if (r->mounts)
                return "mounts";
        return json_object_get(r->limits, "disk_bytes") ? "limits.disk_bytes" : NULL;
}

/* Returns the part of the request that could bring other code or change the meaning of the code, or NULL: a
 * module, BASH_ENV, a directory with a json.py, input of a shell's commands. */
static const char *brought_along(const struct exec_request *r)
{
        if (r->n_files > 0)
                return "files";
        if (r->env && r->env[0])
                return "env";
        if (r->cwd)
                return "cwd";
        if (r->input_len > 0 && exec_request_language(r) == SCAN_BASH)
                return "stdin";
        const struct scan_request scan = exec_request_scan_request(r);
        return scan.language != SCAN_UNKNOWN && scan.len > SCAN_SELECTIVE_MAX
                       ? "code that is too long to be judged"
                       : NULL;
}

static void name_verdict(unsigned verdict, char *ret, size_t size)
{
        int n = snprintf(ret, size, "sandbox:");
        const char *word;
        for (unsigned i = 0; (word = scan_verdict_name(i)); i++)
                if ((verdict & 1u << i) && n > 0 && (size_t)n < size)
                        n += snprintf(ret + n, size - (size_t)n, "%s %s", ret[n - 1] == ':' ? "" : ",", word);
}

/* Sets r->direct and r->reason from the result of the scan. */
static void select_by_scan(struct exec_request *r)
{
        r->direct = r->risky == 0 && !r->unknown_command;
        if (r->direct)
                snprintf(r->reason, sizeof r->reason, "host: nothing risky was found");
        else if (r->risky == 0)
                snprintf(r->reason, sizeof r->reason, "sandbox: a command that is not known");
        else
                name_verdict(r->risky, r->reason, sizeof r->reason);
}

/* Returns 0, -errno, or 1 if a worker must scan the code first. */
static int select_mode(const struct core *core, struct exec_request *r, const char *asked,
                       struct cella_err *err)
{
        const char *other = asked ? asked : brought_along(r);
        if (other || exec_request_language(r) == SCAN_UNKNOWN) {
                snprintf(r->reason, sizeof r->reason, "sandbox: %s", other ? other : "unknown_language");
                return 0;
        }
        int e = r->scanned ? 1 : exec_request_scan_now(core, r, err);
        if (e == 0)
                return 1;
        if (e > 0)
                select_by_scan(r);
        return e < 0 ? e : 0;
}

/* Whether it asks for a sandbox that other executions use, too.  With the mode "selective" the scope of the
 * settings counts as well: the files of a session are only in its sandbox. */
static bool asks_for_scope(const struct core *core, const struct exec_request *r)
{
        if (core->settings.mode == MODE_SELECTIVE || r->scope >= 0)
                return exec_request_scope(core, r) != SCOPE_EXECUTION;
        return r->session || r->agent;
}

/* Decides between host and sandbox, by the mode; for a sandbox, calls exec_request_identify().  Returns 0,
 * -errno, or 1 if a worker must scan the code first. */
static int admission_choose(const struct core *core, const struct caller *caller, struct exec_request *r,
                            struct cella_err *err)
{
        const enum sandbox_mode mode = core->settings.mode;
        int e = 0;
        if (mode == MODE_ALL || r->isolated || asks_for_scope(core, r))
                return exec_request_identify(core, caller, r, err);
        const char *asked = wall_asked_for(core, r, r->agent || (mode == MODE_SELECTIVE && caller->agent[0]));
        if (mode == MODE_SELECTIVE) {
                e = select_mode(core, r, asked, err);
        } else if (asked) { /* never ignored silently */
                err_say(err, CELLA_INVALID_REQUEST, -ENOTSUP,
                        "%s is not available: the mode is 'off', and this would run on the host", asked);
                return err_hint(err, "use a session or a sandbox, where it is available");
        } else {
                r->direct = true;
                snprintf(r->reason, sizeof r->reason, "host: the mode is off");
        }
        if (e == 0 && r->direct) {
                r->scope = SCOPE_EXECUTION;
                return caller_may(caller, MAY_HOST, err);
        }
        return e == 0 ? exec_request_identify(core, caller, r, err) : e;
}

/* The part that needs no worker.  Returns 0, -errno, or 1 if a worker must scan the code, then
 * admission_choose() decides. */
static int admit(const struct admission *a, struct cella_err *err)
{
        struct exec_request *r = a->request;
        memcpy(r->trace, a->caller->trace, sizeof r->trace);
        int e = a->target == ADMIT_TO_CONTEXT
                        ? 0
                        : exec_request_runtime(a->core, r, a->target == ADMIT_TO_ANY, err);
        if (e == 0)
                e = exec_request_grant(a->core, a->caller, r, err);
        if (e == 0 && a->target == ADMIT_TO_ANY)
                e = admission_choose(a->core, a->caller, r, err);
        if (e != 0 || r->scanned || !exec_request_may_refuse(a->core, r))
                return e;
        e = exec_request_scan_now(a->core, r, err);
        r->scan_first = e == 0;
        return e < 0 ? e : 0;
}

static void on_scanned(void *context, int r, struct cella_err *err)
{
        struct admission *a = context;
        a->scan = NULL;
        if (r == 0 && a->choose)
                r = admission_choose(a->core, a->caller, a->request, err);
        a->decided(a->context, r, err);
}

int admission_begin(struct admission *a, struct cella_err *err)
{
        int r = admit(a, err);
        if (r < 0)
                return r;
        a->choose = r > 0;
        if (!a->choose && (!a->request->scan_first || a->scan_during_start))
                return 1;
        a->request->scan_first = false;
        return scan_job_decide(a->core, a->request, on_scanned, a, &a->scan, err);
}

void admission_cancel(struct admission *a)
{
        scan_job_cancel(a->scan);
        a->scan = NULL;
}
