/* core/context/attempts.c -- asks init whether a failed run tried to use a network that its sandbox does not
 * have.
 *
 * At the end of a command, init reports that by itself.  A run in a context ends no command.  init sends
 * INIT_UNREACHED, which the sandbox gives to its observers, before it answers.  Attempts of a run that did
 * not fail are forgotten at its end, not at the beginning of the next one: code can be faster than the
 * message. */
#include "base/clock.h"
#include "core/context/internal.h"

#define ANSWER_US 10000000 /* init answers at once, but it is not trusted */

static void on_answer(void *context, const struct message *message, const char *data)
{
        struct context_run *run = context;
        struct message m = *message;
        (void)data;
        message_close_fds(&m);
        context_run_answered(run);
}

bool context_run_ask(struct context_run *run)
{
        struct context *c = run->context;
        struct core_sandbox *sb = c->task.sandbox;
        if (!sb || sandbox_has_network(sb) || !sandbox_takes_messages(sb))
                return false;
        if (!run->error) {
                channel_send(sb->channel, INIT_ATTEMPTS, 0, NULL, 0, NULL, 0, NULL, 0);
                return false;
        }
        run->ask_tag = channel_open_tag(sb->channel, on_answer, run);
        if (!run->ask_tag)
                return false;
        if (channel_send(sb->channel, INIT_ATTEMPTS, run->ask_tag, NULL, 0, NULL, 0, NULL, 0) < 0) {
                context_run_ask_no_more(run);
                return false;
        }
        deadline_set(&c->timers.deadlines, TIMER_ANSWER, clock_us() + ANSWER_US);
        timers_update(&c->timers);
        return true;
}

void context_run_ask_no_more(struct context_run *run)
{
        struct context *c = run->context;
        const struct core_sandbox *sb = c->task.sandbox;
        if (!run->ask_tag)
                return;
        if (sb && sb->channel)
                channel_forget(sb->channel, run->ask_tag);
        run->ask_tag = 0;
        deadline_clear(&c->timers.deadlines, TIMER_ANSWER, TIMER_ANSWER + 1);
        timers_update(&c->timers);
}
