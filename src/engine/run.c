/* engine/run.c -- one execution, from the start of the command to its result.
 *
 * One loop waits for everything: output, input, init's report that the command ended, the
 * deadlines (engine/deadline.h), cancellation by the caller.  Nothing in it blocks, so the
 * deadlines hold whatever the command or the reader of its output does.  Messages from the
 * sandbox are hostile input: their size is bounded, unknown types end the sandbox, and the
 * kernel's own counters take precedence over them (engine/verdict.c). */
#include "engine/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "engine/command.h"
#include "engine/deadline.h"
#include "engine/files.h"
#include "engine/hint.h"
#include "engine/pump.h"
#include "engine/terminal.h"
#include "engine/verdict.h"
#include "engine/violation.h"
#include "sys/file.h"
#include "sys/process.h"
#include "wire/init.h"
#include "wire/message.h"

enum { ON_CONTROL, ON_STDOUT, ON_STDERR, ON_STDIN, ON_CANCEL, ON_NETWORK, ON_TERMINAL, N_EVENTS };

struct run {
        struct sandbox *sandbox;
        struct outlet *outlet;     /* NULL: no network */
        const struct image *image; /* NULL: none */
        const struct cella_command *command;
        struct violations violations;
        struct verdict_facts facts;
        struct pump_out out[2];
        struct pump_in in;
        struct deadlines deadlines;
        int64_t started, ended;
        uint64_t cpu_before_us; /* CPU time of the sandbox before the command was started */
        bool over;              /* the command has ended, or the sandbox has */
        bool truncated[2];
        int failure; /* -errno: init could not start the command */
};

static void run_free(struct run *r)
{
        if (!r)
                return;
        for (int i = 0; i < 2; i++)
                pump_out_done(&r->out[i]);
        pump_in_done(&r->in);
        if (r->command->terminal)
                terminal_close(r->command->terminal);
        violations_done(&r->violations);
        free(r);
}
DEFINE_AUTO(struct run *, run_free)

static void run_pumps(struct run *r, int in, int out, int errors)
{
        pump_out_init(&r->out[0], out, CELLA_STDOUT, r->command, r->sandbox->limits.output_bytes);
        pump_out_init(&r->out[1], errors, CELLA_STDERR, r->command, r->sandbox->limits.output_bytes);
        pump_in_init(&r->in, r->command->stdin_fd, in);
}

/* The pumps have nothing to do until init sends the master of the terminal. */
static int start_on_terminal(struct run *r, struct cella_err *err)
{
        static const int none[3] = {-1, -1, -1};
        run_pumps(r, -1, -1, -1);
        return command_start(r->sandbox, r->image, r->command, none, err);
}

/* Makes the pipes and starts the command. */
static int run_start(struct run *r, struct cella_err *err)
{
        int in[2] = {-1, -1}, out[2] = {-1, -1}, errors[2] = {-1, -1};
        int e;
        if (r->command->terminal)
                return start_on_terminal(r, err);
        if ((e = sys_pipe2(in, 0)) < 0 || (e = sys_pipe2(out, 0)) < 0 || (e = sys_pipe2(errors, 0)) < 0) {
                err_set(err, CELLA_INTERNAL, e, "cannot make pipes");
        } else {
                const int theirs[3] = {in[0], out[1], errors[1]};
                sys_set_nonblock(in[1]);
                sys_set_nonblock(out[0]);
                sys_set_nonblock(errors[0]);
                /* Lets the code open them by name, for example /dev/stdout. */
                for (int i = 0; i < 3 && r->sandbox->host_uid != geteuid(); i++)
                        sys_fchown(theirs[i], r->sandbox->host_uid);
                e = command_start(r->sandbox, r->image, r->command, theirs, err);
        }
        sys_close(in[0]);
        sys_close(out[1]);
        sys_close(errors[1]);
        run_pumps(r, in[1], out[0], errors[0]);
        if (r->command->stdin_fd < 0)
                pump_in_done(&r->in);
        return e;
}

static void run_note(void *context, const struct violation *violation)
{
        struct run *r = context;
        violations_add(&r->violations, violation);
}

