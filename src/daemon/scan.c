#include "daemon/scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/filter.h"
#include "scan/scan.h"
#include "sys/file.h"

#define ALLOW_MAX 256
#define EXIT_FAILED 125

struct arguments {
        const char *name, *allow[ALLOW_MAX];
        size_t n_allow;
        enum scan_language language;
        bool json;
};

static int daemon_scan_fail(int status, const char *message, const char *detail)
{
        fprintf(stderr, "cella: %s%s\n", message, detail);
        return status;
}

static int daemon_scan_parse(int argc, char **argv, struct arguments *ret)
{
        for (int i = 2; i < argc; i++) {
                const char *value = i + 1 < argc ? argv[i + 1] : NULL;
                if (!strcmp(argv[i], "--json")) {
                        ret->json = true;
                        continue;
                }
                if (!value)
                        return daemon_scan_fail(2, "an argument is missing after ", argv[i]);
                if (!strcmp(argv[i], "--name"))
                        ret->name = value;
                else if (!strcmp(argv[i], "--allow") && ret->n_allow < ALLOW_MAX)
                        ret->allow[ret->n_allow++] = value;
                else if (!strcmp(argv[i], "--language") &&
                         (ret->language = scan_language_of_runtime(value)) == SCAN_UNKNOWN)
                        return daemon_scan_fail(2, "unsupported language: ", value);
                else if (strcmp(argv[i], "--language") != 0)
                        return daemon_scan_fail(2, "bad argument ", argv[i]);
                i++;
        }
        return 0;
}

/* Reads one byte more than the limit, so that a longer text is recognised. */
static ssize_t daemon_scan_read_all(char *ret, size_t size)
{
        size_t len = 0;
        while (len < size) {
                ssize_t n = sys_read(STDIN_FILENO, ret + len, size - len);
                if (n < 0)
                        return n;
                if (n == 0)
                        break;
                len += (size_t)n;
        }
        return (ssize_t)len;
}

static void daemon_scan_print(const struct arguments *a, const struct scan_report *report)
{
        const char *name = a->name ? a->name : "-", *word;
        struct json j = {.out = stdout};
        if (a->json) {
                scan_report_write(&j, NULL, a->language, report);
                putchar('\n');
                return;
        }
        for (size_t i = 0; i < report->n_findings; i++) {
                const struct scan_finding *f = &report->findings[i];
                printf("%s:%u:%u: %s: %s: %s\n", name, f->line, f->column, scan_severity_name(f->severity),
                       f->rule, f->text);
        }
        if (report->more)
                printf("%s: there is more; these are the worst\n", name);
        printf("%s: %s:", name, scan_language_name(a->language));
        for (unsigned i = 0; (word = scan_verdict_name(i)); i++)
                if (report->verdict & 1u << i)
                        printf(" %s", word);
        puts(report->verdict ? "" : " nothing risky found");
}

int scan_main(int argc, char **argv)
{
        struct arguments a = {0};
        struct cella_err err = {0};
        static struct scan_report report;
        int r = daemon_scan_parse(argc, argv, &a);
        if (r != 0)
                return r;
        char *text = malloc(SCAN_LENGTH_MAX + 1);
        ssize_t len = text ? daemon_scan_read_all(text, SCAN_LENGTH_MAX + 1) : -ENOMEM;
        if (len < 0) {
                free(text);
                return daemon_scan_fail(EXIT_FAILED, "cannot read: ", strerror((int)-len));
        }
        if (a.language == SCAN_UNKNOWN && a.name)
                a.language = scan_language_of_file(a.name);
        if (a.language == SCAN_UNKNOWN)
                a.language = scan_language_of_text(text, (size_t)len);
        const struct scan_rules rules = {a.n_allow > 0 ? a.allow : NULL, a.n_allow};
        /* The text is untrusted: use the same filter as the server. */
        r = filter_load(&err);
        if (r == 0)
                r = scan(a.language, text, (size_t)len, &rules, NULL, &report);
        free(text);
        if (r < 0)
                return daemon_scan_fail(EXIT_FAILED, "cannot scan: ", err.msg[0] ? err.msg : strerror(-r));
        daemon_scan_print(&a, &report);
        return fflush(stdout) != 0 ? EXIT_FAILED : report.worst >= SCAN_MEDIUM;
}
