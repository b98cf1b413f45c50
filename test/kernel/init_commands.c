/* test/kernel/init_commands.c -- commands in a real sandbox, several at once. */
#include "init_box.h"

#define FOREVER "while :; do sleep 1; done"

static int exited(int code)
{
        return code << 8;
}

BOX_TEST(a_command_ends_with_its_status, NULL)
{
        char out[100];
        CHECK_INT(box_run(box, "echo hello; exit 3", out, sizeof out), exited(3));
        CHECK_STR(out, "hello\n");
        CHECK_INT(box_run(box, "kill -TERM $$", NULL, 0), SIGTERM);
        CHECK_INT(box_run(box, "kill -KILL $$", NULL, 0), SIGKILL);
}

BOX_TEST(a_failed_start_shows_the_reason, NULL)
{
        const char *const missing[] = {"/nonexistent", NULL}, *const directory[] = {"/usr", NULL};
        const char *const searched[] = {"no-such-program", NULL}, *const good[] = {"true", NULL};
        const int fds[] = {0, 1, 2};
        box_spawn(box, 1, 0, missing, -1);
        CHECK_INT(box_end(box, 1), -ENOENT);
        box_spawn(box, 1, INIT_TELL_STARTED, searched, -1);
        CHECK_INT(box_end(box, 1), -ENOENT);
        box_spawn(box, 1, 0, directory, -1);
        CHECK_INT(box_end(box, 1), -EACCES);
        box_spawn_in(box, 1, 0, "/nonexistent", good, fds, 3);
        CHECK_INT(box_end(box, 1), -ENOTDIR);
        box_spawn_in(box, 1, 0, "/etc/passwd", good, fds, 3);
        CHECK_INT(box_end(box, 1), -ENOTDIR);
        box_spawn_in(box, 1, 0, "/workspace", good, fds, 2);
        CHECK_INT(box_end(box, 1), -EPROTO);
        box_spawn(box, 1, 0, good, -1);
        CHECK_INT(box_end(box, 1), 0);
}

BOX_TEST(tags_are_checked, NULL)
{
        box_script(box, 0, 0, "true", -1);
        CHECK_INT(box_end(box, 0), -EINVAL);
        box_script(box, 5, INIT_TELL_STARTED, FOREVER, -1);
        CHECK_INT(box_hear_type(box, 5), INIT_STARTED);
        box_script(box, 5, 0, "true", -1);
        CHECK_INT(box_end(box, 5), -EEXIST);
        box_script(box, 6, INIT_ALONE, "true", -1);
        CHECK_INT(box_end(box, 6), -EBUSY);
        box_signal(box, SIGKILL, 77); /* no such process: nothing happens */
        box_signal(box, SIGKILL, 5);
        CHECK_INT(box_end(box, 5), SIGKILL);
        box_script(box, 5, INIT_ALONE | INIT_TELL_STARTED, FOREVER, -1);
        CHECK_INT(box_hear_type(box, 5), INIT_STARTED);
        box_script(box, 6, 0, "true", -1);
        CHECK_INT(box_end(box, 6), -EBUSY);
        box_signal(box, SIGTERM, 5);
        CHECK_INT(box_end(box, 5), SIGTERM);
}

BOX_TEST(a_malformed_request_is_refused, NULL)
{
        struct init_spawn head = {.argc = 1};
        char body[sizeof head + 3] = {0};
        memcpy(body, &head, sizeof head);
        memcpy(body + sizeof head, "abc", 3);
        box_send(box, INIT_SPAWN, 1, NULL, 0, body, sizeof body);
        CHECK_INT(box_end(box, 1), -EPROTO);
        box_send(box, INIT_SPAWN, 1, NULL, 0, body, 4);
        CHECK_INT(box_end(box, 1), -EPROTO);
        head.argc = 4000000000u;
        memcpy(body, &head, sizeof head);
        box_send(box, INIT_SPAWN, 1, NULL, 0, body, sizeof body);
        CHECK_INT(box_end(box, 1), -E2BIG);
        box_send(box, INIT_OPERATE, 1, NULL, 0, body, 8);
        CHECK_INT(box_end(box, 1), -EPROTO);
        box_send(box, INIT_PUT_FILE, 1, NULL, 0, body, 3);
        CHECK_INT(box_end(box, 1), -EPROTO);
        box_send(box, 9999, 1, NULL, 0, NULL, 0);
        CHECK_INT(box_end(box, 1), -EPROTO);
        CHECK_INT(box_run(box, "true", NULL, 0), 0);
}