/* Connections that were opened earlier wait in the queue of the listening socket. */
static int open_network(struct run *r, struct cella_err *err)
{
        int *way_out = r->sandbox->way_out;
        if (!r->outlet)
                return 0;
        int e = way_out[0] < 0 ? 0 : outlet_attach(r->outlet, way_out, err); /* only for the first command */
        sys_close(TAKE_FD(way_out[0]));
        sys_close(TAKE_FD(way_out[1]));
        if (e == 0)
                outlet_begin(r->outlet, run_note, r);
        return e;
}

/* init starts the command when it has received it and the sandbox is ready.  The current time would be too
 * late: the command may have ended. */
static void start_clocks(struct run *r, int64_t sent)
{
        const struct sandbox *sb = r->sandbox;
        r->started = sent > sb->ready_us ? sent : sb->ready_us;
        deadline_init(&r->deadlines);
        deadline_start(&r->deadlines, &sb->limits, r->started,
                       (sb->cgroup ? DEADLINE_THROTTLES : 0) |
                               (sb->cgroup || sb->remote ? DEADLINE_COUNTS_CPU : 0));
}

static void run_cut_off(struct run *r, enum ending ending)
{
        verdict_end(&r->facts, ending);
        sandbox_cut_off(r->sandbox);
}

/* SIGTERM to all processes; SIGKILL follows after the grace time. */
static void time_is_up(struct run *r, int64_t now)
{
        const struct init_signal term = {.signal = SIGTERM};
        verdict_end(&r->facts, END_TIMEOUT);
        if (deadline_stop(&r->deadlines, now) &&
            message_send(r->sandbox->control, INIT_SIGNAL, 0, NULL, 0, &term, sizeof term, NULL, 0) < 0)
                deadline_set(&r->deadlines, DEADLINE_KILL, now);
}

static uint64_t cpu_used(struct sandbox *sandbox)
{
        struct cgroup_usage usage;
        if (sandbox->cgroup)
                return cgroup_cpu_us(sandbox->cgroup);
        return sandbox_usage(sandbox, &usage) ? usage.cpu_us : 0;
}

static void due(struct run *r, int timer, int64_t now)
{
        switch (timer) {
        case DEADLINE_TIMEOUT:
                time_is_up(r, now);
                break;
        case DEADLINE_KILL:
                run_cut_off(r, END_TIMEOUT);
                break;
        case DEADLINE_THROTTLE:
                if (cgroup_throttle(r->sandbox->cgroup, r->sandbox->limits.cpus_milli) < 0)
                        run_cut_off(r, END_CPU); /* the limit could not be set, so the code must not go on */
                break;
        case DEADLINE_CPU:
                if (deadline_cpu_used(&r->deadlines, now,
                                      verdict_cpu_since(cpu_used(r->sandbox), r->cpu_before_us)))
                        run_cut_off(r, END_CPU);
                break;
        }
}

static void check_limits(struct run *r, int64_t now)
{
        int timer;
        while ((timer = deadline_take(&r->deadlines, now)) >= 0)
                due(r, timer, now);
        for (int i = 0; i < 2; i++) {
                if (verdict_output_ends(&r->sandbox->limits, r->command->kill_on_output_limit,
                                        r->out[i].total))
                        run_cut_off(r, END_OUTPUT);
                if (r->out[i].broken)
                        run_cut_off(r, END_CANCELLED);
        }
        if (r->in.broken || (r->command->terminal && r->command->terminal->interrupted))
                run_cut_off(r, END_CANCELLED);
}

/* Returns the timeout for poll(); -1: no timer is set. */
static int64_t time_left(const struct run *r, int64_t now)
{
        const int64_t next = deadline_next(&r->deadlines);
        return next == DEADLINE_NEVER ? -1 : next > now ? next - now : 0;
}

/* init sends the master of the terminal that it has made.  Each pump gets a descriptor of its own. */
static void take_terminal(struct run *r, struct message *m)
{
        struct cella_terminal *t = r->command->terminal;
        int out = -1, in = -1;
        if (t && m->n_fds == 1 && terminal_accept(t, TAKE_FD(m->fds[0])) == 0) {
                m->n_fds = 0;
                out = fcntl(t->master, F_DUPFD_CLOEXEC, 3);
                in = fcntl(t->master, F_DUPFD_CLOEXEC, 3);
        }
        if (out < 0 || in < 0) {
                run_cut_off(r, END_BY_ITSELF);
                sys_close(out);
                sys_close(in);
                return;
        }
        r->out[CELLA_STDOUT].from = out;
        r->out[CELLA_STDOUT].pty = true;
        r->in.to = in;
        r->in.terminal = t;
}

