/* test/kernel/init_refused.c -- system calls that init answers and reports, in a real sandbox.
 *
 * What runs in the sandbox is this program itself, as a command called "attack". */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "init_box.h"
#include "jail/seccomp_filter.h"

#define REFUSED "system call refused"

/* ---- inside ---------------------------------------------------------------------- */

static long call(long number, long a, long b, long c, long f)
{
        return syscall(number, a, b, c, 0L, 0L, f) < 0 ? -errno : 0;
}

/* The calls that are reported.  Without a capability, and with these arguments, none does anything if it
 * comes through.
 */
static const struct {
        const char *name;
        long number, a, b, c;
        int num;
} calls[] = {
        {"mount", SYS_mount, 0, 0, 0, EPERM},
        {"umount2", SYS_umount2, 0, 0, 0, EPERM},
        {"pivot_root", SYS_pivot_root, 0, 0, 0, EPERM},
        {"chroot", SYS_chroot, 0, 0, 0, EPERM},
        {"mount_setattr", SYS_mount_setattr, -1, 0, 0, EPERM},
        {"open_tree", SYS_open_tree, -1, 0, 0, EPERM},
        {"fsopen", SYS_fsopen, 0, 0, 0, EPERM},
        {"unshare", SYS_unshare, 0, 0, 0, EPERM},
        {"setns", SYS_setns, -1, 0, 0, EPERM},
        {"clone", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, EPERM},
        {"ptrace", SYS_ptrace, 0, 0, 0, EPERM},
        {"process_vm_readv", SYS_process_vm_readv, 1, 0, 0, EPERM},
        {"process_vm_writev", SYS_process_vm_writev, 1, 0, 0, EPERM},
        {"pidfd_getfd", SYS_pidfd_getfd, -1, 0, 0, EPERM},
        {"bpf", SYS_bpf, -1, 0, 0, EPERM},
        {"keyctl", SYS_keyctl, 0, 0, 0, EPERM},
        {"add_key", SYS_add_key, 0, 0, 0, EPERM},
        {"userfaultfd", SYS_userfaultfd, 0, 0, 0, EPERM},
        {"perf_event_open", SYS_perf_event_open, 0, 0, 0, EPERM},
        {"open_by_handle_at", SYS_open_by_handle_at, -1, 0, 0, EPERM},
        {"kexec_load", SYS_kexec_load, 0, 0, 0, EPERM},
        {"finit_module", SYS_finit_module, -1, 0, 0, EPERM},
        {"reboot", SYS_reboot, 0, 0, 0, EPERM},
        {"settimeofday", SYS_settimeofday, 8, 8, 0, EPERM},
        {"io_uring_setup", SYS_io_uring_setup, 8, 0, 0, EPERM},
        {"ioctl(TIOCSTI)", SYS_ioctl, 0, TIOCSTI, 8, EPERM},
        {"socket(AF_PACKET)", SYS_socket, 17, 3, 0, EAFNOSUPPORT},
        {"socket(AF_VSOCK)", SYS_socket, 40, 1, 0, EAFNOSUPPORT},
        {"socket(AF_ALG)", SYS_socket, 38, 5, 0, EAFNOSUPPORT},
        {"socket(NETLINK_NETFILTER)", SYS_socket, 16, 3, 12, EAFNOSUPPORT},
        {"socket(SOCK_RAW)", SYS_socket, 2, 3, 1, EPERM},
        {"socket", SYS_socket, 4, 2, 0, EAFNOSUPPORT},
        /* No more than INIT_REFUSED_MAX up to here. */
        {"sethostname", SYS_sethostname, 0, 0, 0, EPERM},
        {"swapon", SYS_swapon, 0, 0, 0, EPERM},
        {"quotactl", SYS_quotactl, -1, 0, 0, EPERM},
        {"acct", SYS_acct, 8, 0, 0, EPERM},
};

