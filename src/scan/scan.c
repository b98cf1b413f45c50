#include "scan/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"
#include "scan/bash/bash.h"
#include "scan/javascript/javascript.h"
#include "scan/python/python.h"

/* Each nested text needs a parser: texts beyond these limits are not scanned. */
#define LEVELS_MAX 3
#define TEXTS_MAX 100
#define BYTES_MAX (256u << 10)

/* ---- the language of a text ---- */

static const struct {
        const char *name;
        enum scan_language language;
} names[] = {
        {"python", SCAN_PYTHON},   {"pypy", SCAN_PYTHON},
        {"py", SCAN_PYTHON},       {"bash", SCAN_BASH},
        {"sh", SCAN_BASH},         {"dash", SCAN_BASH},
        {"ash", SCAN_BASH},        {"zsh", SCAN_BASH},
        {"ksh", SCAN_BASH},        {"shell", SCAN_BASH},
        {"node", SCAN_JAVASCRIPT}, {"nodejs", SCAN_JAVASCRIPT},
        {"js", SCAN_JAVASCRIPT},   {"mjs", SCAN_JAVASCRIPT},
        {"cjs", SCAN_JAVASCRIPT},  {"javascript", SCAN_JAVASCRIPT},
        {"bun", SCAN_JAVASCRIPT},  {"pyw", SCAN_PYTHON},
        {"ipython", SCAN_PYTHON},  {"deno", SCAN_JAVASCRIPT},
};

static enum scan_language find_language(const char *name, size_t len)
{
        /* python3.11 is python */
        while (len > 0 && (isdigit((unsigned char)name[len - 1]) || name[len - 1] == '.'))
                len--;
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (strlen(names[i].name) == len && !memcmp(names[i].name, name, len))
                        return names[i].language;
        return SCAN_UNKNOWN;
}

enum scan_language scan_language_of_runtime(const char *name)
{
        const char *slash = strrchr(name, '/');
        name = slash ? slash + 1 : name;
        return find_language(name, strlen(name));
}

enum scan_language scan_language_of_file(const char *path)
{
        const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
        return dot ? find_language(dot + 1, strlen(dot + 1)) : SCAN_UNKNOWN;
}

enum scan_language scan_language_of_text(const char *text, size_t len)
{
        char line[128];
        size_t n = 0;
        while (n < len && n < sizeof line - 1 && text[n] != '\n' && text[n] != '\r')
                n++;
        if (n < 2 || memcmp(text, "#!", 2) != 0)
                return SCAN_UNKNOWN;
        memcpy(line, text, n);
        line[n] = '\0';
        /* The first word that names an interpreter: "#!/usr/bin/env -S python3 -u". */
        char *rest = line + 2, *word;
        while ((word = strsep(&rest, " \t")))
                if (word[0] && scan_language_of_runtime(word) != SCAN_UNKNOWN)
                        return scan_language_of_runtime(word);
        return SCAN_UNKNOWN;
}

/* ---- checks of the bytes ---- */

/* Characters that change the order in which others are shown, or that are not shown at all. */
static bool is_hidden(uint32_t c)
{
        return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200b || c == 0x2060 ||
               (c >= 0xe0000 && c <= 0xe007f);
}

/* Letters that Python normalises to ASCII: full width, and mathematical alphabets. */
static bool is_lookalike(uint32_t c)
{
        return (c >= 0xff21 && c <= 0xff5a) || (c >= 0x1d400 && c <= 0x1d7ff);
}

static void check_bytes(enum scan_language language, const struct program_job *job)
{
        const char *text = job->text, *line_start = text;
        uint32_t line = 1;
        bool nul = false, lookalike = false;
        for (size_t i = 0; i < job->len;) {
                unsigned char byte = (unsigned char)text[i];
                if (byte == '\n') {
                        line++;
                        line_start = text + i + 1;
                }
                if (byte != 0 && byte < 0x80) {
                        lookalike = false;
                        i++;
                        continue;
                }
                size_t n = utf8_len(text + i, job->len - i);
                uint32_t c = n > 0 ? utf8_get(text + i, n) : 0,
                         column = (uint32_t)(text + i - line_start) + 1;
                if (is_hidden(c))
                        report_at(job->report, RULE_HIDDEN_CHARACTERS, line, column, text + i, n);
                if (language == SCAN_PYTHON && is_lookalike(c) && !lookalike)
                        report_at(job->report, RULE_LOOKALIKE_NAME, line, column, text + i, job->len - i);
                lookalike = is_lookalike(c);
                /* An interpreter may stop at a NUL or skip it; and Python accepts only UTF-8. */
                if (!nul && (byte == 0 || (n == 0 && language == SCAN_PYTHON))) {
                        report_at(job->report, RULE_UNPARSABLE, line, column, text + i, 1);
                        nul = true;
                }
                i += n > 0 ? n : 1;
        }
}