static void receive_init(struct run *r)
{
        struct message m;
        char data[INIT_REPLY_MAX];
        int e = message_receive(r->sandbox->control, &m, data, sizeof data);
        if (e <= 0) {
                r->over = true;
                return;
        }
        if (m.type == INIT_STARTED && r->command->terminal) {
                take_terminal(r, &m);
                message_close_fds(&m);
                return;
        }
        message_close_fds(&m); /* init has no other descriptors to send now */
        if (m.type == INIT_EXITED && m.len == sizeof r->facts.exited) {
                memcpy(&r->facts.exited, data, sizeof r->facts.exited);
                r->facts.reported = r->over = true;
        } else if (m.type == INIT_FAILED && m.len == sizeof(struct cella_err)) {
                struct cella_err cause;
                memcpy(&cause, data, sizeof cause);
                r->failure = cause.num < 0 ? cause.num : -EIO;
                r->over = true;
        } else if (m.type == INIT_REFUSED && m.len == sizeof(struct init_refused)) {
                struct init_refused refused;
                struct violation v;
                memcpy(&refused, data, sizeof refused);
                violation_set(&v, VIOLATION_SYSCALL, refused.target, sizeof refused.target, refused.detail,
                              sizeof refused.detail);
                run_note(r, &v);
        } else if (m.type == INIT_UNREACHED && m.len == 0) {
                struct violation v;
                violation_of_no_network(&v);
                if (!r->outlet)
                        run_note(r, &v);
        } else {
                /* init sends nothing else now: the sender is not our init. */
                run_cut_off(r, END_BY_ITSELF);
        }
}

static void run_loop(struct run *r)
{
        while (!r->over) {
                struct pollfd fds[N_EVENTS] = {
                        [ON_CONTROL] = {r->sandbox->control, POLLIN, 0},
                        [ON_STDOUT] = pump_out_wants(&r->out[0]),
                        [ON_STDERR] = pump_out_wants(&r->out[1]),
                        [ON_STDIN] = pump_in_wants(&r->in),
                        [ON_CANCEL] = {r->command->cancel_fd, POLLIN, 0},
                        [ON_NETWORK] = {r->outlet ? outlet_fd(r->outlet) : -1, POLLIN, 0},
                        [ON_TERMINAL] = {r->command->terminal ? r->command->terminal->event_fd : -1, POLLIN,
                                         0},
                };
                int64_t now = clock_us();
                int n = sys_poll(fds, N_EVENTS, time_left(r, now));
                if (n > 0) {
                        if (fds[ON_STDOUT].revents)
                                pump_out_move(&r->out[0]);
                        if (fds[ON_STDERR].revents)
                                pump_out_move(&r->out[1]);
                        if (r->in.terminal)
                                terminal_shown(r->in.terminal, r->out[CELLA_STDOUT].total);
                        if (fds[ON_STDIN].revents)
                                pump_in_move(&r->in);
                        if (fds[ON_CONTROL].revents)
                                receive_init(r);
                        if (fds[ON_TERMINAL].revents)
                                terminal_event(r->command->terminal);
                        if (fds[ON_NETWORK].revents)
                                outlet_receive(r->outlet);
                        /* Code that ended by itself was not cancelled. */
                        if (fds[ON_CANCEL].revents && !r->over)
                                run_cut_off(r, END_CANCELLED);
                }
                if (!r->over)
                        check_limits(r, clock_us());
        }
}

/* Waits until the reader takes more.  Returns false at the time `until`, or when the caller cancels. */
static bool wait_for_reader(const struct run *r, const struct pump_out *p, int64_t until)
{
        struct pollfd fds[] = {pump_out_wants(p), {r->command->cancel_fd, POLLIN, 0}};
        int64_t now = clock_us();
        return now < until && sys_poll(fds, 2, until - now) > 0 && !fds[1].revents;
}

/* All processes are dead.  The reader may take the rest until the time of the kill. */
static void run_flush(struct run *r)
{
        const struct cella_limits *l = &r->sandbox->limits;
        int64_t until = r->started + (int64_t)(l->timeout_ms + l->grace_ms) * 1000;
        for (int i = 0; i < 2; i++) {
                struct pump_out *p = &r->out[i];
                r->truncated[i] = false;
                for (;;) {
                        bool drained = pump_out_drain(p);
                        if (drained && !p->rest) {
                                r->truncated[i] = keep_truncated(&p->keep);
                                pump_out_finish(p);
                        }
                        if (!pump_out_pending(p) && drained)
                                break;
                        if (!wait_for_reader(r, p, until))
                                break;
                        pump_out_move(p);
                }
        }
}

