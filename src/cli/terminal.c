#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"

static struct termios before;
static volatile sig_atomic_t is_raw;

void user_terminal_restore(void)
{
        if (is_raw)
                tcsetattr(STDIN_FILENO, TCSANOW, &before); /* waiting for the reader could block */
        is_raw = 0;
}

static void make_raw(void)
{
        struct termios raw;
        if (tcgetattr(STDIN_FILENO, &before) < 0)
                return;
        raw = before;
        cfmakeraw(&raw);
        is_raw = 1;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

/* SIGTSTP from outside: restores the terminal for the parent shell, and sets it again afterwards. */
static void on_stop(int number)
{
        int saved = errno;
        bool was_raw = is_raw;
        (void)number;
        user_terminal_restore();
        raise(SIGSTOP);
        if (was_raw)
                make_raw();
        raise(SIGWINCH); /* the size may have changed */
        errno = saved;
}

void user_terminal_take(void)
{
        struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
        sigfillset(&stop.sa_mask);
        if (!isatty(STDIN_FILENO))
                return;
        cli_on_signal(user_terminal_restore);
        atexit(user_terminal_restore);
        sigaction(SIGTSTP, &stop, NULL);
        signal(SIGTTOU, SIG_IGN); /* otherwise tcsetattr() in the background would stop this process */
        make_raw();
}

bool user_terminal_size(unsigned *columns, unsigned *rows)
{
        struct winsize size;
        if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_row == 0)
                return false;
        *columns = size.ws_col;
        *rows = size.ws_row;
        return true;
}

int user_terminal_open_resize(void)
{
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGWINCH);
        sigprocmask(SIG_BLOCK, &set, NULL);
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
