/* test/kernel/init_terminal.c -- commands on a terminal in a real sandbox. */
#include <sys/ioctl.h>

#include "init_box.h"

/* Starts argv on a terminal and returns the terminal's master. */
static int start(struct box *box, uint32_t tag, uint32_t flags, const char *const *argv)
{
        box_spawn_in(box, tag, INIT_TERMINAL | flags, "/workspace", argv, NULL, 0);
        struct letter *l = box_hear(box, tag);
        int master = -1;
        CHECK_INT(l ? l->m.type : 0, INIT_STARTED);
        if (l && l->m.type == INIT_STARTED && l->m.n_fds == 1)
                master = l->m.fds[0];
        else if (l)
                message_close_fds(&l->m);
        free(l);
        CHECK(master >= 0);
        CHECK_INT(fcntl(master, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        return master;
}

static void type(int master, const char *text)
{
        CHECK_INT(write(master, text, strlen(text)), strlen(text));
}

/* Waits for the end of the output, as the owner of the terminal sees it. */
static bool at_end(int master)
{
        char data[4096];
        struct pollfd p = {master, POLLIN, 0};
        for (;;) {
                if (poll(&p, 1, 5000) <= 0)
                        return false;
                ssize_t n = read(master, data, sizeof data);
                if (n <= 0)
                        return n == 0 || errno == EIO;
        }
}

BOX_TEST(a_command_is_on_a_terminal_of_its_size, NULL)
{
        const char *const argv[] = {
                "sh", "-c", "tty; stty size; test -t 0 -a -t 1 -a -t 2; echo $? $TERM; ls /dev/pts", NULL};
        int master = start(box, 1, 0, argv);
        CHECK(read_until(master, "/dev/pts/0\r\n33 91\r\n0 xterm\r\n0  ptmx\r\n", 5000));
        CHECK(at_end(master));
        CHECK_INT(box_end(box, 1), 0);
        close(master);
}

/* Until there is a process `sleep 1000`, for ten seconds at most. */
static int sleep_runs(struct box *box)
{
        return box_ask(box, "n=0; until ps -eo args | grep -q '^sleep 1000'; do "
                            "n=$((n + 1)); test $n -lt 100 || exit 1; sleep 0.1; done");
}

BOX_TEST(an_interactive_shell_has_job_control, NULL)
{
        const char *const argv[] = {"bash", "--norc", "-i", NULL};
        int master = start(box, 1, INIT_TELL_STARTED, argv);
        type(master, "PS1='>'; set +o history\n");
        type(master, "echo o$((1+1))k\n");
        CHECK(read_until(master, "o2k\r\n", 5000));
        type(master, "sleep 1000\n");
        CHECK_INT(sleep_runs(box), 0);
        type(master, "\032"); /* ^Z */
        CHECK(read_until(master, "Stopped", 5000));
        type(master, "jobs; bg; kill %1; wait; echo b$((2+2))\n");
        CHECK(read_until(master, "b4\r\n", 5000));
        type(master, "sleep 1000; echo not\"\"reached || true\n");
        CHECK_INT(sleep_runs(box), 0);
        type(master, "\003"); /* ^C */
        type(master, "echo after $?\n");
        CHECK(read_until(master, "after 130\r\n", 5000));
        type(master, "sleep 1000 | cat & fg\n");
        CHECK_INT(sleep_runs(box), 0);
        usleep(200000); /* for `fg` */
        type(master, "\003");
        type(master, "echo c$((3+3))\n");
        CHECK(read_until(master, "c6\r\n", 5000));
        type(master, "exit 5\n");
        CHECK(at_end(master));
        CHECK_INT(box_end(box, 1), 5 << 8);
        close(master);
}

BOX_TEST(a_command_sees_a_change_of_the_terminals_size, NULL)
{
        const struct winsize size = {.ws_row = 40, .ws_col = 132};
        const char *const argv[] = {
                "bash", "-c", "trap 'stty size; exit 3' WINCH; echo ready; while :; do sleep 0.05; done",
                NULL};
        int master = start(box, 1, 0, argv);
        CHECK(read_until(master, "ready", 5000));
        CHECK_INT(ioctl(master, TIOCSWINSZ, &size), 0);
        CHECK(read_until(master, "40 132\r\n", 5000));
        CHECK_INT(box_end(box, 1), 3 << 8);
        close(master);
}

BOX_TEST(full_screen_programs_and_prompts_work, NULL)
{
        const char *const curses[] = {
                "python3", "-c",
                "import curses\n"
                "def main(w):\n"
                "  w.addstr(3, 4, 'screen %dx%d' % (curses.COLS, curses.LINES)); w.refresh()\n"
                "  k = w.getch(); w.addstr(5, 4, 'key %d' % k); w.refresh(); w.getch()\n"
                "curses.wrapper(main)\n",
                NULL};
        const char *const repl[] = {"python3", "-q", NULL};
        const char *const secret[] = {"python3", "-c",
                                      "import getpass; print('got', getpass.getpass('ask: '))", NULL};
        int master = start(box, 1, 0, curses);
        CHECK(read_until(master, "screen 91x33", 5000));
        type(master, "A");
        CHECK(read_until(master, "65", 5000));
        type(master, "q");
        CHECK(at_end(master));
        CHECK_INT(box_end(box, 1), 0);
        close(master);

        master = start(box, 2, 0, repl);
        CHECK(read_until(master, ">>> ", 5000));
        type(master, "6*7\n");
        CHECK(read_until(master, "42\r\n>>> ", 5000));
        type(master, "\004"); /* ^D */
        CHECK(at_end(master));
        CHECK_INT(box_end(box, 2), 0);
        close(master);

        master = start(box, 3, 0, secret); /* opened as /dev/tty, with echo off */
        CHECK(read_until(master, "ask: ", 5000));
        type(master, "word\n");
        CHECK(read_until(master, "got word", 5000));
        CHECK_INT(box_end(box, 3), 0);
        close(master);
}

BOX_TEST(hanging_up_ends_the_command, NULL)
{
        const char *const argv[] = {"sh", "-c", "setsid sleep 1000 & sleep 1000", NULL};
        const char *const deaf[] = {"sh", "-c", "trap '' HUP; echo ready; while :; do sleep 1; done", NULL};
        int master = start(box, 1, 0, argv);
        usleep(50000);
        close(master);
        CHECK_INT(box_end(box, 1), SIGHUP);
        master = start(box, 2, 0, deaf);
        CHECK(read_until(master, "ready", 5000));
        close(master);
        CHECK(!box_readable(box, 100));
        box_signal(box, SIGKILL, 2);
        CHECK_INT(box_end(box, 2), SIGKILL);
        CHECK_INT(box_ask(box, "ps -eo args | grep -q '[s]leep'"), 1);
}

BOX_TEST(the_end_of_a_command_is_the_end_of_its_terminal, NULL)
{
        /* A process in another session that keeps the terminal open. */
        const char *const argv[] = {
                "sh", "-c", "setsid sh -c 'trap \"\" HUP; exec sleep 1000' & sleep 0.1; exit 2", NULL};
        int master = start(box, 1, 0, argv);
        CHECK_INT(box_end(box, 1), 2 << 8);
        CHECK(at_end(master));
        close(master);
        master = start(box, 2, 0, argv);
        box_signal(box, SIGKILL, 2);
        CHECK_INT(box_end(box, 2), SIGKILL);
        CHECK(at_end(master));
        close(master);
}

BOX_TEST(terminals_do_not_get_the_input_of_others, NULL)
{
        const char *const argv[] = {"sh", "-c", "tty; read -r l; echo got $l", NULL};
        int masters[8];
        for (uint32_t i = 0; i < 8; i++)
                masters[i] = start(box, i + 1, 0, argv);
        for (uint32_t i = 0; i < 8; i++) {
                char text[20];
                snprintf(text, sizeof text, "/dev/pts/%u\r\n", i);
                CHECK(read_until(masters[i], text, 5000));
        }
        for (uint32_t i = 8; i-- > 0;) {
                char text[20];
                snprintf(text, sizeof text, "line%u\n", i);
                type(masters[i], text);
                snprintf(text, sizeof text, "got line%u", i);
                CHECK(read_until(masters[i], text, 5000));
                CHECK_INT(box_end(box, i + 1), 0);
                close(masters[i]);
        }
}

BOX_TEST(terminals_made_inside_work_and_typing_for_others_does_not, NULL)
{
        char out[200];
        CHECK_INT(box_run(box,
                          "python3 -c '\n"
                          "import pty, os, sys\n"
                          "m, s = pty.openpty()\n"
                          "print(os.ttyname(s), flush=True)\n"
                          "pty.spawn([\"sh\", \"-c\", \"tty\"])\n"
                          "' </dev/null",
                          out, sizeof out),
                  0);
        CHECK(strstr(out, "/dev/pts/0") != NULL);
        const char *const argv[] = {"python3", "-c",
                                    "import fcntl\n"
                                    "for r in (0x5412, 0x541c, 0x5423):\n" /* TIOCSTI, TIOCLINUX, TIOCSETD */
                                    "  try: fcntl.ioctl(0, r, b'x' * 8); print('done')\n"
                                    "  except OSError as e: print('refused', e.errno)\n",
                                    NULL};
        int master = start(box, 1, 0, argv);
        CHECK(read_until(master, "refused 1\r\nrefused 1\r\nrefused 1\r\n", 5000));
        CHECK_INT(box_end(box, 1), 0);
        close(master);
}

BOX_TEST(no_sandbox_takes_all_terminals, NULL)
{
        char out[100];
        CHECK_INT(box_run(box,
                          "python3 -c '\n"
                          "import os\n"
                          "n = 0\n"
                          "try:\n"
                          "  while True: os.open(\"/dev/ptmx\", os.O_RDWR); n += 1\n"
                          "except OSError: print(n)\n"
                          "'",
                          out, sizeof out),
                  0);
        CHECK_INT(atoi(out), 64);
}

BOX_TEST(a_final_command_runs_on_a_terminal, NULL)
{
        const char *const argv[] = {"sh", "-c", "tty; exit 4", NULL};
        int master = start(box, 1, INIT_FINAL, argv);
        CHECK(read_until(master, "/dev/pts/0\r\n", 5000));
        CHECK_INT(box_end(box, 1), 4 << 8);
        CHECK(at_end(master));
        close(master);
}

BOX_TEST(a_failed_start_on_a_terminal_shows_the_reason, NULL)
{
        const char *const argv[] = {"/nonexistent", NULL};
        const int fds[] = {0, 1, 2};
        box_spawn_in(box, 1, INIT_TERMINAL, "/workspace", argv, NULL, 0);
        CHECK_INT(box_end(box, 1), -ENOENT);
        box_spawn_in(box, 1, INIT_TERMINAL, "/workspace", argv, fds, 3);
        CHECK_INT(box_end(box, 1), -EPROTO);
}