BOX_TEST(started_has_the_pid, NULL)
{
        int out[2];
        char text[32] = "";
        int32_t pid = 0;
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_script(box, 3, INIT_TELL_STARTED, "echo $$", out[1]);
        close(out[1]);
        struct letter *l = box_hear(box, 3);
        CHECK_INT(l ? l->m.type : 0, INIT_STARTED);
        if (l)
                memcpy(&pid, l->data, sizeof pid);
        free(l);
        text[read_all(out[0], text, sizeof text - 1)] = '\0';
        CHECK_INT(atoi(text), pid);
        CHECK_INT(box_end(box, 3), 0);
        close(out[0]);
}

BOX_TEST(eight_commands_at_once_end_one_by_one, NULL)
{
        /* Each command has a child in another session, and an orphaned daemon. */
        const char *script = "setsid sh -c '" FOREVER "' & (setsid setsid sh -c '" FOREVER "' &) ; " FOREVER;
        for (uint32_t tag = 1; tag <= 8; tag++) {
                box_script(box, tag, INIT_TELL_STARTED, script, -1);
                CHECK_INT(box_hear_type(box, tag), INIT_STARTED);
        }
        for (uint32_t tag = 1; tag <= 8; tag++) {
                char command[300];
                /* Three loops of each command that lives, besides what sleeps.  A process that was just
                 * forked is counted twice or not yet: ten seconds for the number to become right. */
                snprintf(command, sizeof command,
                         "n=0; until test $(ps -eo args | grep -c '^sh -c .*[w]hile') -eq %u; do "
                         "n=$((n + 1)); test $n -lt 100 || exit 1; sleep 0.1; done",
                         3 * (9 - tag));
                CHECK_INT(box_ask(box, command), 0);
                box_signal(box, SIGKILL, tag);
                CHECK_INT(box_end(box, tag), SIGKILL);
        }
        CHECK_INT(box_ask(box, "test $(ps -eo args | grep -c '[w]hile') -eq 0"), 0);
        CHECK(!box_readable(box, 50));
}

BOX_TEST(background_processes_end_with_their_command, NULL)
{
        struct init_exited e;
        box_script(box, 1, INIT_TELL_STARTED, FOREVER, -1);
        CHECK_INT(box_hear_type(box, 1), INIT_STARTED);
        box_script(box, 2, 0, "(setsid sleep 1001 &); setsid sleep 1002 & nohup sleep 1003 & exit 4", -1);
        CHECK_INT(box_end_with(box, 2, &e), exited(4));
        CHECK_INT(box_ask(box, "ps -eo args | grep -q '[s]leep 100[123]'"), 1);
        CHECK_INT(box_ask(box, "ps -eo args | grep -q '[w]hile'"), 0);
        box_signal(box, SIGTERM, 1);
        CHECK_INT(box_end(box, 1), SIGTERM);
}

BOX_TEST(a_signal_goes_to_the_commands_group_only, NULL)
{
        int out[2];
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_script(box, 1, INIT_TELL_STARTED, FOREVER, -1);
        box_script(box, 2, INIT_TELL_STARTED,
                   "trap 'echo got; exit 7' USR1; echo ready; while :; do sleep 0.01; done", out[1]);
        close(out[1]);
        CHECK_INT(box_hear_type(box, 1), INIT_STARTED);
        CHECK_INT(box_hear_type(box, 2), INIT_STARTED);
        CHECK(read_until(out[0], "ready", 5000));
        box_signal(box, SIGUSR1, 2);
        CHECK(read_until(out[0], "got", 5000));
        CHECK_INT(box_end(box, 2), exited(7));
        CHECK(!box_readable(box, 20));
        box_signal(box, SIGTERM, 0); /* a signal to all processes does not reach supervisors */
        CHECK_INT(box_end(box, 1), SIGTERM);
        close(out[0]);
}

BOX_TEST(a_signal_right_after_the_start_is_not_lost, NULL)
{
        for (uint32_t i = 1; i <= 100; i++) {
                box_script(box, i, 0, FOREVER, -1);
                box_signal(box, i % 2 ? SIGTERM : SIGKILL, i);
                CHECK_INT(box_end(box, i), i % 2 ? SIGTERM : SIGKILL);
        }
}

