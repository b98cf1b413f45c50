/* engine/pump.h -- moves bytes between the caller and a command, never blocking.
 *
 * Descriptors of the caller are never handed into the sandbox (a terminal, a directory
 * or a socket there would be a way out); pipes are, and these move the bytes. */
#pragma once
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/keep.h"
#include "cella.h"

#define PUMP_BYTES 65536

/* One of the command's output streams. */
struct pump_out {
        int from; /* our end of the pipe; -1 once it is closed */
        int to;   /* where it is streamed to; -1: not at all */
        bool own; /* `to` is ours, and never blocks: the caller's pipe or terminal, opened again */
        bool is_socket;
        size_t write_max; /* bytes that one write may take */
        enum cella_stream stream;
        const struct cella_command *command;
        struct keep keep;
        size_t live_max; /* streamed as it comes; beyond that, kept */
        uint64_t total;
        bool broken;         /* nobody reads `to` any more, or the callback said stop */
        const char *pending; /* what is still to be written to `to`: from at to len */
        size_t len, at;
        char *rest; /* what was held back of a limited stream, once it is known */
        char buffer[PUMP_BYTES];
};

/* The command's standard input. */
struct pump_in {
        int from; /* the caller's; borrowed; -1 at its end */
        int to;   /* our end of the pipe; -1 once closed */
        size_t len, at;
        char buffer[PUMP_BYTES];
};

/* Takes `from`.  Allocates nothing until something is kept. */
void pump_out_init(struct pump_out *p, int from, enum cella_stream stream,
                   const struct cella_command *command, uint64_t output_bytes);
void pump_out_done(struct pump_out *p);

/* What to wait for next; events 0 if nothing. */
struct pollfd pump_out_wants(const struct pump_out *p);
/* After poll said so: reads or writes once. */
void pump_out_move(struct pump_out *p);
/* When the command is gone: takes what is left in the pipe.  True when there is no more. */
bool pump_out_drain(struct pump_out *p);
/* Then, once: makes what was held back of a limited stream pending, the gap and the end. */
void pump_out_finish(struct pump_out *p);
bool pump_out_pending(const struct pump_out *p);

void pump_in_init(struct pump_in *p, int from, int to);
void pump_in_done(struct pump_in *p);
struct pollfd pump_in_wants(const struct pump_in *p);
void pump_in_move(struct pump_in *p);
