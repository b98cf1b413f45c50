/* core/context/ask.c -- asks init about a run that has ended.
 *
 * - Did a failed run try to use a network that its sandbox does not have, and is the disk full?  At the end
 *   of a command, init reports both by itself, but a run in a context ends no command.  init sends
 *   INIT_UNREACHED, which the sandbox gives to its observers, before it answers.  Attempts of a run that did
 *   not fail are forgotten at its end, not at the beginning of the next one: code can be faster than the
 *   message.
 * - Which files did the run change, if the request wants to know?
 *
 * Both questions have the same tag.  init answers each with INIT_DONE.  Then pictures among the files are
 * read. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/context/internal.h"
#include "core/sandbox/operation.h"
#include "engine/files.h"

#define ANSWER_US 10000000 /* init answers at once, but it is not trusted; the same for all pictures */

void context_run_mark_time(struct context_run *run)
{
        if (!run->request.list_files)
                return;
        operation_stamp(run->context->task.sandbox, &run->since);
        run->result.files_truncated = true; /* until init has sent the list */
}

static void set_deadline(struct context_run *run)
{
        struct context *c = run->context;
        deadline_set(&c->timers.deadlines, TIMER_ANSWER, clock_us() + ANSWER_US);
        timers_update(&c->timers);
}

static void on_answer(void *context, const struct message *message, const char *data)
{
        struct context_run *run = context;
        struct message m = *message;
        struct init_room room;
        uint32_t incomplete;
        message_close_fds(&m);
        if (m.type == INIT_FILE) {
                files_keep(&run->result, data, m.len);
                return;
        }
        if (m.type == INIT_DONE && m.len == sizeof incomplete) { /* the end of the list */
                memcpy(&incomplete, data, sizeof incomplete);
                run->result.files_truncated = incomplete != 0;
        } else if (m.type == INIT_DONE && m.len == sizeof room) {
                memcpy(&room, data, sizeof room);
                run->facts.exited.disk_bytes_free = room.disk_bytes_free;
                run->facts.exited.disk_inodes_free = room.disk_inodes_free;
        }
        if (--run->asked == 0)
                context_run_answered(run);
}

static void context_ask(struct context_run *run, uint32_t type, const void *data, size_t len)
{
        struct channel *channel = run->context->task.sandbox->channel;
        if (channel_send(channel, type, run->ask_tag, NULL, 0, data, len, NULL, 0) == 0)
                run->asked++;
}

bool context_run_ask(struct context_run *run)
{
        struct core_sandbox *sb = run->context->task.sandbox;
        const struct init_list list = {.since_ns = (uint64_t)run->since.tv_sec * 1000000000u +
                                                   (uint64_t)run->since.tv_nsec};
        if (!sb || !sandbox_takes_messages(sb))
                return false;
        const bool failed = run->error || run->facts.exited.wait_status != 0;
        if (!failed && !sandbox_has_network(sb))
                channel_send(sb->channel, INIT_ATTEMPTS, 0, NULL, 0, NULL, 0, NULL, 0);
        if (!failed && !run->request.list_files)
                return false;
        run->ask_tag = channel_open_tag(sb->channel, on_answer, run);
        if (!run->ask_tag)
                return false;
        if (failed)
                context_ask(run, INIT_ATTEMPTS, NULL, 0);
        if (run->request.list_files)
                context_ask(run, INIT_LIST, &list, sizeof list);
        if (run->asked == 0) {
                context_run_ask_no_more(run);
                return false;
        }
        set_deadline(run);
        return true;
}

/* ---- pictures ---- */

static void on_picture(void *context, char *json, size_t len)
{
        struct context_run *run = context;
        if (run->n_results == CONTEXT_RESULTS_MAX || run->results_bytes + len > CONTEXT_RESULTS_BYTES) {
                run->results_truncated = true;
                free(json);
                return;
        }
        run->results[run->n_results] = json;
        run->result_lens[run->n_results++] = len;
        run->results_bytes += len;
        if (run->events && run->events->on_result)
                run->events->on_result(run, json, len, run->caller);
}

static void on_pictures(void *context, bool left_out)
{
        struct context_run *run = context;
        run->pictures = pictures_free(run->pictures);
        run->results_truncated |= left_out;
        context_run_answered(run);
}

bool context_run_read(struct context_run *run)
{
        static const struct pictures_events events = {on_picture, on_pictures};
        struct core_sandbox *sb = run->context->task.sandbox;
        if (!run->request.rich || !sb || !sandbox_takes_messages(sb))
                return false;
        run->request.rich = false; /* once */
        run->pictures = pictures_new(sb, run->result.files, run->result.n_files, NULL, &events, run);
        if (run->pictures)
                set_deadline(run);
        return run->pictures != NULL;
}

/* ---- the end ---- */

void context_run_ask_no_more(struct context_run *run)
{
        struct context *c = run->context;
        const struct core_sandbox *sb = c->task.sandbox;
        if (run->ask_tag && sb && sb->channel)
                channel_forget(sb->channel, run->ask_tag);
        run->ask_tag = run->asked = 0;
        run->results_truncated |= run->pictures != NULL;
        run->pictures = pictures_free(run->pictures);
        deadline_clear(&c->timers.deadlines, TIMER_ANSWER, TIMER_ANSWER + 1);
        timers_update(&c->timers);
}