/* "# coding: rot13" makes Python decode the text in another way than the scanner. */
static void check_encoding(const struct program_job *job)
{
        static const char *const usual[] = {"utf-8",    "utf8",    "utf_8",     "ascii",
                                            "us-ascii", "latin-1", "iso-8859-1"};
        size_t from = 0;
        for (uint32_t line = 1; line <= 2 && from < job->len; line++) {
                const char *text = job->text + from, *end = memchr(text, '\n', job->len - from);
                size_t len = end ? (size_t)(end - text) : job->len - from, n = 0;
                const char *found = len > 0 && memchr(text, '#', len) ? memmem(text, len, "coding", 6) : NULL;
                from += len + 1;
                if (!found || (found[6] != ':' && found[6] != '='))
                        continue;
                for (found += 7; found < text + len && isspace((unsigned char)*found); found++)
                        continue;
                while (found + n < text + len &&
                       (isalnum((unsigned char)found[n]) || strchr("-_.", found[n])))
                        n++;
                bool good = n == 0;
                for (size_t i = 0; i < ARRAY_LEN(usual); i++)
                        good |= strlen(usual[i]) == n && !strncasecmp(usual[i], found, n);
                if (!good)
                        report_at(job->report, RULE_ODD_ENCODING, line, 1, text, len);
        }
}

/* ---- scanning ---- */

static int scan_parsed(enum scan_language language, const struct program_job *job)
{
        switch (language) {
        case SCAN_PYTHON:
                check_encoding(job);
                return python_scan(job);
        case SCAN_JAVASCRIPT:
                return javascript_scan(job);
        default:
                return bash_scan(job);
        }
}

/* The grammars treat a NUL as the end, or loop at it; with spaces instead the rest can be scanned. */
static int scan_without_nul(enum scan_language language, const struct program_job *job)
{
        char *copy = malloc(job->len);
        if (!copy)
                return -ENOMEM;
        for (size_t i = 0; i < job->len; i++)
                copy[i] = (char)(job->text[i] ? job->text[i] : ' ');
        struct report report = *job->report;
        struct program_job plain = *job;
        report.text = plain.text = copy;
        plain.report = &report;
        int r = scan_parsed(language, &plain);
        free(copy);
        return r;
}

static int scan_text(enum scan_language language, const struct program_job *job)
{
        if (language == SCAN_UNKNOWN) {
                report_at(job->report, RULE_UNKNOWN_LANGUAGE, 1, 1, job->text, job->len);
                return 0;
        }
        if (job->len > SCAN_LENGTH_MAX) {
                program_unparsable(job);
                job->report->to->incomplete = true;
                return 0;
        }
        check_bytes(language, job);
        return memchr(job->text, '\0', job->len) ? scan_without_nul(language, job)
                                                 : scan_parsed(language, job);
}

static int scan_nested(enum scan_language language, const struct program_job *job)
{
        struct scan_inside *inside = job->inside;
        if (inside->level == LEVELS_MAX || inside->texts == TEXTS_MAX ||
            job->len > BYTES_MAX - inside->bytes) {
                program_unparsable(job);
                return 0;
        }
        inside->level++;
        inside->texts++;
        inside->bytes += job->len;
        int r = scan_text(language, job);
        inside->level--;
        return r;
}

int scan(enum scan_language language, const char *text, size_t len, const struct scan_rules *rules,
         const struct scan_limits *limits, struct scan_report *ret)
{
        const uint64_t time_us =
                limits && limits->time_us > 0 ? limits->time_us : SCAN_TIME_MS * (uint64_t)1000;
        struct budget budget = {.end = budget_now() + time_us * 1000,
                                .cancelled = limits ? limits->cancelled : NULL};
        struct report report = {.to = ret, .text = text, .line = 1, .column = 1};
        struct scan_inside inside = {.budget = &budget, .scan = scan_nested};
        const struct program_job job = {text, len, &report, rules, &inside};
        *ret = (struct scan_report){0};
        int r = scan_text(language, &job);
        ret->late = budget.over;
        report_end(ret);
        return r;
}

const struct scan_finding *scan_refusal(const struct scan_report *report)
{
        const char *not_allowed = scan_rule_at(RULE_IMPORT_NOT_ALLOWED)->name,
                   *construct = scan_rule_at(RULE_CONSTRUCT_NOT_ALLOWED)->name,
                   *not_constant = scan_rule_at(RULE_IMPORT_NOT_CONSTANT)->name;
        for (size_t i = 0; i < report->n_findings && (report->verdict & SCAN_NOT_ALLOWED); i++)
                if (report->findings[i].rule == not_allowed || report->findings[i].rule == not_constant ||
                    report->findings[i].rule == construct)
                        return &report->findings[i];
        return NULL;
}
