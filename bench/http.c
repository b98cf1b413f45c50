/* bench/http.c -- what the HTTP layer costs: one client on one connection, a request after the other,
 * beside the same bytes through a bare socket.
 *
 *     bench/http [COUNT]
 *
 * The server is this process, the client its child. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/http.h"

#define IDLE_CONNECTIONS 10000

static uv_loop_t loop;
static uv_idle_t idle;
static struct http_request *waiting;

static const int now = 0, later = 1;
static const struct http_route routes[] = {
        {HTTP_GET, "/now", 0, false, &now},
        {HTTP_POST, "/now", 10000, false, &now},
        {HTTP_GET, "/later", 0, false, &later},
        {HTTP_POST, "/later", 10000, false, &later},
};

static const char body[] =
        "{\"id\":\"0123456789abcdef\",\"status\":\"completed\",\"exit_code\":0,"
        "\"stdout\":\"hello, world\\n\",\"stderr\":\"\",\"duration_ms\":1.25,\"truncated\":false,"
        "\"usage\":{\"cpu_ms\":1,\"memory_bytes\":1000000}}";

static void answer_now(struct http_request *request)
{
        http_reply(request, 200, "application/json", body, sizeof(body) - 1);
}

static void on_idle(uv_idle_t *handle)
{
        uv_idle_stop(handle);
        answer_now(waiting);
}

static void on_gone(struct http_request *request, void *context)
{
        (void)request, (void)context;
}

static void on_request(struct http_request *request, void *userdata)
{
        (void)userdata;
        if (http_about(request) == &now) {
                answer_now(request);
                return;
        }
        waiting = request;
        http_on_gone(request, on_gone, NULL);
        uv_idle_start(&idle, on_idle);
}

static int listen_on_loopback(struct sockaddr_in *in)
{
        socklen_t len = sizeof(*in);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        *in = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        if (bind(fd, (struct sockaddr *)in, sizeof(*in)) < 0 || listen(fd, 4096) < 0)
                exit(1);
        getsockname(fd, (struct sockaddr *)in, &len);
        return fd;
}

static int dial(const struct sockaddr_in *in)
{
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

        if (connect(fd, (const struct sockaddr *)in, sizeof(*in)) < 0) {
                perror("connect");
                exit(1);
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        return fd;
}

static int compare(const void *a, const void *b)
{
        int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

        return (x > y) - (x < y);
}

static void measure(int fd, const char *name, const char *request, unsigned count)
{
        int64_t *took = calloc(count, sizeof(*took)), all = clock_us(), median, slow;
        size_t len = strlen(request);
        char answer[4096];

        for (unsigned i = 0; i < count; i++) {
                struct timespec before, after;

                clock_gettime(CLOCK_MONOTONIC, &before);
                if (write(fd, request, len) != (ssize_t)len || read(fd, answer, sizeof(answer)) <= 0)
                        exit(1);
                clock_gettime(CLOCK_MONOTONIC, &after);
                took[i] = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
        }
        all = clock_us() - all;
        qsort(took, count, sizeof(*took), compare);
        median = took[count / 2];
        slow = took[count - 1 - count / 100];
        printf("%-24s %8.0f/s   p50 %6.1f us   p99 %6.1f us\n", name, count * 1e6 / (double)all,
               (double)median / 1e3, (double)slow / 1e3);
        free(took);
}

static void client(const struct sockaddr_in *in, const struct sockaddr_in *bare, unsigned count)
{
        static const char get[] =
                "GET /%s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";
        char text[1000], data[201];
        int fd = dial(bare);

        measure(fd, "bare socket", "GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n", count);
        close(fd);
        fd = dial(in);
        snprintf(text, sizeof(text), get, "now");
        measure(fd, "GET at once", text, count);
        snprintf(text, sizeof(text), get, "later");
        measure(fd, "GET deferred", text, count);
        memset(data, 'x', 200);
        data[200] = '\0';
        snprintf(text, sizeof(text),
                 "POST /now HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\nContent-Length: 200\r\n\r\n%s",
                 data);
        measure(fd, "POST at once", text, count);
        snprintf(text, sizeof(text),
                 "POST /later HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\nContent-Length: 200\r\n\r\n%s",
                 data);
        measure(fd, "POST deferred", text, count);
        close(fd);
}

/* The least that a server could do: wait, read, write. */
static void serve_bare(int listener)
{
        char buffer[4096];
        int fd = accept(listener, NULL, NULL);

        while (read(fd, buffer, sizeof(buffer)) > 0)
                if (write(fd, buffer, 350) < 0)
                        break;
        close(fd);
}