static int make_calls(size_t n)
{
        int wrong = 0;
        for (size_t i = 0; i < n; i++)
                for (int again = 0; again < 3; again++)
                        wrong +=
                                call(calls[i].number, calls[i].a, calls[i].b, calls[i].c, 0) != -calls[i].num;
        return wrong;
}

/* Refused as well, but ordinary programs make these calls. */
static int make_habits(void)
{
        int wrong = 0;
        wrong += call(435, 0, 0, 0, 0) != -ENOSYS; /* clone3: every libc */
        wrong += call(437, 0, 0, 0, 0) != -ENOSYS; /* openat2: systemd, Go */
        wrong += call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 0) !=
                 -EPERM;                                             /* libseccomp */
        wrong += call(SYS_socket, 16, 3, 9, 0) != -EAFNOSUPPORT;     /* audit: PAM */
        wrong += call(SYS_socket, 16, 3, 15, 0) != -EAFNOSUPPORT;    /* udev */
        wrong += call(SYS_socket, 2, 1, 262, 0) != -EPROTONOSUPPORT; /* MPTCP: Go */
        wrong += call(SYS_kcmp, 1, 1, 0, 0) != -EPERM;               /* Mesa */
        wrong += call(SYS_name_to_handle_at, -1, 0, 0, 0) != -EPERM;
        wrong += call(SYS_sync, 0, 0, 0, 0) != -EPERM;
        wrong += call(SYS_adjtimex, 8, 0, 0, 0) != -EPERM; /* only to read it: ntp_gettime() */
        wrong += call(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, 8, 0) != -EPERM;
        wrong += call(SYS_fchmod, 0, 04755, 0, 0) != -EPERM;
        wrong += call(SYS_io_setup, 1, 0, 0, 0) != -ENOSYS; /* libaio */
        return wrong;
}

/* Calls that init itself made just before it loaded the filter. */
static int do_as_init(void)
{
        static const int steps[] = {SYS_unshare,     SYS_setns,  SYS_umount2,      SYS_pivot_root,
                                    SYS_sethostname, SYS_keyctl, SYS_mount_setattr};
        int wrong = 0;
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
                wrong += call(steps[i], 0, 0, 0, 0) != -EPERM;
        return wrong;
}

static volatile sig_atomic_t n_signals;

static void on_signal(int signal)
{
        (void)signal;
        n_signals++;
}

/* A signal wakes the process that waits for the answer; the kernel restarts the call. */
static int be_interrupted(void)
{
        const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        const struct itimerval often = {{0, 200}, {0, 200}}, never = {0};
        int wrong = 0;
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &often, NULL);
        for (int i = 0; i < 20000; i++)
                wrong += call(SYS_mount, 0, 0, 0, 0) != -EPERM;
        setitimer(ITIMER_REAL, &never, NULL);
        return wrong + (n_signals == 0);
}

/* Children that die in the middle of it, many at once: some before init has taken their question. */
static int be_killed(int rounds)
{
        for (int i = 0; i < rounds; i++) {
                pid_t pids[8];
                for (int k = 0; k < 8; k++)
                        if ((pids[k] = fork()) == 0)
                                for (;;)
                                        call(SYS_mount, 0, 0, 0, 0);
                usleep((unsigned)(i * 37 % 700));
                for (int k = 0; k < 8; k++)
                        kill(pids[k], SIGKILL);
                for (int k = 0; k < 8; k++)
                        if (waitpid(pids[k], NULL, 0) != pids[k])
                                return 1;
                if (call(SYS_mount, 0, 0, 0, 0) != -EPERM)
                        return 2;
        }
        return 0;
}

/* Waits until this process sleeps.  A process that is only preempted is running for /proc. */
static int await_sleep(pid_t pid)
{
        char path[32], line[256];
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        for (;;) {
                int fd = open(path, O_RDONLY | O_CLOEXEC);
                ssize_t n = read(fd, line, sizeof line - 1);
                close(fd);
                if (n <= 0)
                        return -1;
                line[n] = '\0';
                const char *end = strrchr(line, ')');
                if (end && end[1] == ' ' && end[2] == 'S')
                        return 0;
                usleep(1000);
        }
}

