/* test/load/load.c -- many clients at once, each with executions that have unique output.
 *
 *   load PORT CLIENTS SECONDS [SANDBOX...]
 *
 * Every execution prints a nonce of its own, on both streams; the answer must carry exactly that.
 * Prints one JSON object: how many of what, how long they took, what went wrong.  One thread:
 * written in C so that the generator is not what is measured. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS_MAX 1024
#define ANSWER_MAX (1024 * 1024)
#define LINES 2000 /* of those that print much */
#define STUCK_S 60 /* after this time, an answer is considered lost */

enum kind { SH, PYTHON, SH_SHARED, PYTHON_SHARED, MUCH, KINDS };
static const char *const kind_names[KINDS] = {"sh", "python3", "sh_shared", "python3_shared", "much"};

struct client {
        int fd;
        unsigned number;
        uint64_t sequence;
        enum kind kind;
        char nonce[40];
        double sent_at;
        char request[1024];
        size_t request_len, request_at;
        char *answer;
        size_t answer_len;
        bool busy;
};

struct times {
        double *ms;
        size_t n, room;
};

static struct client clients[CLIENTS_MAX];
static struct times times[KINDS];
static unsigned n_clients, n_sandboxes, n_busy;
static char **sandboxes;
static int port, loop;
static unsigned long wrong, refused, failed, other, lost, stuck;
static char first_trouble[400];

static double now(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void trouble(const struct client *c, unsigned long *count, const char *what)
{
        ++*count;
        if (!first_trouble[0])
                snprintf(first_trouble, sizeof first_trouble, "%s: %s %s: %.200s", what, kind_names[c->kind],
                         c->nonce, c->answer);
}

static void add_time(struct times *t, double ms)
{
        if (t->n == t->room) {
                t->room = t->room ? t->room * 2 : 1024;
                if (!(t->ms = realloc(t->ms, t->room * sizeof *t->ms)))
                        abort();
        }
        t->ms[t->n++] = ms;
}

/* ---- one client ---- */

static void client_connect(struct client *c)
{
        const struct sockaddr_in to = {.sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)port),
                                       .sin_addr = {htonl(INADDR_LOOPBACK)}};
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        int one = 1;
        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&to, sizeof to) < 0) {
                perror("load: connect");
                exit(1);
        }
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(loop, EPOLL_CTL_ADD, c->fd, &event);
}

static enum kind choose(const struct client *c)
{
        static const enum kind mix[20] = {SH, SH,     SH,   PYTHON, SH,        SH,           SH_SHARED,
                                          SH, PYTHON, SH,   SH,     SH_SHARED, SH,           PYTHON,
                                          SH, SH,     MUCH, SH,     PYTHON,    PYTHON_SHARED};
        enum kind kind = mix[(c->number * 7 + c->sequence) % 20];
        if (n_sandboxes == 0)
                kind = kind == SH_SHARED ? SH : kind == PYTHON_SHARED ? PYTHON : kind;
        return kind;
}

static void client_send(struct client *c)
{
        char path[80] = "/v1/exec", text[400], body[600];
        c->kind = choose(c);
        c->sequence++;
        snprintf(c->nonce, sizeof c->nonce, "n%08lx-%u-%llu", (unsigned long)rand(), c->number,
                 (unsigned long long)c->sequence);
        if (c->kind == SH_SHARED || c->kind == PYTHON_SHARED)
                snprintf(path, sizeof path, "/v1/sandboxes/%s/exec", sandboxes[c->number % n_sandboxes]);
        bool sh = c->kind == SH || c->kind == SH_SHARED;
        if (sh)
                snprintf(text, sizeof text, "echo %s; echo %s >&2", c->nonce, c->nonce);
        else
                snprintf(text, sizeof text,
                         "import sys; print('%s\\\\n' * %d, end=''); print('%s', file=sys.stderr)", c->nonce,
                         c->kind == MUCH ? LINES : 1, c->nonce);
        int len = snprintf(body, sizeof body, "{\"runtime\": \"%s\", \"code\": \"%s\"}",
                           sh ? "sh" : "python3", text);
        c->request_len =
                (size_t)snprintf(c->request, sizeof c->request,
                                 "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n%s",
                                 path, port, len, body);
        c->answer_len = 0;
        c->answer[0] = 0;
        c->busy = true;
        n_busy++;
        c->sent_at = now();
        if (send(c->fd, c->request, c->request_len, MSG_NOSIGNAL) != (ssize_t)c->request_len)
                trouble(c, &lost, "cannot send");
}

/* Returns the text after "name": in the answer, or "". */
static const char *member(const char *body, const char *name)
{
        char quoted[40];
        snprintf(quoted, sizeof quoted, "\"%s\":", name);
        const char *at = strstr(body, quoted);
        if (!at)
                return "";
        at += strlen(quoted);
        while (*at == ' ')
                at++;
        return at;
}

