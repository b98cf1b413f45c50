/* scan/finding.h -- the result of a scan: findings, the verdict, and the words that stand for them.
 *
 * Plain data, which every other file of the scanner uses. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum scan_language { SCAN_UNKNOWN, SCAN_PYTHON, SCAN_BASH, SCAN_JAVASCRIPT };
enum scan_severity { SCAN_INFO, SCAN_LOW, SCAN_MEDIUM, SCAN_HIGH };

/* What a rule is about.  The setting scan.block names them: see scan_category_words. */
enum scan_category {
        SCAN_FILES,
        SCAN_NETWORK,
        SCAN_PROCESS,
        SCAN_NATIVE,
        SCAN_EVALUATION,
        SCAN_OBFUSCATION,
        SCAN_IMPORTS,
        SCAN_UNREAD,
};

/* The verdict: anything in it is a reason for mode "selective" to use a sandbox. */
enum {
        SCAN_USES_NETWORK = 1 << 0,
        SCAN_WRITES_OUTSIDE =
                1 << 1, /* of the workspace and /tmp, or at a place that the text does not name */
        SCAN_CONTROLS_PROCESSES = 1 << 2,
        SCAN_NETWORK_COMMAND = 1 << 3, /* a shell command that uses the network */
        SCAN_EVALUATES = 1 << 4, /* runs code that is not in the text, or looks functions up in hidden ways */
        SCAN_OBFUSCATED = 1 << 5,
        SCAN_UNPARSABLE = 1 << 6,
        SCAN_UNKNOWN_LANGUAGE = 1 << 7,
        SCAN_NOT_ALLOWED = 1 << 8, /* an import that is not, or may not be, in allowed_imports */
};

#define SCAN_LENGTH_MAX (4u << 20)     /* a longer text is not parsed: unparsable */
#define SCAN_TIME_MS 5000              /* of CPU time */
#define SCAN_MEMORY_BYTES (384u << 20) /* for the syntax tree */
#define SCAN_FINDINGS_MAX 200
#define SCAN_TEXT_MAX 96
#define SCAN_IMPORTS_SIZE 512
#define SCAN_IMPORT_MAX 64 /* characters of one name */

struct scan_finding {
        const char *rule; /* of the table in scan/rules.c; static */
        enum scan_severity severity;
        enum scan_category category;
        uint32_t line, column;        /* both from 1; the column in bytes */
        char text[SCAN_TEXT_MAX + 1]; /* the beginning of the construct; UTF-8, no control characters */
};

struct scan_report {
        const char *skipped; /* why the text was not scanned; NULL: it was.  Static. */
        unsigned verdict;
        unsigned categories; /* set of 1 << enum scan_category: of all findings, also of those not kept */
        enum scan_severity worst;
        bool more;            /* there were more findings than fit; the worst are here */
        bool incomplete;      /* the text exceeds a limit of the scanner, so parts of it were not checked */
        bool late;            /* the limit that was exceeded is that of time, or the scan was cancelled */
        bool unknown_command; /* a shell command that is in no table: not a finding, but mode "selective"
                                 does not trust the text */
        /* The modules that Python code imports: the first parts of their names, which are ASCII identifiers,
         * each once, with spaces around: " json numpy ".  "": none.  Those that do not fit are left out. */
        char imports[SCAN_IMPORTS_SIZE];
        size_t n_findings;
        struct scan_finding findings[SCAN_FINDINGS_MAX]; /* in the order of the text */
};

const char *scan_language_name(enum scan_language language);
const char *scan_severity_name(enum scan_severity severity);
extern const char *const scan_category_words[]; /* by enum scan_category, NULL-terminated */
/* Returns the word for bit number index of a verdict, or NULL after the last one. */
const char *scan_verdict_name(unsigned index);

/* Writes {"language", "verdict": [...], "severity", "findings": [...], "more"} as the value of key (NULL: no
 * key), and "skipped" if the text was not scanned. */
void scan_report_write(struct json *j, const char *key, enum scan_language language,
                       const struct scan_report *report);