/* Ends when each of its children waits for the answer to a different call, while init is busy with so many
 * files. */
static int be_late(void)
{
        char name[16], byte;
        int go[2], begun[2];
        pid_t children[5];
        for (int i = 0; i < 19000; i++) {
                snprintf(name, sizeof name, "%d", i);
                close(open(name, O_WRONLY | O_CREAT, 0600));
        }
        if (pipe(go) < 0 || pipe(begun) < 0)
                return 1;
        for (int i = 0; i < 5; i++)
                if ((children[i] = fork()) == 0) {
                        /* After this write, the process sleeps only in the call, or after it. */
                        if (read(go[0], &byte, 1) == 1 && write(begun[1], "b", 1) == 1)
                                call(calls[i].number, calls[i].a, calls[i].b, calls[i].c, 0);
                        pause();
                }
        dprintf(1, "on\n");
        if (read(0, &byte, 1) < 0 || write(go[1], "12345", 5) != 5)
                return 2;
        for (int i = 0; i < 5; i++)
                if (read(begun[0], &byte, 1) != 1)
                        return 3;
        for (int i = 0; i < 5; i++)
                if (await_sleep(children[i]) < 0)
                        return 4;
        return 0;
}

static int flood(int processes, int each)
{
        for (int i = 0; i < processes; i++)
                if (fork() == 0) {
                        for (int n = 0; n < each || each == 0; n++)
                                if (call(SYS_mount, 0, 0, 0, 0) != -EPERM)
                                        _exit(1);
                        _exit(0);
                }
        dprintf(1, "on\n");
        int wrong = 0, status;
        while (wait(&status) > 0)
                wrong += status != 0;
        return wrong;
}

/* No process of the code has the descriptor on which init receives notifications. */
static int find_listener(void)
{
        char path[64], link[64];
        for (int pid = 1; pid < 64; pid++)
                for (int fd = 0; fd < 64; fd++) {
                        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
                        ssize_t n = readlink(path, link, sizeof link - 1);
                        if (n < 0)
                                continue;
                        link[n] = '\0';
                        if (pid != getpid() && pid != getppid())
                                return 1; /* there is no other process that it may inspect */
                        if (strstr(link, "seccomp"))
                                return 2;
                }
        for (int fd = 0; fd < 64; fd++) {
                struct seccomp_notif question = {0};
                if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &question) == 0 || errno == ENOENT)
                        return 3;
        }
        return 0;
}

static int attack(const char *what, int n)
{
        if (!strcmp(what, "calls"))
                return make_calls((size_t)n);
        if (!strcmp(what, "habits"))
                return make_habits();
        if (!strcmp(what, "as init"))
                return do_as_init();
        if (!strcmp(what, "interrupted"))
                return be_interrupted();
        if (!strcmp(what, "killed"))
                return be_killed(n);
        if (!strcmp(what, "late"))
                return be_late();
        if (!strcmp(what, "flood"))
                return flood(64, n);
        if (!strcmp(what, "find"))
                return find_listener();
        if (!strcmp(what, "leave")) { /* and exits, while its child continues */
                if (fork() == 0)
                        for (;;)
                                call(SYS_bpf, 0, 0, 0, 0);
                return 7;
        }
        return 100;
}

__attribute__((constructor(101))) static void maybe_attack(int argc, char **argv)
{
        if (argc == 3 && !strcmp(argv[0], "attack"))
                _exit(attack(argv[1], atoi(argv[2])));
}

/* ---- outside --------------------------------------------------------------------- */

static void box_attack_from(struct box *box, uint32_t tag, uint32_t flags, const char *what, int n, int in,
                            int out)
{
        char number[16];
        const char *const argv[] = {"attack", what, number, NULL};
        struct stat st;
        AUTO(sys_close) int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        AUTO(sys_close) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        AUTO(sys_close) int program = memfd_create("attack", MFD_CLOEXEC);
        snprintf(number, sizeof number, "%d", n);
        CHECK(fstat(self, &st) == 0 && sendfile(program, self, NULL, (size_t)st.st_size) == st.st_size);
        const int fds[] = {in >= 0 ? in : null, out >= 0 ? out : null, null, program};
        box_spawn_in(box, tag, flags | INIT_PROGRAM, "/workspace", argv, fds, 4);
}

