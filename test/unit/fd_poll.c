#include "engine/link/fd_poll.h"

#include "base/auto.h"
#include "base/list.h"
static void set_up(void), tear_down(void);
#define TEST_BEFORE set_up
#define TEST_AFTER tear_down
#include "test.h"

/* A pipe whose reading end is polled, and the action of its callback. */
struct subject {
        struct fd_poll poll;
        int ours, theirs;
        unsigned called;
        int events;
        void (*act)(struct subject *subject);
};

static uv_loop_t loop;
static struct subject a, b, c;

static void on_event(struct fd_poll *poll, int events)
{
        struct subject *s = list_entry(poll, struct subject, poll);
        s->called++;
        s->events = events;
        if (s->act)
                s->act(s);
}

static void begin(struct subject *s, void (*act)(struct subject *subject))
{
        int pair[2];
        CHECK_INT(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        *s = (struct subject){.ours = pair[0], .theirs = pair[1], .act = act};
        CHECK_INT(fd_poll_start(&s->poll, &loop, s->ours, UV_READABLE, on_event), 0);
}

static void ready(struct subject *s)
{
        CHECK_INT(write(s->theirs, "x", 1), 1);
}

static void turn(void)
{
        uv_run(&loop, UV_RUN_NOWAIT);
}

static void end(struct subject *s)
{
        if (s->ours >= 0)
                fd_poll_close(&s->poll, TAKE_FD(s->ours));
        close(s->theirs);
}

static void set_up(void)
{
        CHECK_INT(uv_loop_init(&loop), 0);
}

static void tear_down(void)
{
        turn();
        CHECK_INT(uv_loop_close(&loop), 0);
}

static void close_others(struct subject *s)
{
        for (struct subject *other[] = {&a, &b, &c}, **at = other; at < other + ARRAY_LEN(other); at++)
                if (*at != s && (*at)->ours >= 0)
                        fd_poll_close(&(*at)->poll, TAKE_FD((*at)->ours));
}

static void stop_others(struct subject *s)
{
        for (struct subject *other[] = {&a, &b, &c}, **at = other; at < other + ARRAY_LEN(other); at++)
                if (*at != s)
                        fd_poll_stop(&(*at)->poll);
}

static void close_own(struct subject *s)
{
        fd_poll_close(&s->poll, TAKE_FD(s->ours));
        memset(&s->poll, 0x5a, sizeof s->poll); /* simulates freed memory */
}

/* Opens another descriptor with the number of each closed one. */
static struct subject again[2];

static void close_others_and_begin_again(struct subject *s)
{
        close_others(s);
        for (int i = 0; i < 2; i++)
                begin(&again[i], NULL);
}

TEST(the_callback_is_called_while_the_event_is_true)
{
        char byte;
        begin(&a, NULL);
        turn();
        CHECK_INT(a.called, 0);
        ready(&a);
        turn();
        turn();
        CHECK_INT(a.called, 2);
        CHECK_INT(a.events, UV_READABLE);
        CHECK_INT(read(a.ours, &byte, 1), 1);
        turn();
        CHECK_INT(a.called, 2);
        close(TAKE_FD(a.theirs));
        turn();
        CHECK_INT(a.called, 3);
        CHECK_INT(a.events, UV_READABLE);
        end(&a);
        turn();
        CHECK_INT(a.called, 3);
}

/* All three are ready at once; the first callback ends the others. */
static void ends_others(void (*act)(struct subject *))
{
        begin(&a, act);
        begin(&b, act);
        begin(&c, act);
        ready(&a);
        ready(&b);
        ready(&c);
        turn();
        CHECK_INT(a.called + b.called + c.called, 1);
}

TEST(no_callback_after_close_in_the_same_batch)
{
        ends_others(close_others);
        turn();
        CHECK_INT(a.called + b.called + c.called, 2);
        end(&a);
        end(&b);
        end(&c);
}

TEST(no_callback_after_stop_in_the_same_batch_until_the_next_start)
{
        ends_others(stop_others);
        turn();
        CHECK_INT(a.called + b.called + c.called, 2);
        for (struct subject *all[] = {&a, &b, &c}, **at = all; at < all + 3; at++) {
                (*at)->act = NULL;
                CHECK_INT(fd_poll_start(&(*at)->poll, &loop, (*at)->ours, UV_READABLE, on_event), 0);
        }
        turn();
        CHECK_INT(a.called + b.called + c.called, 5);
        end(&a);
        end(&b);
        end(&c);
}

TEST(a_reused_descriptor_number_gets_no_old_event)
{
        ends_others(close_others_and_begin_again);
        const int numbers = again[0].ours + again[1].ours;
        CHECK_INT(again[0].called + again[1].called, 0);
        CHECK(numbers > 0);
        ready(&again[0]);
        ready(&again[1]);
        for (struct subject *all[] = {&a, &b, &c}, **at = all; at < all + 3; at++)
                (*at)->act = NULL;
        turn();
        CHECK_INT(again[0].called, 1);
        CHECK_INT(again[1].called, 1);
        end(&again[0]);
        end(&again[1]);
        end(&a);
        end(&b);
        end(&c);
}

TEST(a_poll_can_be_closed_and_freed_in_its_own_callback)
{
        begin(&a, close_own);
        begin(&b, close_own);
        ready(&a);
        ready(&b);
        turn();
        turn();
        CHECK_INT(a.called, 1);
        CHECK_INT(b.called, 1);
        end(&a);
        end(&b);
}

TEST(events_can_be_changed)
{
        int pair[2];
        CHECK_INT(pipe2(pair, O_CLOEXEC | O_NONBLOCK), 0);
        a = (struct subject){.ours = pair[1], .theirs = pair[0]};
        CHECK_INT(fd_poll_start(&a.poll, &loop, a.ours, UV_READABLE, on_event), 0);
        turn();
        CHECK_INT(a.called, 0);
        CHECK_INT(fd_poll_start(&a.poll, &loop, a.ours, UV_WRITABLE, on_event), 0);
        turn();
        CHECK_INT(a.called, 1);
        CHECK_INT(a.events, UV_WRITABLE);
        end(&a);
}

TEST(a_descriptor_that_cannot_be_polled_is_an_error)
{
        int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        a = (struct subject){0};
        CHECK_INT(fd_poll_start(&a.poll, &loop, file, UV_READABLE, on_event), -EPERM);
        CHECK_INT(fd_poll_start(&a.poll, &loop, -1, UV_READABLE, on_event), -EBADF);
        CHECK(!a.poll.handle);
        close(file);
}
