/* audit/audit.h -- the log of every execution, in SQLite.
 *
 * audit_begin() writes into a file that is mapped: a microsecond, and it survives the death
 * of the process.  audit_end() hands the whole record to a thread that writes in batches.  What
 * was begun and has no row when the daemon starts again is recorded as interrupted.
 *
 * Each row carries hash(hash of the row before, its own content): a row that was changed, put in
 * or taken out in the middle shows.  Retention removes from the old end and keeps the hash that
 * the oldest remaining row builds on (itself a chained record in the table of cuts).  What the chain
 * cannot show is somebody who may write the file and computes all of it anew: note the hash that
 * audit_verify() gives somewhere else against that.
 *
 * When the disk is full, rows wait in memory (bounded) and are tried again.  What did not fit is
 * counted, and the log says so itself once it can: a row with the status "lost".
 *
 * One directory is one process' and is opened once in it. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/id.h"
#include "cella.h"

struct audit;

struct audit_options {
        const char *directory; /* audit.db and running.map are made in it */
        uint32_t keep_days;    /* 0: for ever */
        uint64_t keep_bytes;   /* of the database; 0: no limit */
        bool keep_output;
};

/* What is known when it begins.  Strings may be NULL. */
struct audit_begin {
        const char *id, *sandbox, *runtime;
        const char *key, *session, *agent;
        const char *input;  /* the code, or the command as JSON */
        size_t input_len;   /* cut at 64 KiB in the log; audit_record.input_bytes tells the whole */
        int64_t started_ms; /* realtime */
        /* What else is known of the request, as the text of a JSON object: see audit_about_names.  Longer
         * than AUDIT_ABOUT_MAX: left out of the row; longer than AUDIT_ABOUT_SLOT_MAX: of the slot. */
        const char *about;
        size_t about_len;
};

#define AUDIT_ABOUT_MAX 32768
#define AUDIT_ABOUT_SLOT_MAX 4096

/* And when it ends. */
struct audit_end {
        const char *status;
        int exit_code, signal;
        uint64_t duration_us, cpu_us, memory_peak_bytes;
        uint32_t processes_peak;
        const char *output[2]; /* kept if keep_output: at most 64 KiB of each */
        size_t output_len[2];
        uint64_t output_total[2];
        const char *violations; /* JSON array text, or NULL */
};

#define AUDIT_STATUSES_MAX 16

struct audit_filter {
        const char *sandbox, *session, *agent, *key; /* NULL: any */
        const char *status;                          /* one, or several with commas between them */
        const char *text;                            /* in code, command or output; ASCII in either case */
        int64_t since_ms;                            /* 0: from the beginning */
        uint64_t cursor;                             /* rows older than this one; 0: from the newest */
        unsigned limit;                              /* 1 to 1000 */
        unsigned patience_us;                        /* with a search; 0: a tenth of a second */
};

/* Opens or makes the log; recovers what was interrupted (*ret_interrupted: how many). */
int audit_open(const struct audit_options *options, struct audit **ret, unsigned *ret_interrupted,
               struct cella_err *err);
/* Writes everything that is waiting, then closes. */
struct audit *audit_close(struct audit *audit);
DEFINE_AUTO(struct audit *, audit_close)

/* Returns a slot (>= 0) for audit_end(), or -EAGAIN when there are more at once than slots: then the
 * row is written, only not protected against a crash; pass on what it returned. */
int audit_begin(struct audit *audit, const struct audit_begin *begin);
/* Copies what it needs.  Waits if the queue is full (it is bounded; the disk is then the limit), but at
 * most two seconds, and only once until something could be written again: then the record is lost. */
void audit_end(struct audit *audit, int slot, const struct audit_begin *begin, const struct audit_end *end);
/* For metrics: records that were lost since it was opened, and records that are not written yet. */
uint64_t audit_lost(const struct audit *audit);
unsigned audit_waiting(const struct audit *audit);
/* It never ran after all: gives the slot back. */
void audit_cancel(struct audit *audit, int slot);
/* keep_days, keep_bytes, keep_output of a running log. */
void audit_configure(struct audit *audit, const struct audit_options *options);

/* Reading: from any one thread but not the loop's, on a connection of its own. */
struct audit_reader;
int audit_reader_open(const char *directory, struct audit_reader **ret, struct cella_err *err);
struct audit_reader *audit_reader_close(struct audit_reader *reader);
DEFINE_AUTO(struct audit_reader *, audit_reader_close)
/* Newest first: {"executions": [...], "cursor": "..." or null}.  Without outputs; of the input, its beginning
 * ("preview").  A search that finds little is answered after a tenth of a second with what it has found,
 * maybe nothing: the cursor goes on from there, and "searched" is the time of the last row it has looked at.
 */
int audit_list(struct audit_reader *reader, const struct audit_filter *filter, json_t **ret,
               struct cella_err *err);
/* Of one that has just ended: what its row in such a list is.  NULL: none, for the filter leaves it out. */
json_t *audit_row(const struct audit_filter *filter, const struct audit_begin *begin,
                  const struct audit_end *end);
/* One, whole.  -ENOENT. */
int audit_get(struct audit_reader *reader, const char *id, json_t **ret, struct cella_err *err);
/* {"rows": N, "ok": true, "last": row, "hash": hex of the last row's} or
 * {"rows": N, "ok": false, "first_bad": row, "why": "..."}.  A damaged file is ok: false as well. */
int audit_verify(struct audit_reader *reader, json_t **ret, struct cella_err *err);
/* The same in slices, on a connection of its own: it holds one snapshot from the first slice to the last. */
struct audit_verifier;
int audit_verifier_new(const char *directory, struct audit_verifier **ret, struct cella_err *err);
/* For about so long.  1: there is more to look at. */
int audit_verifier_go_on(struct audit_verifier *verifier, unsigned us, json_t **ret, struct cella_err *err);
struct audit_verifier *audit_verifier_free(struct audit_verifier *verifier);
DEFINE_AUTO(struct audit_verifier *, audit_verifier_free)
/* Commits what is waiting, so that a reader sees it; for tests and for the shell.  At most ten seconds. */
void audit_flush(struct audit *audit);
