/* box/request_scan.c -- what the scanner says of a request, before it runs or while it does.
 *
 * It is advice and a filter, never the wall.  Where it may refuse (allowed_imports, the setting scan.action
 * "block") it is asked first; else while the code runs, when the server has nothing else to do. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "box/request.h"

#define IMPORTS_MAX 256 /* as request_fields.c */

struct source {
        enum scan_language language;
        const char *text;
        size_t len;
};

/* The interpreter itself, as the clean PATH finds it: another program may have its name. */
static bool is_system_program(const char *path)
{
        const char *slash = strrchr(path, '/');
        size_t len = slash ? (size_t)(slash - path) : 0;
        return !slash || (len == 4 && !strncmp(path, "/bin", 4)) ||
               (len == 8 && !strncmp(path, "/usr/bin", 8));
}

/* -c, also with others of which none takes a word of its own. */
static bool is_shell_option(const char *option)
{
        size_t len = strlen(option);
        return option[0] == '-' && len > 1 && option[len - 1] == 'c' &&
               strspn(option + 1, "celuvx") == len - 1;
}

/* ["sh", "-c", CODE] and its like.  node goes on to look for options behind the code. */
static void take_command(const char *const *argv, struct source *ret)
{
        if (!argv || !argv[0] || !argv[1] || !argv[2] || !is_system_program(argv[0]))
                return;
        enum scan_language language = scan_language_of_runtime(argv[0]);
        const char *option = argv[1];
        bool code = language == SCAN_JAVASCRIPT ? !strcmp(option, "-e") && !argv[3]
                    : language == SCAN_PYTHON   ? !strcmp(option, "-c")
                    : language == SCAN_BASH     ? is_shell_option(option)
                                                : false;
        if (code)
                *ret = (struct source){.language = language, .text = argv[2], .len = strlen(argv[2])};
}

static struct source source_of(const struct exec_request *r)
{
        struct source s = {.language = SCAN_UNKNOWN, .text = ""};
        if (r->code && r->runtime)
                s = (struct source){.language = scan_language_of_runtime(r->runtime),
                                    .text = r->code,
                                    .len = r->code_len};
        else
                take_command((const char *const *)r->argv, &s);
        return s;
}

enum scan_language exec_request_language(const struct exec_request *r)
{
        return source_of(r).language;
}

size_t exec_request_scan_len(const struct exec_request *r)
{
        const struct source s = source_of(r);
        return s.language == SCAN_UNKNOWN ? 0 : s.len;
}

int exec_request_scan(const struct exec_request *r, struct scan_report *ret)
{
        const struct source s = source_of(r);
        const char *allowed[IMPORTS_MAX];
        struct scan_rules rules = {.allowed_imports = allowed};
        size_t i;
        const json_t *name;
        json_array_foreach (r->allowed_imports, i, name)
                if (i < IMPORTS_MAX)
                        allowed[rules.n_allowed_imports++] = json_string_value(name);
        return scan(s.language, s.text, s.len, r->allowed_imports ? &rules : NULL, ret);
}

bool exec_request_may_refuse(const struct box *box, const struct exec_request *r)
{
        return r->allowed_imports ||
               (box->settings.scan == ACTION_BLOCK && exec_request_language(r) != SCAN_UNKNOWN);
}

/* What cannot be read cannot be said to import only this or that. */
static const struct scan_finding *refused_import(const struct scan_report *report)
{
        const struct scan_finding *f = scan_refusal(report);
        const unsigned unread = SCAN_NOT_ALLOWED | SCAN_UNPARSABLE | SCAN_UNKNOWN_LANGUAGE;
        return f || !(report->verdict & unread) || report->n_findings == 0 ? f : &report->findings[0];
}

static const struct scan_finding *refused_finding(const struct scan_report *report)
{
        for (size_t i = 0; i < report->n_findings; i++)
                if (report->findings[i].severity == SCAN_HIGH)
                        return &report->findings[i];
        return NULL;
}

int exec_request_refuse(const struct box *box, const struct exec_request *r, const struct scan_report *report,
                        struct cella_err *err)
{
        const struct scan_finding *f = r->allowed_imports ? refused_import(report) : NULL;
        const bool imports = f != NULL;
        char text[sizeof f->text];
        if (!f && box->settings.scan == ACTION_BLOCK)
                f = refused_finding(report);
        if (!f)
                return 0;
        memcpy(text, f->text, sizeof text);
        mask_string(exec_request_mask(r), text);
        err_say(err, CELLA_SCAN_REFUSED, -EACCES, "line %u: %s (%s)", f->line, text, f->rule);
        return err_hint(err, imports ? "allowed_imports does not allow it, or it cannot be told"
                                     : "the setting scan.action is 'block'; 'cella scan' tells all there is");
}

void exec_request_keep_report(struct exec_request *r, const struct scan_report *report)
{
        r->scanned = true;
        if (report->worst < SCAN_LOW || report->n_findings == 0 || r->report ||
            !(r->report = malloc(sizeof *report)))
                return;
        *r->report = *report;
        for (size_t i = 0; i < report->n_findings; i++)
                mask_string(exec_request_mask(r), r->report->findings[i].text);
}

static int scan_and_keep(struct exec_request *r, struct scan_report *ret, struct cella_err *err)
{
        if (exec_request_scan(r, ret) < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "scanner");
        exec_request_keep_report(r, ret);
        return 0;
}

