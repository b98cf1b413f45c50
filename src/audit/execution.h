/* audit/execution.h -- the data of an execution that the log stores, and the filter that selects executions.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Known at the start.  Strings may be NULL. */
struct audit_begin {
        const char *id, *sandbox, *runtime;
        const char *key, *session, *agent;
        const char *input;  /* the code, or the command as JSON */
        size_t input_len;   /* cut at 64 KiB in the log; column input_bytes is the full length */
        int64_t started_ms; /* realtime */
        /* Other data about the request: the text of a JSON object, see about_listed in reader.c.  If it is
         * longer than AUDIT_ABOUT_MAX, the row does not contain it; if longer than AUDIT_ABOUT_SLOT_MAX, the
         * slot does not. */
        const char *about;
        size_t about_len;
};

#define AUDIT_ABOUT_MAX 32768
#define AUDIT_ABOUT_SLOT_MAX 4096

/* Known at the end. */
struct audit_end {
        const char *status;
        int exit_code, signal;
        uint64_t duration_us, cpu_us, memory_peak_bytes;
        uint32_t processes_peak;
        const char *output[2]; /* stored if keep_output: at most 64 KiB each */
        size_t output_len[2];
        uint64_t output_total[2];
        const char *violations; /* JSON array text, or NULL */
};

#define AUDIT_STATUSES_MAX 16

struct audit_filter {
        const char *sandbox, *session, *agent, *key; /* NULL: any */
        const char *status;                          /* one, or several separated by commas */
        const char *text;     /* in code, command or output; ignores the case of ASCII letters */
        int64_t since_ms;     /* 0: no limit */
        uint64_t cursor;      /* only rows older than this one; 0: start with the newest */
        unsigned limit;       /* 1 to 1000 */
        unsigned patience_us; /* time limit of a search; 0: 0.1 seconds */
};
