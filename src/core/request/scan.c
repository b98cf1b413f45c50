/* core/request/scan.c -- scans the code of a request, before it runs or while it runs.
 *
 * The scanner gives advice and filters requests; it is not a wall.  If it may refuse the request
 * (allowed_imports, scan.action "block") or choose where it runs (mode "selective"), the scan comes first;
 * otherwise it runs beside the code.  Code of up to SCAN_AT_ONCE bytes is scanned in the event loop within
 * SCAN_AT_ONCE_US, everything else in a worker thread (scan_job.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/request/request.h"

#define IMPORTS_MAX 256 /* the same as in fields.c */

/* Whether this is the interpreter that the default PATH finds: another program may have the same name. */
static bool is_system_program(const char *path)
{
        const char *slash = strrchr(path, '/');
        size_t len = slash ? (size_t)(slash - path) : 0;
        return !slash || (len == 4 && !strncmp(path, "/bin", 4)) ||
               (len == 8 && !strncmp(path, "/usr/bin", 8));
}

/* Whether this is -c, possibly combined with options that take no argument. */
static bool is_shell_option(const char *option)
{
        size_t len = strlen(option);
        return option[0] == '-' && len > 1 && option[len - 1] == 'c' &&
               strspn(option + 1, "celuvx") == len - 1;
}

/* Recognizes ["sh", "-c", CODE] and similar.  node also parses options after the code. */
static void take_command(const char *const *argv, struct scan_request *ret)
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
                *ret = (struct scan_request){.language = language, .text = argv[2], .len = strlen(argv[2])};
}

struct scan_request exec_request_scan_request(const struct exec_request *r)
{
        struct scan_request s = {.language = SCAN_UNKNOWN, .text = ""};
        if (r->code && r->runtime)
                s = (struct scan_request){.language = scan_language_of_runtime(r->runtime),
                                          .text = r->code,
                                          .len = r->code_len};
        else
                take_command((const char *const *)r->argv, &s);
        s.allowed_imports = r->allowed_imports;
        return s;
}

enum scan_language exec_request_language(const struct exec_request *r)
{
        return exec_request_scan_request(r).language;
}

/* Returns the number of bytes to scan. */
static size_t scan_len(const struct exec_request *r)
{
        const struct scan_request s = exec_request_scan_request(r);
        return s.language == SCAN_UNKNOWN ? 0 : s.len;
}

int scan_request_run(const struct scan_request *s, const struct scan_limits *limits, struct scan_report *ret)
{
        const char *allowed[IMPORTS_MAX];
        struct scan_rules rules = {.allowed_imports = allowed};
        size_t i;
        const json_t *name;
        json_array_foreach (s->allowed_imports, i, name)
                if (i < IMPORTS_MAX)
                        allowed[rules.n_allowed_imports++] = json_string_value(name);
        return scan(s->language, s->text, s->len, s->allowed_imports ? &rules : NULL, limits, ret);
}

/* Scans short code now.  Returns 1 if *ret is set, 0 if a worker must scan it, or -ENOMEM. */
static int scan_at_once(const struct exec_request *r, struct scan_report *ret)
{
        const struct scan_request s = exec_request_scan_request(r);
        const struct scan_limits limits = {.time_us = SCAN_AT_ONCE_US};
        if (s.language != SCAN_UNKNOWN && s.len > SCAN_AT_ONCE)
                return 0;
        int e = scan_request_run(&s, &limits, ret);
        return e < 0 ? e : !ret->late;
}

bool exec_request_may_refuse(const struct core *core, const struct exec_request *r)
{
        return r->allowed_imports ||
               (core->settings.scan == ACTION_BLOCK && exec_request_language(r) != SCAN_UNKNOWN);
}

/* Code that cannot be parsed may import anything. */
static const struct scan_finding *refused_import(const struct scan_report *report)
{
        const struct scan_finding *f = scan_refusal(report);
        const unsigned unread = SCAN_NOT_ALLOWED | SCAN_UNPARSABLE | SCAN_UNKNOWN_LANGUAGE;
        return f || !(report->verdict & unread) || report->n_findings == 0 ? f : &report->findings[0];
}

