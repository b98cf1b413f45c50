/* audit/audit.h -- the log of all executions, in SQLite.
 *
 * audit_begin() writes to a mapped file.  This takes a microsecond, and the record survives the death of
 * the process.  audit_end() passes the complete record to a thread that writes in batches.  Executions that
 * were begun but have no row when the daemon starts again are recorded as interrupted.
 *
 * Each row contains hash(hash of the previous row, own content), so a row that was changed, inserted or
 * removed in the middle is detected.  Retention removes the oldest rows and keeps the hash that the oldest
 * remaining row builds on (in the table of cuts, which is a chain, too).  The chain does not protect
 * against an attacker who can write the file and recomputes all hashes: to detect that, store the hash that
 * audit_verify() returns elsewhere.
 *
 * When the disk is full, rows wait in memory (up to a limit) and are written later.  Records beyond the
 * limit are counted, and the log gets a row with the status "lost" as soon as it can be written.
 *
 * A directory must be used by one process only, which opens it once. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "audit/execution.h"
#include "base/auto.h"
#include "base/id.h"
#include "cella.h"

struct audit;

struct audit_options {
        const char *directory; /* contains audit.db and running.map */
        uint32_t keep_days;    /* 0: forever */
        uint64_t keep_bytes;   /* size of the database; 0: no limit */
        bool keep_output;
};

/* Opens or creates the log and records interrupted executions (*ret_interrupted: their number). */
int audit_open(const struct audit_options *options, struct audit **ret, unsigned *ret_interrupted,
               struct cella_err *err);
/* Writes all waiting records and closes the log.  Returns NULL. */
struct audit *audit_close(struct audit *audit);
DEFINE_AUTO(struct audit *, audit_close)

/* Returns a slot (>= 0) for audit_end(), or -EAGAIN if all slots are in use.  In the latter case the row is
 * written, but does not survive a crash; pass the returned value to audit_end(), too. */
int audit_begin(struct audit *audit, const struct audit_begin *begin);
/* Copies the data.  If the queue is full, waits at most two seconds for the disk, and then the record is
 * lost.  Later calls do not wait again until a write has succeeded. */
void audit_end(struct audit *audit, int slot, const struct audit_begin *begin, const struct audit_end *end);
/* For metrics: records lost since the log was opened, and records not yet written. */
uint64_t audit_lost(const struct audit *audit);
unsigned audit_waiting(const struct audit *audit);
/* The execution did not run: frees the slot. */
void audit_cancel(struct audit *audit, int slot);
/* Changes keep_days, keep_bytes and keep_output. */
void audit_configure(struct audit *audit, const struct audit_options *options);

/* Reading, on a separate connection, from any one thread except the loop's. */
struct audit_reader;
int audit_reader_open(const char *directory, struct audit_reader **ret, struct cella_err *err);
struct audit_reader *audit_reader_close(struct audit_reader *reader);
DEFINE_AUTO(struct audit_reader *, audit_reader_close)
/* Newest first: {"executions": [...], "cursor": "..." or null}.  Rows have no outputs, and only the
 * beginning of the input ("preview").  A search returns after 0.1 seconds with the rows found so far,
 * possibly none: the cursor continues it, and "searched" is the time of the last row examined. */
int audit_list(struct audit_reader *reader, const struct audit_filter *filter, json_t **ret,
               struct cella_err *err);
/* Returns the list row of an execution that has just ended, or NULL if the filter excludes it. */
json_t *audit_row(const struct audit_filter *filter, const struct audit_begin *begin,
                  const struct audit_end *end);
/* Returns one complete row.  -ENOENT if there is none. */
int audit_get(struct audit_reader *reader, const char *id, json_t **ret, struct cella_err *err);
/* {"rows": N, "ok": true, "last": row, "hash": hash of the last row in hexadecimal} or {"rows": N, "ok":
 * false, "first_bad": row, "why": "..."}.  A damaged file is also reported as ok: false. */
int audit_verify(struct audit_reader *reader, json_t **ret, struct cella_err *err);
/* Same in slices, on a separate connection.  Keeps one snapshot from the first slice to the last. */
struct audit_verifier;
int audit_verifier_new(const char *directory, struct audit_verifier **ret, struct cella_err *err);
/* Runs for about us microseconds.  Returns 1 if there are more rows to verify. */
int audit_verifier_continue(struct audit_verifier *verifier, unsigned us, json_t **ret,
                            struct cella_err *err);
struct audit_verifier *audit_verifier_free(struct audit_verifier *verifier);
DEFINE_AUTO(struct audit_verifier *, audit_verifier_free)
/* Commits waiting records so that readers see them; for tests and the shell.  Waits at most ten seconds. */
void audit_flush(struct audit *audit);
