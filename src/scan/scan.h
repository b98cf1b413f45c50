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

#include "scan/finding.h"
#include "scan/rules.h"

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

/* The first finding for which allowed_imports refuses the text, or NULL. */
const struct scan_finding *scan_refusal(const struct scan_report *report);