static void box_attack(struct box *box, uint32_t tag, uint32_t flags, const char *what, int n, int out)
{
        box_attack_from(box, tag, flags, what, n, -1, out);
}

static int exited(int code)
{
        return code << 8;
}

/* Takes what init has reported until now without reading on: what comes before an answer is there when the
 * answer is. Returns how many; *ret_names has the names, each followed by a space. */
static unsigned take_reported(struct box *box, char *names, size_t size)
{
        unsigned n = 0, kept = 0;
        if (names)
                names[0] = '\0';
        for (unsigned i = 0; i < box->n; i++) {
                struct letter *l = box->inbox[i];
                struct init_refused refused;
                if (l->m.tag != 0) {
                        box->inbox[kept++] = l;
                        continue;
                }
                CHECK_INT(l->m.type, INIT_REFUSED);
                CHECK_INT(l->m.len, sizeof refused);
                memcpy(&refused, l->data, sizeof refused);
                CHECK(!strncmp(refused.detail, REFUSED, strlen(REFUSED)));
                if (names)
                        snprintf(names + strlen(names), size - strlen(names), "%s ", refused.target);
                n++;
                free(l);
        }
        box->n = kept;
        return n;
}

TEST(important_refused_calls_are_reported_once_by_name_with_their_errno)
{
        static const uint32_t modes[] = {0, INIT_ALONE, INIT_FINAL};
        for (size_t mode = 0; mode < 3; mode++) {
                AUTO(box_done) struct box box = box_new_with(NULL);
                char names[4096], should[4096] = "";
                for (size_t i = 0; i < INIT_REFUSED_MAX; i++)
                        snprintf(should + strlen(should), sizeof should - strlen(should), "%s ",
                                 calls[i].name);
                box_attack(&box, 1, modes[mode], "calls", INIT_REFUSED_MAX, -1);
                CHECK_INT(box_end(&box, 1), 0);
                CHECK_INT(take_reported(&box, names, sizeof names), INIT_REFUSED_MAX);
                CHECK_STR(names, should);
        }
}

BOX_TEST(the_number_of_reports_is_bounded, NULL)
{
        box_attack(box, 1, 0, "calls", sizeof calls / sizeof *calls, -1);
        CHECK_INT(box_end(box, 1), 0);
        CHECK_INT(take_reported(box, NULL, 0), INIT_REFUSED_MAX);
}

BOX_TEST(calls_that_programs_try_by_default_are_not_reported, NULL)
{
        box_attack(box, 1, 0, "habits", 0, -1);
        CHECK_INT(box_end(box, 1), 0);
        CHECK_INT(take_reported(box, NULL, 0), 0);
}

BOX_TEST(calls_that_init_used_are_refused_to_the_code, NULL)
{
        char names[100];
        box_attack(box, 1, 0, "as init", 0, -1);
        CHECK_INT(box_end(box, 1), 0);
        CHECK_INT(take_reported(box, names, sizeof names), 7);
        CHECK_STR(names, "unshare setns umount2 pivot_root sethostname keyctl mount_setattr ");
}

BOX_TEST(each_command_has_its_own_violations, NULL)
{
        char names[100];
        for (uint32_t tag = 1; tag <= 3; tag++) {
                box_attack(box, tag, tag == 3 ? INIT_ALONE : 0, "calls", 1, -1);
                CHECK_INT(box_end(box, tag), 0);
                CHECK_INT(take_reported(box, names, sizeof names), 1);
                CHECK_STR(names, "mount ");
        }
        CHECK_INT(box_run(box, "true", NULL, 0), 0);
        CHECK_INT(take_reported(box, NULL, 0), 0);
}