/* The code has its supervisor's uid.  It can end it, and with it itself, but nothing else. */
BOX_TEST(a_killed_supervisor_is_the_end_of_its_command, NULL)
{
        box_script(box, 1, INIT_TELL_STARTED, FOREVER, -1);
        CHECK_INT(box_hear_type(box, 1), INIT_STARTED);
        box_script(box, 2, 0, "setsid sleep 1001 & kill -KILL $PPID; " FOREVER, -1);
        CHECK_INT(box_end(box, 2), SIGKILL);
        CHECK_INT(box_ask(box, "ps -eo args | grep -q '[s]leep 1001'"), 1);
        CHECK_INT(box_ask(box, "ps -eo args | grep -q '[w]hile'"), 0);
        CHECK(!box_readable(box, 20));
}

BOX_TEST(a_stopped_supervisor_goes_on, NULL)
{
        box_script(box, 1, 0, "kill -STOP $PPID; sleep 0.05; exit 9", -1);
        CHECK_INT(box_end(box, 1), exited(9));
        box_script(box, 2, INIT_TELL_STARTED, "while :; do kill -STOP $PPID; done", -1);
        CHECK_INT(box_hear_type(box, 2), INIT_STARTED);
        CHECK_INT(box_run(box, "exit 5", NULL, 0), exited(5));
        box_signal(box, SIGKILL, 2);
        CHECK_INT(box_end(box, 2), SIGKILL);
}

BOX_TEST(a_supervisor_takes_no_other_signal, NULL)
{
        box_script(
                box, 1, 0,
                "for s in HUP INT TERM USR1 SEGV ABRT PIPE ALRM; do kill -$s $PPID; done; sleep 0.05; exit 6",
                -1);
        CHECK_INT(box_end(box, 1), exited(6));
}

BOX_TEST(a_supervisor_cannot_be_looked_into, NULL)
{
        CHECK_INT(box_ask(box, "cat /proc/$PPID/mem /proc/$PPID/environ /proc/$PPID/maps 2>/dev/null"), 1);
        CHECK_INT(box_ask(box, "ls -l /proc/$PPID/fd 2>/dev/null"), 2);
}

BOX_TEST(a_signal_to_all_processes_ends_every_command, NULL)
{
        for (uint32_t tag = 1; tag <= 4; tag++) {
                box_script(box, tag, INIT_TELL_STARTED, FOREVER, -1);
                CHECK_INT(box_hear_type(box, tag), INIT_STARTED);
        }
        box_script(box, 5, 0, "kill -KILL -1", -1);
        for (uint32_t tag = 1; tag <= 4; tag++)
                CHECK_INT(box_end(box, tag), SIGKILL);
        int status = box_end(box, 5); /* its supervisor died before or after it reported the end */
        CHECK(status == SIGKILL || status == exited(0));
        CHECK_INT(box_run(box, "exit 2", NULL, 0), exited(2));
}

static void many_processes(struct cella_options *options)
{
        options->limits.processes = 200;
}

/* Runs the bomb beside a working command until the tag of the bomb is killed. */
static void outrun(const char *const *bomb)
{
        AUTO(box_done) struct box box = box_new_with(many_processes);
        int out[2];
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_script(&box, 1, INIT_TELL_STARTED, "mkfifo f; exec 3<>f; while read -r l <&3; do :; done", -1);
        CHECK_INT(box_hear_type(&box, 1), INIT_STARTED);
        box_spawn(&box, 2, INIT_TELL_STARTED, bomb, out[1]);
        close(out[1]);
        CHECK_INT(box_hear_type(&box, 2), INIT_STARTED);
        CHECK(read_until(out[0], "on", 10000));
        usleep(300000);
        int64_t then = clock_us();
        box_signal(&box, SIGKILL, 2);
        CHECK_INT(box_end(&box, 2), SIGKILL);
        int64_t took = clock_us() - then;
        printf("   (took %lld us)\n", (long long)took);
        CHECK_INT(box_ask(&box, "test $(ps -eo args | grep -c '[p]ython') -eq 0"), 0);
        CHECK_INT(box_ask(&box, "ps -eo args | grep -q '[w]hile read'"), 0);
        CHECK(!box_readable(&box, 20));
        box_signal(&box, SIGKILL, 1);
        CHECK_INT(box_end(&box, 1), SIGKILL);
        close(out[0]);
}

