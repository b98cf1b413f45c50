/* scan/scan.h -- scans the text of a program for imports, calls, file accesses, processes and evaluated code.
 *
 * The result is advice, not a security boundary: code can hide from the scanner (doc/scanner.md). In doubt
 * the verdict is "risky": text that cannot be parsed or followed sets a bit in the verdict.
 *
 * The scanner only reads and computes: no files, no logging, no state between calls. Any number of threads
 * may scan at once. Time (struct scan_limits) and memory (SCAN_MEMORY_BYTES) of a scan are limited for every
 * text. */
#pragma once
#include <stdatomic.h>

#include "scan/finding.h"
#include "scan/rules.h"

struct scan_limits {
        uint64_t time_us;             /* of CPU time; 0: SCAN_TIME_MS */
        const atomic_bool *cancelled; /* set by another thread to end the scan soon; NULL: never */
};

/* Scans a text and fills in *ret. rules and limits may be NULL. Returns 0 or -ENOMEM; a text that cannot
 * be parsed is not an error, but a verdict. */
int scan(enum scan_language language, const char *text, size_t len, const struct scan_rules *rules,
         const struct scan_limits *limits, struct scan_report *ret);

/* Return the language of a runtime ("python3.11", "/bin/sh", "node"), of a file name ("x.py"), or of the
 * first line of a text ("#!/usr/bin/env python3"). */
enum scan_language scan_language_of_runtime(const char *name);
enum scan_language scan_language_of_file(const char *path);
enum scan_language scan_language_of_text(const char *text, size_t len);

/* Returns the first finding because of which allowed_imports refuses the text, or NULL. */
const struct scan_finding *scan_refusal(const struct scan_report *report);