static int fill_violations(struct run *r, struct cella_result *result)
{
        struct violation limits[VIOLATIONS_OF_LIMITS];
        unsigned n = violations_of_limits(&r->facts, &r->sandbox->limits, result->status, limits);
        result->has_network = r->outlet != NULL;
        result->network_known = r->outlet && outlet_count(r->outlet, &result->network);
        for (unsigned i = 0; i < n; i++)
                run_note(r, &limits[i]);
        return violations_take(&r->violations, result);
}

static int fill_result(struct run *r, struct cella_result *result, struct cella_err *err)
{
        result->duration_us = (uint64_t)(r->ended - r->started);
        r->facts.counted = sandbox_usage(r->sandbox, &r->facts.usage);
        r->facts.usage.cpu_us = verdict_cpu_since(r->facts.usage.cpu_us, r->cpu_before_us);
        verdict(&r->facts, result);
        memcpy(result->sandbox, r->sandbox->id, sizeof result->sandbox);
        for (int i = 0; i < 2; i++) {
                struct pump_out *p = &r->out[i];
                if (verdict_take_output(result, (enum cella_stream)i, &p->keep, p->total, r->truncated[i]) <
                    0)
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "result");
        }
        if (fill_violations(r, result) < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "result");
        hint_set(&r->facts, &r->sandbox->limits, result);
        hint_of_module(r->out[CELLA_STDERR].last, r->out[CELLA_STDERR].last_len, result);
        return id_make("exe_", result->id);
}

/* SIGPIPE would end the caller's program when a command closes its standard input. */
static void hold_sigpipe(sigset_t *old)
{
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, old);
}

static void release_sigpipe(const sigset_t *old)
{
        const struct timespec none = {0};
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        if (!sigismember(old, SIGPIPE))
                while (sigtimedwait(&pipe, NULL, &none) > 0)
                        continue;
        pthread_sigmask(SIG_SETMASK, old, NULL);
}

static int run_to_end(struct run *r, struct cella_result *result, struct cella_err *err)
{
        struct timespec since;
        clock_gettime(CLOCK_REALTIME_COARSE, &since); /* the clock of file timestamps */
        r->cpu_before_us = r->sandbox->used ? cpu_used(r->sandbox) : 0;
        const int64_t sent = clock_us();
        int e = run_start(r, err);
        if (e == 0)
                e = sandbox_wait_ready(r->sandbox, err);
        if (e == 0)
                e = open_network(r, err);
        if (e < 0)
                return e;
        if (!r->sandbox->used)
                r->cpu_before_us = r->sandbox->cpu_made_us;
        start_clocks(r, sent);
        if (r->sandbox->cgroup)
                cgroup_sweep(r->sandbox->cgroup); /* the command is starting meanwhile */
        run_loop(r);
        if (r->failure)
                return command_explain(r->image, r->command, r->failure, err);
        if (!r->facts.reported)
                sandbox_reap(r->sandbox); /* its counters are final then */
        r->ended = clock_us();
        run_flush(r);
        e = fill_result(r, result, err);
        if (e == 0 && r->command->list_files && r->facts.reported)
                e = files_list(r->sandbox, &since, result, err);
        return e;
}

int run_command(struct sandbox *sandbox, struct outlet *outlet, const struct image *image,
                const struct cella_command *command, struct cella_result *ret, struct cella_err *err)
{
        struct cella_result result = {0};
        sigset_t signals;
        AUTO(run_free) struct run *r = malloc(sizeof *r);
        if (!r)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "run");
        r->sandbox = sandbox;
        r->outlet = outlet;
        r->image = image;
        r->command = command;
        r->violations = (struct violations){0};
        r->facts = (struct verdict_facts){0};
        r->over = false;
        r->failure = 0;
        hold_sigpipe(&signals);
        int e = run_to_end(r, &result, err);
        release_sigpipe(&signals);
        sandbox->used = true;
        if (e < 0) {
                cella_result_done(&result);
                return e;
        }
        *ret = result;
        return 0;
}
