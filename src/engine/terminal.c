#include "engine/terminal.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/clock.h"
#include "engine/link/pty.h"
#include "sys/file.h"

#define CTRL_C 3
#define AGAIN_US 2000000  /* a second Ctrl-C within this time ends the run */
#define EFFECT_US 1000000 /* after this time, one without effect is not just slow */
#define ECHO_BYTES 4      /* of a Ctrl-C: "^C", for two of them */

void terminal_event(struct cella_terminal *t)
{
        if (t->on_event)
                t->on_event(t);
        const struct winsize size = {.ws_row = t->rows, .ws_col = t->columns};
        if (t->master >= 0 && t->columns && t->rows)
                ioctl(t->master, TIOCSWINSZ, &size);
}

int terminal_accept(struct cella_terminal *t, int master)
{
        int r = t->master >= 0 ? -EEXIST : pty_check(master);
        if (r < 0) {
                sys_close(master);
                return r;
        }
        t->master = master;
        terminal_event(t); /* the size may have changed since the command was sent */
        return 0;
}

void terminal_close(struct cella_terminal *t)
{
        sys_close(TAKE_FD(t->master));
}

/* Whether the keys go to the command itself, which reads whole lines, if it reads them. */
static bool is_direct(const struct cella_terminal *t, const struct termios *mode)
{
        pid_t group = 0, session = 0;
        return (mode->c_lflag & ICANON) && ioctl(t->master, TIOCGPGRP, &group) == 0 &&
               ioctl(t->master, TIOCGSID, &session) == 0 && group == session;
}

static void terminal_interrupt(struct cella_terminal *t, bool direct)
{
        const int64_t now = clock_us(), since = now - t->typed_us;
        const bool idle = t->shown - t->shown_before <= ECHO_BYTES;
        if (t->typed_us && ((direct && t->typed_direct && since <= AGAIN_US) || (idle && since >= EFFECT_US)))
                t->interrupted = true;
        t->typed_us = now;
        t->typed_direct = direct;
        t->shown_before = t->shown;
}

void terminal_typed(struct cella_terminal *t, const char *keys, size_t n)
{
        struct termios mode;
        if (!memchr(keys, CTRL_C, n))
                return;
        if (tcgetattr(t->master, &mode) < 0 || !(mode.c_lflag & ISIG)) {
                t->typed_us = 0; /* the code reads it as a key */
                return;
        }
        const bool direct = is_direct(t, &mode);
        for (size_t i = 0; i < n; i++)
                if (keys[i] == CTRL_C)
                        terminal_interrupt(t, direct);
}