/* Checks that the stream is the nonce's line, repeated so many times. */
static bool is_lines(const char *at, const char *nonce, unsigned lines)
{
        size_t len = strlen(nonce);
        if (*at++ != '"')
                return false;
        for (unsigned i = 0; i < lines; i++, at += len + 2)
                if (strncmp(at, nonce, len) != 0 || strncmp(at + len, "\\n", 2) != 0)
                        return false;
        return *at == '"';
}

static void check(struct client *c, int status, const char *body)
{
        if (status == 429)
                trouble(c, &refused, "429");
        else if (status >= 500)
                trouble(c, &failed, "5xx");
        else if (status != 200)
                trouble(c, &other, "status");
        else if (!is_lines(member(body, "stdout"), c->nonce, c->kind == MUCH ? LINES : 1) ||
                 !is_lines(member(body, "stderr"), c->nonce, 1) ||
                 strncmp(member(body, "exit_code"), "0,", 2) != 0)
                trouble(c, &wrong, "wrong output");
        else
                add_time(&times[c->kind], (now() - c->sent_at) * 1000);
}

/* True when the whole answer is there. */
static bool answered(struct client *c)
{
        c->answer[c->answer_len] = 0;
        char *body = strstr(c->answer, "\r\n\r\n");
        if (!body)
                return false;
        body += 4;
        const char *length = strcasestr(c->answer, "\r\nContent-Length:");
        size_t want = length && length < body ? strtoul(length + 17, NULL, 10) : 0;
        if (c->answer_len - (size_t)(body - c->answer) < want)
                return false;
        check(c, atoi(c->answer + 9), body);
        return true;
}

static void client_hear(struct client *c, bool more)
{
        ssize_t n = recv(c->fd, c->answer + c->answer_len, ANSWER_MAX - c->answer_len - 1, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        bool whole = false;
        if (n > 0) {
                c->answer_len += (size_t)n;
                whole = answered(c);
                if (!whole)
                        return;
        }
        if (c->busy)
                n_busy--;
        if (n <= 0 && c->busy)
                trouble(c, &lost, "closed in the middle");
        c->busy = false;
        if (n <= 0) {
                close(c->fd);
                client_connect(c);
        }
        if (more)
                client_send(c);
}

/* ---- the report ---- */

static int by_size(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

static double quantile(const struct times *t, double q)
{
        return t->n ? t->ms[(size_t)((double)(t->n - 1) * q)] : 0;
}

static void report(double seconds)
{
        size_t all = 0;
        printf("{");
        for (int i = 0; i < KINDS; i++) {
                struct times *t = &times[i];
                if (t->n)
                        qsort(t->ms, t->n, sizeof *t->ms, by_size);
                all += t->n;
                printf("\"%s\": {\"n\": %zu, \"p50\": %.2f, \"p90\": %.2f, \"p99\": %.2f, \"max\": %.2f}, ",
                       kind_names[i], t->n, quantile(t, .5), quantile(t, .9), quantile(t, .99),
                       quantile(t, 1));
        }
        printf("\"right\": %zu, \"per_second\": %.0f, \"wrong\": %lu, \"refused\": %lu, \"failed\": %lu, "
               "\"other\": %lu, \"lost\": %lu, \"stuck\": %lu, \"first\": \"",
               all, (double)all / seconds, wrong, refused, failed, other, lost, stuck);
        for (const char *p = first_trouble; *p; p++)
                putchar(*p == '"' || *p == '\\' || (unsigned char)*p < ' ' ? '\'' : *p);
        printf("\"}\n");
}

int main(int argc, char **argv)
{
        if (argc < 4) {
                fprintf(stderr, "usage: load PORT CLIENTS SECONDS [SANDBOX...]\n");
                return 2;
        }
        port = atoi(argv[1]);
        n_clients = (unsigned)atoi(argv[2]);
        double seconds = atof(argv[3]), begun = now(), until = begun + seconds;
        sandboxes = argv + 4;
        n_sandboxes = (unsigned)argc - 4;
        srand((unsigned)time(NULL));
        loop = epoll_create1(EPOLL_CLOEXEC);
        for (unsigned i = 0; i < n_clients && i < CLIENTS_MAX; i++) {
                clients[i].number = i;
                if (!(clients[i].answer = malloc(ANSWER_MAX)))
                        return 1;
                client_connect(&clients[i]);
                client_send(&clients[i]);
        }
        while (now() < until || (n_busy > 0 && now() < until + STUCK_S)) {
                struct epoll_event events[64];
                int n = epoll_wait(loop, events, 64, 100);
                for (int i = 0; i < n; i++)
                        client_hear(events[i].data.ptr, now() < until);
        }
        for (unsigned i = 0; i < n_clients; i++)
                if (clients[i].busy)
                        trouble(&clients[i], &stuck, "no answer");
        report(now() - begun);
        return wrong || refused || failed || other || lost || stuck;
}
