/* audit/audit.c -- the queue between the event loop and the disk.
 *
 * audit_begin() and audit_end() run in the event loop: they fill a slot in the map and copy the record to
 * the queue.  The writer thread takes batches, writes each in one transaction, and frees the slots of a
 * batch only after the commit.  So at any time, each execution is in the map, in the database or in both;
 * the unique id removes duplicates at the next start.
 *
 * One mutex protects the queue and the map.  It is never held during disk access. */
#include "audit/audit.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/db.h"
#include "audit/map.h"
#include "base/clock.h"
#include "base/err.h"

#define QUEUE_RECORDS 4096
#define QUEUE_BYTES (64u << 20)
#define BATCH_RECORDS 512
#define BATCH_BYTES (16u << 20)
#define BATCH_WAIT_US 100000
#define END_WAIT_US 2000000
#define FLUSH_WAIT_US 10000000
#define CLOSE_WAIT_US 2000000
#define RETRY_FIRST_US 50000
#define RETRY_MAX_US 1000000
#define RETAIN_EVERY_US 60000000
#define QUIET_US 500000 /* after this time, unused pages of SQLite's cache are freed */

struct audit {
        struct map *map;
        struct db db; /* used by the writer only, once it runs */
        pthread_t writer;
        bool started;

        pthread_mutex_t lock;
        pthread_cond_t wake;    /* for the writer: there is work */
        pthread_cond_t written; /* for other threads: something was written or was given up */
        bool closing, give_up;
        uint32_t keep_days;
        uint64_t keep_bytes;
        bool keep_output, retain_now;

        /* Waiting records, oldest first, and the batch being written.  The counts include both. */
        struct record *first, **end, *batch;
        unsigned n_batch;
        _Atomic unsigned n;
        size_t bytes;
        int64_t oldest_us;                     /* time at which the first one arrived */
        uint64_t queued_total, finished_total; /* record numbers for audit_flush() */
        uint64_t flush_to;

        bool stuck;           /* a caller has waited in vain: no other caller waits until a write succeeds */
        const char *why_lost; /* static text */
        uint64_t lost_unsaid;
        _Atomic uint64_t lost;
        int64_t retry_us, retry_wait_us; /* time of the next try; 0: no error */
};

/* ---- waiting ---- */

static void wait_until(struct audit *audit, pthread_cond_t *cond, int64_t deadline_us)
{
        struct timespec at = {.tv_sec = deadline_us / 1000000, .tv_nsec = deadline_us % 1000000 * 1000};
        pthread_cond_timedwait(cond, &audit->lock, &at);
}

static int init_conds(struct audit *audit)
{
        pthread_condattr_t monotonic;
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        int r = pthread_mutex_init(&audit->lock, NULL);
        if (r == 0)
                r = pthread_cond_init(&audit->wake, &monotonic);
        if (r == 0)
                r = pthread_cond_init(&audit->written, &monotonic);
        pthread_condattr_destroy(&monotonic);
        return -r;
}

/* ---- the writer thread; called with the lock held unless stated otherwise ---- */

static void free_records(struct record *record)
{
        while (record) {
                struct record *next = record->next;
                free(record);
                record = next;
        }
}

/* Returns the time of the next write: 0 (now), a later time, or INT64_MAX (nothing to write). */
static int64_t write_at(const struct audit *audit)
{
        bool any = audit->batch || audit->first || audit->lost_unsaid > 0;
        if (!any)
                return INT64_MAX;
        if (audit->retry_us > 0)
                return audit->retry_us;
        if (audit->closing || audit->batch || audit->flush_to > audit->finished_total || !audit->first ||
            atomic_load(&audit->n) >= BATCH_RECORDS || audit->bytes >= BATCH_BYTES)
                return 0;
        return audit->oldest_us + BATCH_WAIT_US;
}

static void take_batch(struct audit *audit)
{
        size_t bytes = 0;
        struct record **end = &audit->batch;
        if (audit->batch)
                return; /* retry the failed batch */
        audit->n_batch = 0;
        while (audit->first && audit->n_batch < BATCH_RECORDS && bytes < BATCH_BYTES) {
                struct record *record = audit->first;
                audit->first = record->next;
                record->next = NULL;
                *end = record;
                end = &record->next;
                audit->n_batch++;
                bytes += record->size;
        }
        if (!audit->first)
                audit->end = &audit->first;
        audit->oldest_us = clock_us(); /* the remaining records can wait for another batch */
}

