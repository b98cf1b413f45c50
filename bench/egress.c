/* bench/egress.c -- both ends of what bench/egress.py measures: a small web server, and a client that does
 * what its standard input says, bare or in a sandbox.
 *
 *     egress serve ADDRESS PORT          GET /N: N bytes, and the end of the connection
 *     egress client ADDRESS PORT HOST    "get N": connects and GETs 64 bytes so often, prints the µs of each;
 *                                        "load N": GETs N bytes once, prints the seconds;
 *                                        "rush S": GETs without end for S seconds, prints the bytes
 *
 * Static, so that it runs in any sandbox; both are one thread that does nothing else. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FDS_MAX 4096
#define TURN (256 << 10) /* bytes for one client before it is another's turn */

static char buffer[1 << 20];

static void die(const char *what)
{
        perror(what);
        exit(1);
}

static int64_t now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static struct sockaddr_in address_of(const char *address, const char *port)
{
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};

        if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
                die(address);
        return a;
}

/* ---- the server ---- */

static struct {
        uint64_t left; /* bytes to send; of one that has not asked yet, 0 */
        char head[512];
        size_t n;
} peers[FDS_MAX];

static void end(int fd)
{
        peers[fd].left = peers[fd].n = 0;
        close(fd);
}

/* The request, when it is whole.  The first bytes of the answer go out with its head. */
static void read_request(int fd)
{
        char *head = peers[fd].head;
        ssize_t n = recv(fd, head + peers[fd].n, sizeof(peers[fd].head) - 1 - peers[fd].n, 0);
        uint64_t bytes, first;
        int length;

        if (n <= 0) {
                if (n == 0 || errno != EAGAIN)
                        end(fd);
                return;
        }
        peers[fd].n += (size_t)n;
        head[peers[fd].n] = '\0';
        if (strstr(head, "\r\n\r\n") == NULL)
                return;
        bytes = strtoull(strncmp(head, "GET /", 5) == 0 ? head + 5 : "0", NULL, 10);
        length = sprintf(buffer, "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\nConnection: close\r\n\r\n",
                         (unsigned long long)bytes);
        first = bytes < 4096 ? bytes : 0;
        n = send(fd, buffer, (size_t)length + first, MSG_NOSIGNAL);
        peers[fd].left = bytes - first;
        if (n < 0 || peers[fd].left == 0)
                end(fd);
}

static void serve_one(int fd)
{
        size_t turn = TURN;

        if (peers[fd].left == 0)
                read_request(fd);
        while (peers[fd].left > 0 && turn > 0) {
                size_t most = peers[fd].left < turn ? (size_t)peers[fd].left : turn;
                ssize_t n = send(fd, buffer, most, MSG_NOSIGNAL);

                if (n < 0) {
                        if (errno != EAGAIN)
                                end(fd);
                        return;
                }
                peers[fd].left -= (uint64_t)n;
                turn -= (size_t)n;
                if (peers[fd].left == 0)
                        end(fd);
        }
}

static _Noreturn void serve(const char *address, const char *port)
{
        struct sockaddr_in at = address_of(address, port);
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1, poll = epoll_create1(0);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[64];

        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(listener, 4096) < 0)
                die("listen");
        epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
        puts("ready");
        fflush(stdout);
        for (;;) {
                int n = epoll_wait(poll, events, 64, -1);

                for (int i = 0; i < n; i++) {
                        int fd = events[i].data.fd;

                        if (fd != listener) {
                                serve_one(fd);
                                if (events[i].events & EPOLLIN && peers[fd].left > 0) {
                                        event = (struct epoll_event){.events = EPOLLOUT, .data.fd = fd};
                                        epoll_ctl(poll, EPOLL_CTL_MOD, fd, &event);
                                }
                                continue;
                        }
                        while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                                if (fd >= FDS_MAX) {
                                        close(fd);
                                        continue;
                                }
                                event = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
                                epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
                        }
                }
        }
}

/* ---- the client ---- */

static int request(const struct sockaddr_in *to, const char *host, uint64_t bytes)
{
        int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, length;
        char head[512];

        if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
                die("connect");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        length = snprintf(head, sizeof(head), "GET /%llu HTTP/1.1\r\nHost: %s\r\n\r\n",
                          (unsigned long long)bytes, host);
        if (send(fd, head, (size_t)length, MSG_NOSIGNAL) != length)
                die("send");
        return fd;
}

/* Until the end, or until this time; how many bytes came, their head included. */
static uint64_t drain(int fd, int64_t until)
{
        uint64_t got = 0;
        ssize_t n;

        while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
                if (got == 0 && (n < 12 || memcmp(buffer + 8, " 200", 4) != 0)) {
                        fprintf(stderr, "refused: %.*s\n", (int)n, buffer);
                        exit(1);
                }
                got += (uint64_t)n;
                if (until > 0 && now_ns() > until)
                        break;
        }
        if (n < 0)
                die("recv");
        close(fd);
        return got;
}

static void obey(const struct sockaddr_in *to, const char *host, const char *word, uint64_t number)
{
        int64_t begun = now_ns();
        uint64_t got;

        if (strcmp(word, "get") == 0) {
                for (uint64_t i = 0; i < number; i++) {
                        begun = now_ns();
                        got = drain(request(to, host, 64), 0);
                        printf("%.1f ", (double)(now_ns() - begun) / 1e3);
                        if (got < 64)
                                die("a short answer");
                }
                puts("");
        } else if (strcmp(word, "load") == 0) {
                got = drain(request(to, host, number), 0);
                if (got < number)
                        die("a short answer");
                printf("%.4f\n", (double)(now_ns() - begun) / 1e9);
        } else {
                got = drain(request(to, host, UINT64_C(1) << 50), begun + (int64_t)number * 1000000000);
                printf("%llu\n", (unsigned long long)got);
        }
        fflush(stdout);
}

int main(int argc, char **argv)
{
        char word[16];
        unsigned long long number;
        struct sockaddr_in to;

        if (argc == 4 && strcmp(argv[1], "serve") == 0)
                serve(argv[2], argv[3]);
        if (argc != 5 || strcmp(argv[1], "client") != 0) {
                fputs("usage: egress serve ADDRESS PORT | client ADDRESS PORT HOST\n", stderr);
                return 2;
        }
        to = address_of(argv[2], argv[3]);
        while (scanf("%15s %llu", word, &number) == 2)
                obey(&to, argv[4], word, number);
        return 0;
}
