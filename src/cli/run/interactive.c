#include "cli/run/interactive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/terminal.h"
#include "sys/file.h"

#define VALUE_MAX 64

bool interactive_possible(const struct run_options *o)
{
        /* -i alone asks for pipes.  Standard error: its redirection would be lost. */
        return !o->json && !(o->interactive && !o->tty) && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
               isatty(STDERR_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void interactive_size(struct cella_terminal *t)
{
        unsigned columns, rows;
        if (!user_terminal_size(&columns, &rows) || columns > UINT16_MAX || rows > UINT16_MAX)
                return;
        t->columns = (uint16_t)columns;
        t->rows = (uint16_t)rows;
}

static void on_resize(struct cella_terminal *t)
{
        struct signalfd_siginfo info;
        while (sys_read(t->event_fd, &info, sizeof info) > 0)
                continue;
        interactive_size(t);
}

static bool is_set(const struct run_options *o, const char *name, size_t len)
{
        for (size_t i = 0; i < o->n_env; i++)
                if (!strncmp(o->env[i], name, len) && o->env[i][len] == '=')
                        return true;
        return false;
}

/* Passes on what programs need to know about the terminal, unless --env says otherwise. */
static void pass_variables(struct run_options *o)
{
        static const char *const names[] = {"TERM", "COLORTERM"};
        static char pairs[ARRAY_LEN(names)][VALUE_MAX];
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                const char *value = getenv(names[i]);
                if (!value || !*value || is_set(o, names[i], strlen(names[i])) ||
                    o->n_env == ARRAY_LEN(o->env) - 1)
                        continue;
                if ((size_t)snprintf(pairs[i], VALUE_MAX, "%s=%s", names[i], value) < VALUE_MAX)
                        o->env[o->n_env++] = pairs[i];
        }
}

int interactive_choose(struct run_options *o, struct cella_err *err)
{
        const bool may = interactive_possible(o);
        if (o->tty && o->json)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--tty and --json exclude each other");
        if (o->tty && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
                return err_say(err, CELLA_INVALID_REQUEST, -ENOTTY,
                               "--tty needs a terminal as standard input and output");
        if (!o->tty && (o->command.code || o->command.code_file || !may))
                return 0;
        o->terminal = (struct cella_terminal)CELLA_TERMINAL_NONE;
        o->terminal.on_event = on_resize;
        o->command.terminal = &o->terminal;
        interactive_size(&o->terminal);
        pass_variables(o);
        return 0;
}

void interactive_begin(struct run_options *o)
{
        if (!o->command.terminal)
                return;
        o->terminal.event_fd = user_terminal_open_resize();
        interactive_size(&o->terminal);
        user_terminal_take();
}

void interactive_end(struct run_options *o)
{
        if (!o->command.terminal)
                return;
        user_terminal_restore();
        sys_close(TAKE_FD(o->terminal.event_fd));
        if (o->terminal.interrupted && cli_may_note())
                fprintf(stderr, "\ncella: ended by a second Ctrl-C\n");
}