TEST(a_fork_bomb_ends_when_its_tag_is_killed)
{
        const char *const bomb[] = {"/usr/bin/python3", "-c",
                                    "import os\n"
                                    "print('on', flush=True)\n"
                                    "while True:\n"
                                    "  try:\n"
                                    "    if os.fork() == 0: os.setsid()\n"
                                    "  except OSError: pass\n",
                                    NULL};
        outrun(bomb);
}

TEST(a_fork_bomb_that_hides_ends_too)
{
        const char *const bomb[] = {"/usr/bin/python3", "-c",
                                    "import ctypes, os\n"
                                    "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n" /* PR_SET_DUMPABLE */
                                    "print('on', flush=True)\n"
                                    "while True:\n"
                                    "  try:\n"
                                    "    if os.fork() == 0: os.setsid()\n"
                                    "  except OSError: pass\n",
                                    NULL};
        outrun(bomb);
}

/* No process lives for long: each starts another one and exits. */
TEST(a_swarm_that_keeps_moving_ends_too)
{
        const char *const bomb[] = {"/usr/bin/python3", "-c",
                                    "import os\n"
                                    "print('on', flush=True)\n"
                                    "for i in range(20):\n"
                                    "  if os.fork() == 0: break\n"
                                    "else:\n"
                                    "  import time; time.sleep(1000)\n"
                                    "while True:\n"
                                    "  try:\n"
                                    "    if os.fork() != 0: os._exit(0)\n"
                                    "  except OSError: pass\n",
                                    NULL};
        outrun(bomb);
}

BOX_TEST(cpu_time_includes_processes_that_the_command_left, NULL)
{
        struct init_exited e = {0};
        const char *burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        char script[400];
        box_script(box, 1, INIT_TELL_STARTED, "while :; do :; done", -1);
        CHECK_INT(box_hear_type(box, 1), INIT_STARTED);
        snprintf(script, sizeof script, "(%s; exec sleep 100) & (%s); sleep 0.3; exit 0", burn, burn);
        box_script(box, 2, 0, script, -1);
        CHECK_INT(box_end_with(box, 2, &e), 0);
        CHECK(e.cpu_us > 20000);
        CHECK(e.rss_peak_bytes > 300000);
        CHECK(e.disk_bytes_free > 1000000);
        box_signal(box, SIGKILL, 1);
        CHECK_INT(box_end_with(box, 1, &e), SIGKILL);
        CHECK(e.cpu_us > 100000);
}

static void few_processes(struct cella_options *options)
{
        options->limits.processes = 8;
}

BOX_TEST(at_the_process_limit_nothing_more_starts, few_processes)
{
        const char *const fill[] = {"/usr/bin/python3", "-c",
                                    "import os, time\n"
                                    "try:\n"
                                    "  while os.fork(): pass\n"
                                    "except OSError: print('full', flush=True)\n"
                                    "time.sleep(1000)\n",
                                    NULL};
        int out[2];
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_spawn(box, 1, 0, fill, out[1]);
        close(out[1]);
        CHECK(read_until(out[0], "full", 5000));
        box_script(box, 2, 0, "true", -1);
        CHECK_INT(box_end(box, 2), -EAGAIN);
        CHECK_INT(box_do(box, &(struct operation){.operation = INIT_MAKE_DIR, .path = "d"}), -EAGAIN);
        box_signal(box, SIGKILL, 1);
        CHECK_INT(box_end(box, 1), SIGKILL);
        CHECK_INT(box_run(box, "true", NULL, 0), 0);
        close(out[0]);
}

BOX_TEST(commands_beyond_the_size_of_the_table_are_refused, many_processes)
{
        enum { COMMANDS = 120 };
        bool runs[COMMANDS + 1] = {0};
        unsigned refused = 0, started = 0;
        for (uint32_t tag = 1; tag <= COMMANDS; tag++)
                box_script(box, tag, INIT_TELL_STARTED, "exec sleep 1000", -1);
        for (uint32_t tag = 1; tag <= COMMANDS; tag++) {
                struct letter *l = box_hear(box, tag);
                runs[tag] = l && l->m.type == INIT_STARTED;
                started += runs[tag];
                refused += l && l->m.type == INIT_FAILED;
                free(l);
        }
        CHECK(started > 50);
        CHECK_INT(started + refused, COMMANDS);
        box_signal(box, SIGKILL, 0);
        for (uint32_t tag = 1; tag <= COMMANDS; tag++)
                if (runs[tag])
                        CHECK_INT(box_hear_type(box, tag), INIT_EXITED);
        CHECK_INT(box_run(box, "exit 2", NULL, 0), exited(2));
}