/* Also for a running command, if its owner requests it. */
BOX_TEST(reported_calls_are_forgotten_on_request, NULL)
{
        box_attack(box, 1, 0, "flood", 0, -1);
        for (int i = 0; i < 3; i++) {
                CHECK_INT(box_hear_type(box, 0), INIT_REFUSED);
                CHECK(box_hear_for(box, 0, 50) == NULL);
                box_send(box, INIT_FORGET, 0, NULL, 0, NULL, 0);
        }
        box_signal(box, SIGKILL, 1);
        CHECK_INT(box_end(box, 1), SIGKILL);
}

BOX_TEST(a_signal_does_not_change_the_answer, NULL)
{
        box_attack(box, 1, 0, "interrupted", 0, -1);
        CHECK_INT(box_end(box, 1), 0);
        CHECK_INT(take_reported(box, NULL, 0), 1);
}

/* Notifications that are pending when the command ends are not lost. */
BOX_TEST(refused_calls_are_reported_before_the_end, NULL)
{
        const struct init_list changed = {.since_ns = UINT64_MAX};
        char names[200];
        int in[2], out[2];
        CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
        box_attack_from(box, 1, INIT_ALONE, "late", 0, in[0], out[1]);
        CHECK(read_until(out[0], "on", 10000));
        box_send(box, INIT_LIST, 2, NULL, 0, &changed, sizeof changed);
        CHECK_INT(write(in[1], "g", 1), 1);
        CHECK_INT(box_end(box, 1), 0);
        CHECK_INT(take_reported(box, names, sizeof names), 5);
        for (int i = 0; i < 5; i++)
                CHECK(strstr(names, calls[i].name) != NULL);
        CHECK_INT(box_hear_type(box, 2), INIT_DONE);
        for (int i = 0; i < 2; i++) {
                close(in[i]);
                close(out[i]);
        }
}

BOX_TEST(a_process_killed_in_a_refused_call_delays_no_other, NULL)
{
        box_attack(box, 1, 0, "killed", 150, -1);
        box_attack(box, 2, 0, "killed", 150, -1);
        box_attack(box, 3, 0, "calls", 3, -1);
        CHECK_INT(box_end(box, 3), 0);
        CHECK_INT(box_end(box, 1), 0);
        CHECK_INT(box_end(box, 2), 0);
        box_attack(box, 4, INIT_ALONE, "killed", 100, -1);
        CHECK_INT(box_end(box, 4), 0);
}

/* The command dies during a refused call, and a process that it left is in another. */
BOX_TEST(the_end_of_a_command_does_not_wait_for_remaining_processes, NULL)
{
        for (uint32_t tag = 1; tag <= 60; tag++) {
                box_attack(box, tag, tag % 3 ? 0 : INIT_ALONE, "leave", 0, -1);
                CHECK_INT(box_end(box, tag), exited(7));
        }
        CHECK(take_reported(box, NULL, 0) <= 60);
        box_attack(box, 100, INIT_FINAL, "leave", 0, -1);
        CHECK_INT(box_end(box, 100), exited(7));
}

BOX_TEST(code_cannot_find_the_listener_of_init, NULL)
{
        int never[2];
        CHECK_INT(pipe2(never, O_CLOEXEC), 0);
        /* A helper of init runs at the same time and has copies of its descriptors for a while. */
        box_operate(box, 9,
                    &(struct operation){
                            .operation = INIT_WRITE, .length = UINT64_MAX, .mode = 0644, .path = "slow"},
                    never[0]);
        box_attack(box, 1, 0, "find", 0, -1);
        CHECK_INT(box_end(box, 1), 0);
        box_attack(box, 2, INIT_ALONE, "find", 0, -1);
        CHECK_INT(box_end(box, 2), 0);
        close(never[0]);
        close(never[1]);
        CHECK_INT(box_errno(box, 9), 0);
}

static void few_files(struct cella_options *options)
{
        options->limits.open_files = 16;
}

