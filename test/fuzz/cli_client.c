/* test/fuzz/cli_client.c -- what the client reads of HTTP: the head of an answer, its length, its chunks. */
#include <sys/socket.h>
#include <sys/un.h>

#include "cli/client/client.h"
#include "fuzz.h"

#define BODY_MAX 65536

static char path[64];

static void clean(void)
{
        unlink(path);
}

/* A daemon that sends the fuzzer's bytes. */
static int listener(void)
{
        static int fd = -1;
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        if (fd >= 0)
                return fd;
        snprintf(path, sizeof path, "/tmp/cella-fuzz-%d.sock", (int)getpid());
        strncpy(address.sun_path, path, sizeof address.sun_path - 1);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 8) < 0)
                abort();
        atexit(clean);
        return fd;
}

static void read_answer(struct client *client)
{
        struct head answer;
        struct cella_err err = {0};
        char *body = NULL;
        size_t len = 0;
        if (client_answer(client, &answer, &err) < 0)
                return;
        if (answer.status < 100 || answer.status > 399 || memchr(answer.type, 0, sizeof answer.type) == NULL)
                abort();
        if (client_read_all(client, BODY_MAX, &body, &len, &err) == 0 && (len > BODY_MAX || body[len]))
                abort();
        free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        AUTO(client_free) struct client *client = NULL;
        struct cella_err err = {0};
        struct url url;
        int server = listener();
        if (size > 100000) /* more than the socket takes at once */
                return 0;
        url_init(&url, "/v1/health");
        const struct client_request request = {.method = "GET", .url = &url};
        if (client_new(path, &client, &err) < 0 || client_send(client, &request, &err) < 0)
                abort();
        int peer = accept(server, NULL, NULL);
        if (peer < 0 || (size > 0 && send(peer, data, size, MSG_NOSIGNAL) != (ssize_t)size))
                abort();
        shutdown(peer, SHUT_WR); /* the request is sent while the answer is read */
        read_answer(client);
        close(peer);
        return 0;
}