static const char *cause(int code)
{
        switch (code & 0xff) {
        case SQLITE_FULL:
                return "disk full";
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
                return "audit.db is damaged";
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return "another process has locked audit.db";
        case SQLITE_NOMEM:
                return "no memory";
        default:
                return "audit.db could not be written";
        }
}

static void batch_failed(struct audit *audit, int code)
{
        audit->why_lost = cause(code);
        audit->retry_wait_us = audit->retry_wait_us == 0 ? RETRY_FIRST_US : audit->retry_wait_us * 2;
        int64_t max = audit->closing ? RETRY_FIRST_US : RETRY_MAX_US;
        if (audit->retry_wait_us > max)
                audit->retry_wait_us = max;
        audit->retry_us = clock_us() + audit->retry_wait_us;
}

static void batch_done(struct audit *audit, uint64_t said)
{
        for (struct record *record = audit->batch; record; record = record->next) {
                if (record->slot >= 0)
                        map_release(audit->map, record->slot);
                audit->bytes -= record->size;
        }
        atomic_fetch_sub(&audit->n, audit->n_batch);
        audit->finished_total += audit->n_batch;
        audit->n_batch = 0;
        audit->lost_unsaid -= said;
        audit->retry_us = audit->retry_wait_us = 0;
        audit->stuck = false;
        pthread_cond_broadcast(&audit->written);
}

/* Writes one batch, then a note about lost records, if any.  Releases the lock during the write. */
static void write_batch(struct audit *audit)
{
        take_batch(audit);
        struct record *batch = audit->batch, *note = NULL, **end = &batch;
        uint64_t lost = audit->lost_unsaid, keep_bytes = audit->keep_bytes;
        const char *why = audit->why_lost ? audit->why_lost : "no memory";
        pthread_mutex_unlock(&audit->lock);

        if (lost > 0) {
                char text[128];
                snprintf(text, sizeof text, "%llu records lost: %s", (unsigned long long)lost, why);
                note = record_note(text, row_now_ms());
                while (*end)
                        end = &(*end)->next;
                *end = note;
        }
        int code = batch ? db_write(&audit->db, batch) : SQLITE_NOMEM;
        *end = NULL; /* the note belongs to this try only */
        if (code == SQLITE_OK)
                map_set_last_row(audit->map, audit->db.seq);
        bool large = keep_bytes > 0 && db_exceeds(&audit->db, keep_bytes);

        pthread_mutex_lock(&audit->lock);
        audit->retain_now = audit->retain_now || large;
        if (code != SQLITE_OK) {
                batch_failed(audit, code);
        } else {
                batch_done(audit, note ? lost : 0);
                batch = audit->batch;
                audit->batch = NULL;
                pthread_mutex_unlock(&audit->lock);
                free_records(batch);
                pthread_mutex_lock(&audit->lock);
        }
        free(note);
}

/* Runs one step.  Returns true if there is more to do. */
static bool retain(struct audit *audit, struct db_pass *pass)
{
        uint32_t keep_days = audit->keep_days;
        uint64_t keep_bytes = audit->keep_bytes;
        pthread_mutex_unlock(&audit->lock);
        int r = db_retain(&audit->db, keep_days, keep_bytes, pass);
        pthread_mutex_lock(&audit->lock);
        return r == 1;
}

/* A burst fills SQLite's cache; this makes the process as small as before. */
static void release_cache(struct audit *audit)
{
        pthread_mutex_unlock(&audit->lock);
        sqlite3_db_release_memory(audit->db.sqlite);
        malloc_trim(0); /* otherwise free memory between allocated blocks would stay mapped */
        pthread_mutex_lock(&audit->lock);
}

static void *writer(void *userdata)
{
        struct audit *audit = userdata;
        int64_t retain_us = clock_us(), quiet_us = INT64_MAX;
        bool retaining = false;
        struct db_pass pass = {0};
        pthread_mutex_lock(&audit->lock);
        for (;;) {
                int64_t now = clock_us(), at = write_at(audit);
                if (audit->closing && (at == INT64_MAX || audit->give_up))
                        break;
                if (at <= now) {
                        write_batch(audit);
                        quiet_us = now + QUIET_US;
                } else if (quiet_us <= now) {
                        release_cache(audit);
                        quiet_us = INT64_MAX;
                }
                if (!retaining && !audit->closing && (audit->retain_now || now >= retain_us)) {
                        audit->retain_now = false;
                        retain_us = now + RETAIN_EVERY_US;
                        pass = (struct db_pass){0};
                        retaining = true;
                }
                retaining = retaining && !audit->closing && retain(audit, &pass);
                at = write_at(audit);
                if (retaining || at <= clock_us() || (audit->retain_now && !audit->closing))
                        continue;
                if (audit->closing && (at == INT64_MAX || audit->give_up))
                        break; /* closing was set during a write and is not signalled again */
                at = at < quiet_us ? at : quiet_us;
                wait_until(audit, &audit->wake, at < retain_us ? at : retain_us);
        }
        pthread_mutex_unlock(&audit->lock);
        return NULL;
}

