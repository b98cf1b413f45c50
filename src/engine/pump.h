/* engine/pump.h -- moves bytes between the caller and a command without blocking.
 *
 * The caller's descriptors are never passed into the sandbox: a terminal, directory or socket would be a way
 * out.  The sandbox gets pipes, and the pumps move the bytes. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/keep.h"
#include "cella.h"
#include "engine/hint.h"
#include "engine/terminal.h"

#define PUMP_BYTES 65536

/* One output stream of the command. */
struct pump_out {
        int from; /* our end of the pipe; -1 once it is closed */
        int to;   /* where the output is streamed to; -1: not streamed */
        bool own; /* `to` is owned and non-blocking: the caller's pipe or terminal, opened again */
        bool is_socket;
        bool pty;         /* `from` is the master of a terminal, engine/link/pty.h */
        size_t write_max; /* maximum size of one write */
        enum cella_stream stream;
        const struct cella_command *command;
        struct keep keep;
        size_t live_max; /* bytes that are streamed at once; the rest is kept */
        uint64_t total;
        bool broken;         /* the reader of `to` is gone, or the callback asked to stop */
        const char *pending; /* bytes to write to `to`: pending[at] to pending[len - 1] */
        size_t len, at;
        char *rest;                /* the part of a limited stream that was held back, once it is known */
        char last[HINT_ERROR_END]; /* the last bytes of the stream */
        size_t last_len;
        char buffer[PUMP_BYTES];
};

/* The standard input of the command. */
struct pump_in {
        int from; /* the caller's; borrowed */
        int to;   /* our end of the pipe; -1 once closed */
        struct cella_terminal
                *terminal; /* `to` is its master, and the end of `from` is an error; NULL: a pipe */
        bool broken;       /* the keys cannot be passed on any more */
        size_t len, at;
        char buffer[PUMP_BYTES];
};

/* Takes `from`.  Allocates memory only when output is kept. */
void pump_out_init(struct pump_out *p, int from, enum cella_stream stream,
                   const struct cella_command *command, uint64_t output_bytes);
void pump_out_done(struct pump_out *p);

/* Returns what to poll for; events 0 if nothing. */
struct pollfd pump_out_wants(const struct pump_out *p);
/* Reads or writes once.  Call after poll() reported an event. */
void pump_out_move(struct pump_out *p);
/* After the command has ended: reads what is left in the pipe.  Returns true when it is empty. */
bool pump_out_drain(struct pump_out *p);
/* Call once after pump_out_drain(): makes the held-back part of a limited stream (the gap and the end)
 * pending. */
void pump_out_finish(struct pump_out *p);
bool pump_out_pending(const struct pump_out *p);

void pump_in_init(struct pump_in *p, int from, int to);
void pump_in_done(struct pump_in *p);
struct pollfd pump_in_wants(const struct pump_in *p);
void pump_in_move(struct pump_in *p);
