/* engine/terminal.h -- a command with a terminal instead of three pipes.
 *
 * The terminal belongs to the sandbox: init makes it in the sandbox's own /dev/pts and sends its master.  The
 * caller's terminal is never passed into the sandbox.  What is typed goes to the master, and what the code
 * writes is its stdout; escape sequences are not filtered.
 *
 * Ctrl-C is a byte like any other: the sandbox's terminal makes SIGINT of it.  The second one cancels the run
 * if the first had no effect, or if both came within two seconds and were for the command itself.  They are
 * not for the command itself if a job of a shell is in the foreground, or if a line editor reads the keys.
 *
 * One terminal at a time in a process: see engine/link/pty.h, which also takes the signal SIGRTMAX - 1. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cella_terminal {
        uint16_t columns, rows; /* 0: unknown */
        int event_fd;           /* -1: none; when it becomes readable, on_event() is called: */
        void (*on_event)(struct cella_terminal *t); /* reads event_fd, and may change the size */
        bool interrupted;                           /* set if Ctrl-C has cancelled the run */
        /* For the engine: */
        int master;                   /* -1: not received yet */
        int64_t typed_us;             /* time of the last Ctrl-C that counts; 0: none */
        bool typed_direct;            /* it was for the command itself */
        uint64_t shown, shown_before; /* bytes of output, now and at that time */
};

#define CELLA_TERMINAL_NONE                                                                                  \
        {                                                                                                    \
                .event_fd = -1, .master = -1                                                                 \
        }

/* Accepts what init has sent as the master, and takes it.  Returns 0, or -errno if it is not a terminal; then
 * it is closed. */
int terminal_accept(struct cella_terminal *t, int master);
void terminal_close(struct cella_terminal *t);

/* Notes output of the code, and keys that were typed. */
static inline void terminal_shown(struct cella_terminal *t, uint64_t bytes)
{
        t->shown = bytes;
}
void terminal_typed(struct cella_terminal *t, const char *keys, size_t n);

/* Calls on_event() and sets the size. */
void terminal_event(struct cella_terminal *t);