BOX_TEST(init_reports_refused_calls_with_few_descriptors, few_files)
{
        box_attack(box, 1, 0, "calls", 1, -1);
        CHECK_INT(box_end(box, 1), 0);
        CHECK_INT(take_reported(box, NULL, 0), 1);
}

static void many_processes(struct cella_options *options)
{
        options->limits.processes = 200;
}

BOX_TEST(a_flood_of_a_million_ends, many_processes)
{
        int64_t then = clock_us();
        box_attack(box, 1, 0, "flood", 1000000 / 64, -1);
        struct letter *l = box_hear_for(box, 1, 120000);
        CHECK_INT(l ? l->m.type : 0, INIT_EXITED);
        free(l);
        int64_t took = clock_us() - then;
        CHECK_INT(take_reported(box, NULL, 0), 1);
        printf("   (%lld a second)\n", (long long)(1000000LL * 1000000 / took));
}

/* Requests of the owner are served between any two notifications. */
BOX_TEST(others_are_served_beside_a_flood, many_processes)
{
        int out[2];
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_attack(box, 1, INIT_TELL_STARTED, "flood", 0, out[1]);
        close(out[1]);
        CHECK_INT(box_hear_type(box, 1), INIT_STARTED);
        CHECK(read_until(out[0], "on", 10000));
        int64_t then = clock_us();
        for (int i = 0; i < 5; i++)
                CHECK_INT(box_run(box, "exit 3", NULL, 0), exited(3));
        CHECK_INT(box_do(box, &(struct operation){.operation = INIT_MAKE_DIR, .path = "d"}), 0);
        CHECK_INT(box_ask(box, "test -d d"), 0);
        int64_t served = clock_us();
        box_signal(box, SIGKILL, 1);
        CHECK_INT(box_end(box, 1), SIGKILL);
        int64_t ended = clock_us();
        printf("   (seven commands in %lld us, the end in %lld us)\n", (long long)(served - then),
               (long long)(ended - served));
        CHECK(served - then < 5000000);
        CHECK(ended - served < 2000000);
        close(out[0]);
}

TEST(a_sandbox_with_many_pending_calls_ends_at_once)
{
        struct box box = box_new_with(many_processes);
        int out[2];
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_attack(&box, 1, INIT_FINAL, "flood", 0, out[1]);
        close(out[1]);
        CHECK(read_until(out[0], "on", 10000));
        int64_t then = clock_us();
        sandbox_kill(box.sandbox);
        sandbox_reap(box.sandbox);
        CHECK_INT(box.sandbox->pid, 0);
        CHECK(clock_us() - then < 2000000);
        box_done_auto(&box);
        close(out[0]);
}

/* ---- hosts without seccomp listeners ---------------------------------------------- */

/* Runs check in a process of its own, with a filter that is loaded with flags. */
static void behind(const struct sock_filter *filter, unsigned short len, unsigned flags, void (*check)(void))
{
        const struct sock_fprog program = {len, (struct sock_filter *)filter};
        pid_t pid = fork();
        int status;
        if (pid == 0) {
                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) < 0)
                        _exit(99);
                check();
                fflush(stdout);
                _exit(test_failures > 0);
        }
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK_INT(status, 0);
}

static void refused_but_not_reported(void)
{
        AUTO(box_done) struct box box = box_new_with(NULL);
        box_attack(&box, 1, 0, "calls", sizeof calls / sizeof *calls, -1);
        CHECK_INT(box_end(&box, 1), 0);
        box_attack(&box, 2, 0, "habits", 0, -1);
        CHECK_INT(box_end(&box, 2), 0);
        box_attack(&box, 3, 0, "as init", 0, -1);
        CHECK_INT(box_end(&box, 3), 0);
        CHECK_INT(take_reported(&box, NULL, 0), 0);
}

TEST(below_another_seccomp_listener_calls_are_refused_without_a_report)
{
        static const struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        behind(all, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, refused_but_not_reported);
}

TEST(without_kernel_support_calls_are_refused_without_a_report)
{
        static const struct sock_filter old[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
                BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        behind(old, 6, 0, refused_but_not_reported);
}