/* ---- opening and closing ---- */

struct recovered {
        struct record *first, **end;
        unsigned interrupted;
};

static int add_recovered(void *context, struct record *record, bool interrupted)
{
        struct recovered *recovered = context;
        *recovered->end = record;
        recovered->end = &record->next;
        recovered->interrupted += interrupted;
        return 0;
}

static int add_note(struct recovered *recovered, const char *text)
{
        struct record *note = record_note(text, row_now_ms());
        return note ? add_recovered(recovered, note, false) : -ENOMEM;
}

/* Records the executions that the previous process did not write. */
static int audit_recover(struct audit *audit, bool map_damaged, unsigned *ret_interrupted,
                         struct cella_err *err)
{
        struct recovered recovered = {.end = &recovered.first};
        uint64_t last = map_last_row(audit->map);
        char text[160];
        int r = map_recover(audit->map, add_recovered, &recovered);
        if (r == 0 && map_damaged)
                r = add_note(&recovered,
                             "running.map was damaged: the executions that were running are unknown");
        if (r == 0 && last > audit->db.seq) {
                snprintf(text, sizeof text, "the log ended at row %llu before and ends at row %llu now",
                         (unsigned long long)last, (unsigned long long)audit->db.seq);
                r = add_note(&recovered, text);
        }
        if (r < 0) {
                err_set(err, CELLA_INTERNAL, r, "cannot recover the audit log");
        } else if (recovered.first) {
                int code = db_write(&audit->db, recovered.first);
                if (code != SQLITE_OK)
                        r = db_fail(audit->db.sqlite, "audit.db", "write", err);
        }
        free_records(recovered.first);
        if (r < 0)
                return r;
        map_clear(audit->map);
        map_set_last_row(audit->map, audit->db.seq);
        *ret_interrupted = recovered.interrupted;
        return 0;
}

/* The writer blocks all signals: the event loop handles them. */
static int start_writer(struct audit *audit)
{
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int r = pthread_create(&audit->writer, NULL, writer, audit);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        audit->started = r == 0;
        return -r;
}

int audit_open(const struct audit_options *options, struct audit **ret, unsigned *ret_interrupted,
               struct cella_err *err)
{
        AUTO(audit_close) struct audit *audit = NULL;
        bool map_damaged = false;
        unsigned interrupted = 0;
        int r;
        if (sodium_init() < 0)
                return err_say(err, CELLA_INTERNAL, -EIO, "libsodium cannot start");
        struct audit *made = calloc(1, sizeof *made);
        r = made ? init_conds(made) : -ENOMEM;
        if (r < 0) {
                free(made);
                return err_set(err, CELLA_INTERNAL, r, "cannot open the audit log");
        }
        audit = made;
        audit->end = &audit->first;
        audit_configure(audit, options);
        r = map_open(options->directory, &audit->map, &map_damaged, err);
        if (r < 0)
                return r;
        r = db_open(&audit->db, options->directory, err);
        if (r < 0)
                return r;
        r = audit_recover(audit, map_damaged, &interrupted, err);
        if (r < 0)
                return r;
        r = start_writer(audit);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot start the audit log's writer");
        if (ret_interrupted)
                *ret_interrupted = interrupted;
        *ret = TAKE(audit);
        return 0;
}

/* Records that cannot be written stay in the map, where the next audit_open() finds them. */
static void stop_writer(struct audit *audit)
{
        int64_t deadline_us = clock_us() + CLOSE_WAIT_US;
        pthread_mutex_lock(&audit->lock);
        audit->closing = true;
        audit->retry_us = audit->retry_us > 0 ? 1 : 0; /* retry at once */
        pthread_cond_signal(&audit->wake);
        while ((atomic_load(&audit->n) > 0 || audit->lost_unsaid > 0) &&
               (audit->retry_us == 0 || clock_us() < deadline_us))
                wait_until(audit, &audit->written, clock_us() + RETRY_FIRST_US);
        audit->give_up = true;
        pthread_cond_signal(&audit->wake);
        pthread_mutex_unlock(&audit->lock);
        pthread_join(audit->writer, NULL);
}

