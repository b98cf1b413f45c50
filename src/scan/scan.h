/* scan/scan.h -- what a program's text would do: what it imports, calls, opens, starts, evaluates.
 *
 * Advice and a filter, never a wall: whoever wants to hide from it can (doc/scanner.md).  It errs to the side
 * of "risky": what it cannot read or follow has a bit in the verdict.
 *
 * It reads and computes only: no files, no logging, no state between calls.  Any number of threads may scan
 * at once.  A scan is bounded in time (struct scan_limits) and memory (SCAN_MEMORY_BYTES) whatever the text
 * is. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum scan_language { SCAN_UNKNOWN, SCAN_PYTHON, SCAN_BASH, SCAN_JAVASCRIPT };
enum scan_severity { SCAN_INFO, SCAN_LOW, SCAN_MEDIUM, SCAN_HIGH };

/* The verdict: anything in it is a reason for mode "selective" to use a sandbox. */
enum {
        SCAN_USES_NETWORK = 1 << 0,
        SCAN_WRITES_OUTSIDE = 1 << 1, /* of the workspace and /tmp, or where cannot be told */
        SCAN_CONTROLS_PROCESSES = 1 << 2,
        SCAN_NETWORK_COMMAND = 1 << 3, /* a shell command that uses the network */
        SCAN_EVALUATES = 1 << 4, /* runs code that is not in the text, or reaches for it in hidden ways */
        SCAN_OBFUSCATED = 1 << 5,
        SCAN_UNPARSABLE = 1 << 6,
        SCAN_UNKNOWN_LANGUAGE = 1 << 7,
        SCAN_NOT_ALLOWED = 1 << 8, /* an import that allowed_imports does not have, or might not */
};

#define SCAN_LENGTH_MAX (4u << 20)     /* a longer text is not parsed: unparsable */
#define SCAN_TIME_MS 5000              /* of CPU time */
#define SCAN_MEMORY_BYTES (384u << 20) /* for the syntax tree */
#define SCAN_FINDINGS_MAX 200
#define SCAN_TEXT_MAX 96

struct scan_finding {
        const char *rule; /* of the table in scan/rules.c; static */
        enum scan_severity severity;
        uint32_t line, column;        /* both from 1; the column in bytes */
        char text[SCAN_TEXT_MAX + 1]; /* the beginning of the construct; UTF-8, no control characters */
};

struct scan_report {
        const char *skipped; /* why the text was not scanned; NULL: it was.  Static. */
        unsigned verdict;
        enum scan_severity worst;
        bool more;            /* there were more findings than fit; the worst are here */
        bool incomplete;      /* the text exceeds a limit of the scanner, so parts of it were not checked */
        bool late;            /* the limit that was exceeded is that of time, or the scan was cancelled */
        bool unknown_command; /* a shell's, of which no table says what it does: no finding, but no trust
                                 either */
        size_t n_findings;
        struct scan_finding findings[SCAN_FINDINGS_MAX]; /* in the order of the text */
};

struct scan_rules {
        /* NULL: all are allowed.  "os" also stands for what is below it ("os.path"; in JavaScript "fs" for
         * "node:fs" and "fs/promises").  Every import must be in it, wherever it stands, and its name must
         * be a constant. */
        const char *const *allowed_imports;
        size_t n_allowed_imports;
};

struct scan_limits {
        uint64_t time_us;             /* of CPU time; 0: SCAN_TIME_MS */
        const atomic_bool *cancelled; /* another thread sets it to end the scan soon; NULL: none does */
};

/* Fills in *ret.  rules and limits may be NULL.  -ENOMEM is the only failure; a text that cannot be parsed is
 * a verdict. */
int scan(enum scan_language language, const char *text, size_t len, const struct scan_rules *rules,
         const struct scan_limits *limits, struct scan_report *ret);

/* By the name of a runtime or language ("python3.11", "/bin/sh", "node"), by the end of a file's name
 * ("x.py"), or by the first line of a text ("#!/usr/bin/env python3"). */
enum scan_language scan_language_of_runtime(const char *name);
enum scan_language scan_language_of_file(const char *path);
enum scan_language scan_language_of_text(const char *text, size_t len);

const char *scan_language_name(enum scan_language language);
const char *scan_severity_name(enum scan_severity severity);
/* The word for one bit of a verdict, NULL past the last. */
const char *scan_verdict_name(unsigned index);

/* The first finding for which allowed_imports refuses the text, or NULL. */
const struct scan_finding *scan_refusal(const struct scan_report *report);

/* {"language", "verdict": [...], "severity", "findings": [...], "more"} as the value of key (NULL: no key),
 * and "skipped" if the text was not scanned. */
void scan_report_write(struct json *j, const char *key, enum scan_language language,
                       const struct scan_report *report);

/* ---- the table of rules, for documentation and tests ---- */
struct scan_rule {
        const char *name;
        enum scan_severity severity;
        unsigned verdict;
        const char *help;
};
const struct scan_rule *scan_rule_at(size_t index); /* NULL past the last */