int exec_request_scan_now(const struct box *box, struct exec_request *r, struct cella_err *err)
{
        static struct scan_report report; /* one thread, and nobody keeps it */
        if (r->scanned || !exec_request_may_refuse(box, r))
                return 0;
        int e = scan_and_keep(r, &report, err);
        return e < 0 ? e : exec_request_refuse(box, r, &report, err);
}

bool exec_request_warn(const struct box *box, struct exec_request *r)
{
        static struct scan_report report;
        struct cella_err err;
        const struct source s = source_of(r);
        if (r->scanned || box->settings.scan == ACTION_OFF || s.language == SCAN_UNKNOWN || s.len == 0)
                return false;
        if (s.len > SCAN_AT_ONCE)
                return true;
        if (scan_is_dull(s.language, s.text, s.len)) { /* that it is no Python, Python says */
                r->scanned = true;
                return false;
        }
        scan_and_keep(r, &report, &err); /* without memory there is no advice */
        return false;
}

static void write_scan(struct json *j, const void *of)
{
        const struct exec_request *r = of;
        scan_report_write(j, "scan", exec_request_language(r), r->report);
}

struct result_about exec_request_about(const struct exec_request *r, const struct cella_isolation *isolation)
{
        return (struct result_about){.runtime = r->runtime,
                                     .isolation = isolation,
                                     .host = r->direct,
                                     .reason = r->reason[0] ? r->reason : NULL,
                                     .more = r->report ? write_scan : NULL,
                                     .of = r};
}

/* ---- host or sandbox ---- */

/* What only a sandbox has.  NULL: nothing of it was asked for. */
static const char *wall_asked_for(const struct box *box, const struct exec_request *r)
{
        if (r->network)
                return "network";
        if (r->image)
                return "image";
        if (r->workspace >= 0 || (r->agent && box->settings.workspace != WORKSPACE_NONE))
                return "workspace";
        return json_object_get(r->limits, "disk_bytes") ? "limits.disk_bytes" : NULL;
}

/* Besides the code, what can bring other code with it, or change what the code means: a module, BASH_ENV, a
 * directory with a json.py in it, what a shell's commands read. */
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
        return exec_request_scan_len(r) > SCAN_AT_ONCE ? "code that is too long to be judged at once" : NULL;
}

static void name_verdict(unsigned verdict, char *ret, size_t size)
{
        int n = snprintf(ret, size, "sandbox:");
        const char *word;
        for (unsigned i = 0; (word = scan_verdict_name(i)); i++)
                if ((verdict & 1u << i) && n > 0 && (size_t)n < size)
                        n += snprintf(ret + n, size - (size_t)n, "%s %s", ret[n - 1] == ':' ? "" : ",", word);
}

/* r->direct, and why. */
static int select_mode(const struct box *box, struct exec_request *r, const char *asked,
                       struct cella_err *err)
{
        static struct scan_report report;
        const char *other = asked ? asked : brought_along(r);
        if (other || exec_request_language(r) == SCAN_UNKNOWN) {
                snprintf(r->reason, sizeof r->reason, "sandbox: %s", other ? other : "unknown_language");
                return 0;
        }
        int e = scan_and_keep(r, &report, err);
        if (e == 0)
                e = exec_request_refuse(box, r, &report, err);
        if (e < 0)
                return e;
        r->direct = report.verdict == 0 && !report.unknown_command;
        if (r->direct)
                snprintf(r->reason, sizeof r->reason, "host: nothing risky was found");
        else if (report.verdict == 0)
                snprintf(r->reason, sizeof r->reason, "sandbox: a command that is not known");
        else
                name_verdict(report.verdict, r->reason, sizeof r->reason);
        return 0;
}

static int choose(const struct box *box, const struct caller *caller, struct exec_request *r,
                  struct cella_err *err)
{
        const enum box_mode mode = box->settings.mode;
        int e = 0;
        if (mode == MODE_ALL || exec_request_scope(box, r) != SCOPE_EXECUTION)
                return 0;
        const char *asked = wall_asked_for(box, r);
        if (mode == MODE_SELECTIVE) {
                e = select_mode(box, r, asked, err);
        } else if (asked) { /* never skipped in silence */
                err_say(err, CELLA_INVALID_REQUEST, -ENOTSUP,
                        "%s cannot be had: the mode is 'off', and this would run on the host", asked);
                return err_hint(err, "what runs in a session or in a sandbox of its own has it");
        } else {
                r->direct = true;
                snprintf(r->reason, sizeof r->reason, "host: the mode is off");
        }
        return e == 0 && r->direct ? caller_may(caller, MAY_HOST, err) : e;
}

int exec_request_admit(struct box *box, const struct caller *caller, struct exec_request *r, bool own,
                       struct cella_err *err)
{
        int e = exec_request_runtime(box, r, own, err);
        if (e == 0)
                e = exec_request_grant(box, caller, r, err);
        if (e == 0 && own)
                e = choose(box, caller, r, err);
        if (e < 0 || r->scanned || !exec_request_may_refuse(box, r))
                return e;
        if (exec_request_scan_len(r) <= SCAN_AT_ONCE)
                return exec_request_scan_now(box, r, err);
        r->scan_first = true; /* execution_start() sees to it */
        return 0;
}