static const struct scan_finding *refused_finding(const struct scan_block *block,
                                                  const struct scan_report *report)
{
        for (size_t i = 0; i < report->n_findings; i++) {
                const struct scan_finding *f = &report->findings[i];
                if (f->severity >= block->severity || block->categories & 1u << f->category)
                        return f;
        }
        /* There were so many findings that those of the category were not kept. */
        if (block->categories & report->categories && report->n_findings > 0)
                return &report->findings[0];
        /* Code beyond the limits of the scanner was not checked completely. */
        for (size_t i = 0; i < report->n_findings && report->incomplete; i++)
                if (!strcmp(report->findings[i].rule, "unparsable"))
                        return &report->findings[i];
        return report->incomplete && report->n_findings > 0 ? &report->findings[0] : NULL;
}

/* Returns an error if the report is a reason to refuse the request. */
static int request_scan_refuse(const struct core *core, const struct exec_request *r,
                               const struct scan_report *report, struct cella_err *err)
{
        const struct scan_finding *f = r->allowed_imports ? refused_import(report) : NULL;
        const bool imports = f != NULL;
        char text[sizeof f->text];
        if (!f && core->settings.scan == ACTION_BLOCK)
                f = refused_finding(&core->settings.block, report);
        if (!f)
                return 0;
        memcpy(text, f->text, sizeof text);
        mask_string(exec_request_mask(r), text);
        err_say(err, CELLA_SCAN_REFUSED, -EACCES, "line %u: %s (%s)", f->line, text, f->rule);
        return imports ? err_hint(err,
                                  "allowed_imports does not allow it, or the import cannot be determined")
                       : err_hint(err,
                                  "the settings scan.action and scan.block refuse it (severity %s, category "
                                  "%s); 'cella scan' lists all findings",
                                  scan_severity_name(f->severity), scan_category_words[f->category]);
}

void exec_request_keep_report(struct exec_request *r, const struct scan_report *report)
{
        r->scanned = true;
        memcpy(r->imports, report->imports, sizeof r->imports);
        const bool reported = report->skipped || (report->worst >= SCAN_LOW && report->n_findings > 0);
        if (!reported || r->report || !(r->report = malloc(sizeof *report)))
                return;
        *r->report = *report;
        for (size_t i = 0; i < report->n_findings; i++)
                mask_string(exec_request_mask(r), r->report->findings[i].text);
}

int exec_request_decide(const struct core *core, struct exec_request *r, int scanned,
                        const struct scan_report *report, struct cella_err *err)
{
        if (scanned < 0 || !report)
                return err_set(err, CELLA_INTERNAL, scanned, "scanner");
        exec_request_keep_report(r, report);
        r->risky = report->verdict;
        r->unknown_command = report->unknown_command;
        return request_scan_refuse(core, r, report, err);
}

int exec_request_scan_now(const struct core *core, struct exec_request *r, struct cella_err *err)
{
        static struct scan_report report; /* only used by the loop's thread */
        int e = scan_at_once(r, &report);
        if (e == 0)
                return 0;
        e = exec_request_decide(core, r, e < 0 ? e : 0, &report, err);
        return e < 0 ? e : 1;
}

bool exec_request_warn(const struct core *core, struct exec_request *r)
{
        static struct scan_report report;
        const size_t len = scan_len(r);
        if (r->scanned || core->settings.scan == ACTION_OFF || len == 0)
                return false;
        _Static_assert(SCAN_ADVICE_MAX == 262144, "the message below says so");
        if (len > SCAN_ADVICE_MAX) {
                exec_request_keep_report(
                        r, &(const struct scan_report){.skipped = "the code is longer than 262144 bytes"});
                return false;
        }
        int e = scan_at_once(r, &report);
        if (e > 0)
                exec_request_keep_report(r, &report);
        return e == 0; /* negative: no memory, so no advice */
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