BOX_TEST(output_ends_when_the_command_closes_it, NULL)
{
        int out[2];
        char text[10];
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_script(box, 1, INIT_TELL_STARTED, "exec >/dev/null; exec sleep 1000", out[1]);
        close(out[1]);
        CHECK_INT(box_hear_type(box, 1), INIT_STARTED);
        struct pollfd p = {out[0], POLLIN, 0};
        CHECK_INT(poll(&p, 1, 5000), 1);
        CHECK_INT(read(out[0], text, sizeof text), 0);
        box_signal(box, SIGKILL, 1);
        CHECK_INT(box_end(box, 1), SIGKILL);
        close(out[0]);
}

BOX_TEST(a_command_has_descriptors_0_to_2_and_no_signal_blocked, NULL)
{
        char out[200];
        CHECK_INT(box_run(box,
                          "ls /proc/self/fd | tr '\\n' ' '; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status",
                          out, sizeof out),
                  0);
        CHECK(!strncmp(out, "0 1 2 3 Sig", 11)); /* 3 was opened by ls itself */
        CHECK(strstr(out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n") != NULL);
}

BOX_TEST(a_large_request_is_kept_while_the_next_comes, NULL)
{
        static char script[60000];
        char text[16];
        int out[20][2];
        for (uint32_t i = 0; i < 20; i++) {
                CHECK_INT(pipe2(out[i], O_CLOEXEC), 0);
                snprintf(script, sizeof script, "echo %u; : %0*d", i, (int)(50000 + i), 0);
                box_script(box, 100 + i, 0, script, out[i][1]);
                close(out[i][1]);
        }
        for (uint32_t i = 0; i < 20; i++) {
                CHECK_INT(box_end(box, 100 + i), 0);
                text[read_all(out[i][0], text, sizeof text - 1)] = '\0';
                CHECK_INT(atoi(text), i);
                close(out[i][0]);
        }
}

BOX_TEST(the_list_of_changes_carries_its_tag, NULL)
{
        const struct init_list list = {.all_added = 1};
        CHECK_INT(box_run(box, "echo a > one; mkdir d; echo b > d/two", NULL, 0), 0);
        box_script(box, 7, INIT_TELL_STARTED, FOREVER, -1);
        CHECK_INT(box_hear_type(box, 7), INIT_STARTED);
        box_send(box, INIT_LIST, 42, NULL, 0, &list, sizeof list);
        CHECK_INT(box_hear_type(box, 42), INIT_FILE);
        CHECK_INT(box_hear_type(box, 42), INIT_FILE);
        CHECK_INT(box_hear_type(box, 42), INIT_DONE);
}

BOX_TEST(the_end_of_a_lone_command_spares_file_operations, NULL)
{
        int in[2];
        CHECK_INT(pipe2(in, O_CLOEXEC), 0);
        box_script(box, 1, INIT_ALONE | INIT_TELL_STARTED, "(setsid sleep 1001 &); sleep 0.1; exit 3", -1);
        CHECK_INT(box_hear_type(box, 1), INIT_STARTED);
        box_operate(box, 2,
                    &(struct operation){
                            .operation = INIT_WRITE, .length = UINT64_MAX, .mode = 0644, .path = "slow"},
                    in[0]);
        CHECK_INT(box_end(box, 1), exited(3));
        CHECK_INT(write(in[1], "abc", 3), 3);
        close(in[0]);
        close(in[1]);
        CHECK_INT(box_errno(box, 2), 0);
        CHECK_INT(box_ask(box, "test $(cat slow) = abc && ! ps -eo args | grep -q '[s]leep 1001'"), 0);
}

BOX_TEST(init_ends_after_a_final_command, NULL)
{
        char byte;
        box_script(box, 1, INIT_FINAL, "sleep 1000 & exit 8", -1);
        CHECK_INT(box_end(box, 1), exited(8));
        CHECK_INT(recv(box->sandbox->control, &byte, 1, 0), 0);
}
