/* cli/bench/bench_client.c -- a client with minimal cost: it sends prepared bytes in one write, reads usually
 * once, and parses only the parts of the answer that it checks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/bench/bench.h"

#define PATIENCE_S 30

int bench_connect(const char *path)
{
        const struct timeval patience = {.tv_sec = PATIENCE_S};
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
        if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
            connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
                return fd;
        int r = -errno;
        close(fd);
        return r;
}

char *bench_request(const char *method, const char *path, const char *body)
{
        char *request = NULL;
        int n = body ? asprintf(&request,
                                "%s %s HTTP/1.1\r\nHost: cella\r\nContent-Type: application/json\r\n"
                                "Content-Length: %zu\r\n\r\n%s",
                                method, path, strlen(body), body)
                     : asprintf(&request, "%s %s HTTP/1.1\r\nHost: cella\r\n\r\n", method, path);
        return n < 0 ? NULL : request;
}

/* Returns whether an answer is complete; then *ret_head is the offset of its body. */
static bool bench_client_whole(const struct bench_answer *answer, size_t got, size_t *ret_head,
                               size_t *ret_len)
{
        const char *end = memmem(answer->text, got, "\r\n\r\n", 4);
        const char *length = end ? strcasestr(answer->text, "\r\nContent-Length:") : NULL;
        if (!length || length > end)
                return false;
        *ret_head = (size_t)(end + 4 - answer->text);
        *ret_len = strtoul(length + 17, NULL, 10);
        return got >= *ret_head + *ret_len;
}

int bench_receive(int fd, struct bench_answer *answer, size_t *got)
{
        size_t head;
        ssize_t more = read(fd, answer->text + *got, sizeof answer->text - 1 - *got);
        if (more <= 0)
                return more == 0 ? -EPIPE : errno == EAGAIN ? -ETIMEDOUT : -errno;
        *got += (size_t)more;
        answer->text[*got] = '\0';
        if (!bench_client_whole(answer, *got, &head, &answer->len))
                return *got < sizeof answer->text - 1 ? -EAGAIN : -EFBIG;
        answer->body = answer->text + head;
        return atoi(answer->text + strcspn(answer->text, " "));
}

int bench_ask(int fd, const char *request, size_t len, struct bench_answer *answer)
{
        size_t got = 0;
        int r;
        if (fd < 0 || write(fd, request, len) != (ssize_t)len)
                return -EIO;
        while ((r = bench_receive(fd, answer, &got)) == -EAGAIN)
                continue;
        return r;
}

/* Returns whether the member has this value, with any white space. */
static bool bench_client_has(const char *body, const char *name, const char *value)
{
        const char *at = strstr(body, name);
        if (!at)
                return false;
        at += strlen(name);
        at += strspn(at, " :");
        size_t len = strlen(value);
        return !strncmp(at, value, len) && strchr(",} ", at[len]);
}

int bench_judge(int status, const struct bench_answer *answer, const char *line)
{
        char expected[40];
        snprintf(expected, sizeof expected, "\"%s\\n\"", line);
        return status == 200 && bench_client_has(answer->body, "\"stdout\"", expected) &&
                               bench_client_has(answer->body, "\"exit_code\"", "0")
                       ? 0
                       : -EBADMSG;
}

int bench_execute(int fd, const char *request, size_t len, const char *line, struct bench_answer *answer)
{
        int status = bench_ask(fd, request, len, answer);
        return status < 0 ? status : bench_judge(status, answer, line);
}