struct audit *audit_close(struct audit *audit)
{
        if (!audit)
                return NULL;
        if (audit->started)
                stop_writer(audit);
        free_records(audit->batch);
        free_records(audit->first);
        db_close(&audit->db);
        map_close(audit->map);
        pthread_cond_destroy(&audit->written);
        pthread_cond_destroy(&audit->wake);
        pthread_mutex_destroy(&audit->lock);
        free(audit);
        return NULL;
}

void audit_configure(struct audit *audit, const struct audit_options *options)
{
        pthread_mutex_lock(&audit->lock);
        audit->keep_days = options->keep_days;
        audit->keep_bytes = options->keep_bytes;
        audit->keep_output = options->keep_output;
        audit->retain_now = true;
        pthread_cond_signal(&audit->wake);
        pthread_mutex_unlock(&audit->lock);
}

/* ---- called by the event loop ---- */

int audit_begin(struct audit *audit, const struct audit_begin *begin)
{
        pthread_mutex_lock(&audit->lock);
        int slot = map_begin(audit->map, begin);
        pthread_mutex_unlock(&audit->lock);
        return slot;
}

static bool audit_has_room(const struct audit *audit, size_t bytes)
{
        return atomic_load(&audit->n) < QUEUE_RECORDS &&
               (audit->bytes + bytes <= QUEUE_BYTES || atomic_load(&audit->n) == 0);
}

void audit_cancel(struct audit *audit, int slot)
{
        if (slot < 0)
                return;
        pthread_mutex_lock(&audit->lock);
        map_release(audit->map, slot);
        pthread_mutex_unlock(&audit->lock);
}

static void audit_lose(struct audit *audit, int slot, const char *why)
{
        if (slot >= 0)
                map_release(audit->map, slot);
        if (why)
                audit->why_lost = why;
        audit->lost_unsaid++;
        atomic_fetch_add(&audit->lost, 1);
        pthread_cond_signal(&audit->wake);
}

static void audit_add(struct audit *audit, struct record *record)
{
        unsigned before = atomic_fetch_add(&audit->n, 1);
        if (!audit->first)
                audit->oldest_us = clock_us();
        bool idle = !audit->first;
        *audit->end = record;
        audit->end = &record->next;
        audit->bytes += record->size;
        audit->queued_total++;
        /* Other wake-ups are unnecessary: the writer waits until a batch is full or its time has come. */
        if (idle || before + 1 == BATCH_RECORDS || audit->bytes >= BATCH_BYTES)
                pthread_cond_signal(&audit->wake);
}

void audit_end(struct audit *audit, int slot, const struct audit_begin *begin, const struct audit_end *end)
{
        int64_t finished_ms = row_now_ms();
        if (slot >= MAP_SLOTS)
                slot = -1;
        if (slot >= 0)
                map_end(audit->map, slot, end, finished_ms); /* only the owner of a slot writes to it */
        pthread_mutex_lock(&audit->lock);
        bool keep_output = audit->keep_output;
        pthread_mutex_unlock(&audit->lock);
        struct record *record = record_new(begin, end, finished_ms, keep_output, slot < 0 ? -1 : slot);

        pthread_mutex_lock(&audit->lock);
        if (record && !audit_has_room(audit, record->size) && !audit->stuck) {
                int64_t deadline_us = clock_us() + END_WAIT_US;
                while (!audit_has_room(audit, record->size) && clock_us() < deadline_us)
                        wait_until(audit, &audit->written, deadline_us);
                audit->stuck = !audit_has_room(audit, record->size);
        }
        if (record && audit_has_room(audit, record->size))
                audit_add(audit, TAKE(record));
        else
                audit_lose(audit, slot, record ? NULL : "no memory");
        pthread_mutex_unlock(&audit->lock);
        free(record);
}

void audit_flush(struct audit *audit)
{
        int64_t deadline_us = clock_us() + FLUSH_WAIT_US;
        pthread_mutex_lock(&audit->lock);
        uint64_t to = audit->queued_total;
        if (audit->flush_to < to)
                audit->flush_to = to;
        audit->retry_us = audit->retry_us > 0 ? 1 : 0; /* retry at once */
        pthread_cond_signal(&audit->wake);
        while ((audit->finished_total < to || audit->lost_unsaid > 0) && clock_us() < deadline_us)
                wait_until(audit, &audit->written, deadline_us);
        pthread_mutex_unlock(&audit->lock);
}

uint64_t audit_lost(const struct audit *audit)
{
        return atomic_load(&audit->lost);
}

unsigned audit_waiting(const struct audit *audit)
{
        return atomic_load(&audit->n);
}
