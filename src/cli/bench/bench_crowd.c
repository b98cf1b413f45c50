/* cli/bench/bench_crowd.c -- many connections, each of which runs one execution after the other.
 *
 * One thread serves all of them: it shares the cores with the measured system, and one thread per connection
 * would cost a context switch for every answer. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/bench/bench.h"

#define PATIENCE_US INT64_C(30000000) /* maximum time for an answer */
#define AGAIN_US 10000                /* delay after a failure */

struct talker {
        int fd;
        bool asked;
        size_t got;     /* bytes of the answer */
        int64_t due_us; /* time of the timeout or of the next attempt */
        struct bench_answer *answer;
};

struct talk {
        struct bench_crowd *crowd;
        struct talker talkers[BENCH_CONNECTIONS_MAX];
        unsigned n, asked;
        int64_t until_us;
        size_t len;
};

static void bench_crowd_fail(struct talk *t, struct talker *k)
{
        t->crowd->failed++;
        t->asked -= k->asked;
        if (k->fd >= 0)
                close(k->fd);
        k->fd = -1;
        k->asked = false;
        k->due_us = clock_us() + AGAIN_US;
}

static bool wants_more(const struct talk *t)
{
        return t->crowd->left > 0 && !bench_interrupted && clock_us() < t->until_us;
}

static void bench_crowd_ask(struct talk *t, struct talker *k)
{
        t->crowd->left--;
        if (k->fd < 0)
                k->fd = bench_connect(t->crowd->socket);
        if (k->fd < 0 || !k->answer || write(k->fd, t->crowd->request, t->len) != (ssize_t)t->len) {
                bench_crowd_fail(t, k);
                return;
        }
        t->asked++;
        k->asked = true;
        k->got = 0;
        k->due_us = clock_us() + PATIENCE_US;
}

static void bench_crowd_receive(struct talk *t, struct talker *k)
{
        int r = bench_receive(k->fd, k->answer, &k->got);
        if (r == -EAGAIN)
                return;
        if (r < 0 || bench_judge(r, k->answer, t->crowd->line) < 0) {
                bench_crowd_fail(t, k);
                return;
        }
        t->crowd->done++;
        t->asked--;
        k->asked = false;
        k->due_us = 0;
}

/* Returns the milliseconds until the next timeout or attempt. */
static int bench_crowd_patience(const struct talk *t)
{
        const bool more = wants_more(t);
        int64_t now = clock_us(), first = now + PATIENCE_US;
        for (unsigned i = 0; i < t->n; i++)
                if ((t->talkers[i].asked || more) && t->talkers[i].due_us < first)
                        first = t->talkers[i].due_us;
        return first <= now ? 0 : (int)((first - now) / 1000 + 1);
}

/* Waits for an answer, or until a connection may send again. */
static void bench_crowd_turn(struct talk *t)
{
        struct pollfd fds[BENCH_CONNECTIONS_MAX];
        for (unsigned i = 0; i < t->n; i++)
                fds[i] = (struct pollfd){t->talkers[i].asked ? t->talkers[i].fd : -1, POLLIN, 0};
        const int ready = poll(fds, t->n, bench_crowd_patience(t));
        const int64_t now = clock_us();
        for (unsigned i = 0; i < t->n; i++) {
                struct talker *k = &t->talkers[i];
                if (ready > 0 && k->asked && fds[i].revents)
                        bench_crowd_receive(t, k);
                else if (k->asked && now >= k->due_us)
                        bench_crowd_fail(t, k);
        }
}

double bench_crowd_run(struct bench_crowd *crowd, unsigned connections, int64_t us)
{
        const int64_t begun = clock_us();
        struct talk t = {.crowd = crowd,
                         .n = connections < BENCH_CONNECTIONS_MAX ? connections : BENCH_CONNECTIONS_MAX,
                         .until_us = us > 0 ? begun + us : INT64_MAX,
                         .len = strlen(crowd->request)};
        for (unsigned i = 0; i < t.n; i++)
                t.talkers[i] = (struct talker){.fd = -1, .answer = malloc(sizeof *t.talkers[i].answer)};
        for (;;) {
                for (unsigned i = 0; i < t.n && wants_more(&t); i++)
                        if (!t.talkers[i].asked && clock_us() >= t.talkers[i].due_us)
                                bench_crowd_ask(&t, &t.talkers[i]);
                if (bench_interrupted || (t.asked == 0 && !wants_more(&t)))
                        break;
                bench_crowd_turn(&t);
        }
        for (unsigned i = 0; i < t.n; i++) {
                if (t.talkers[i].fd >= 0)
                        close(t.talkers[i].fd);
                free(t.talkers[i].answer);
        }
        return (double)(clock_us() - begun) / 1e6;
}