static long resident_kib(pid_t pid)
{
        char path[64], line[200];
        long kib = 0;
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/status", pid);
        f = fopen(path, "re");
        while (f != NULL && fgets(line, sizeof(line), f) != NULL)
                if (sscanf(line, "VmRSS: %ld", &kib) == 1)
                        break;
        if (f != NULL)
                fclose(f);
        return kib;
}

static void client_idle(const struct sockaddr_in *in, const struct sockaddr_in *bare, unsigned count)
{
        static const char get[] = "GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n";
        static int fds[IDLE_CONNECTIONS];
        long before = resident_kib(getppid());
        char answer[1000];
        int fd;

        (void)bare, (void)count;
        for (int i = 0; i < IDLE_CONNECTIONS; i++)
                fds[i] = dial(in);
        usleep(300000);
        printf("%d idle connections: %.1f MB", IDLE_CONNECTIONS,
               (double)(resident_kib(getppid()) - before) / 1024);
        for (int i = 0; i < IDLE_CONNECTIONS; i++)
                if (write(fds[i], get, sizeof(get) - 1) < 0 || read(fds[i], answer, sizeof(answer)) < 0)
                        exit(1);
        printf(", after a request on each: %.1f MB\n", (double)(resident_kib(getppid()) - before) / 1024);
        fd = dial(in);
        measure(fd, "GET beside them", get, 20000);
}

static void on_end(uv_poll_t *poll, int status, int events)
{
        (void)status, (void)events;
        uv_poll_stop(poll);
        uv_stop(poll->loop);
}

/* Serves until the child has ended, which closes its end of the pipe. */
static void serve_child(void (*run)(const struct sockaddr_in *, const struct sockaddr_in *, unsigned),
                        const struct sockaddr_in *in, const struct sockaddr_in *bare, unsigned count)
{
        uv_poll_t poll;
        int pipe_fds[2];

        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                exit(1);
        if (fork() == 0) {
                run(in, bare, count);
                _exit(0);
        }
        close(pipe_fds[1]);
        uv_poll_init(&loop, &poll, pipe_fds[0]);
        uv_poll_start(&poll, UV_READABLE, on_end);
        uv_run(&loop, UV_RUN_DEFAULT);
        uv_close((uv_handle_t *)&poll, NULL);
        uv_run(&loop, UV_RUN_NOWAIT);
        close(pipe_fds[0]);
}

int main(int argc, char **argv)
{
        unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 50000;
        struct sockaddr_in in, bare;
        int listener = listen_on_loopback(&in), bare_listener = listen_on_loopback(&bare);
        struct http_options options = {
                .loop = &loop,
                .listeners = &listener,
                .n_listeners = 1,
                .routes = routes,
                .n_routes = sizeof(routes) / sizeof(*routes),
                .connections_max = IDLE_CONNECTIONS + 100,
                .idle_timeout_s = 60,
                .on_request = on_request,
        };
        struct http_server *server;
        struct cella_err err;
        struct rlimit files = {.rlim_cur = IDLE_CONNECTIONS + 200, .rlim_max = IDLE_CONNECTIONS + 200};

        setvbuf(stdout, NULL, _IOLBF, 0);
        setrlimit(RLIMIT_NOFILE, &files);
        uv_loop_init(&loop);
        uv_idle_init(&loop, &idle);
        if (fork() == 0) {
                serve_bare(bare_listener);
                _exit(0);
        }
        if (http_server_new(&options, &server, &err) < 0)
                return 1;
        serve_child(client, &in, &bare, count);
        serve_child(client_idle, &in, &bare, count);
        return 0;
}
