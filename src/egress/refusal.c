/* egress/refusal.c -- the answer to a connection that is refused or whose destination cannot be reached. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "egress/connection.h"
#include "sys/socket.h"

#define LINGER_US 1000000
#define LINGER_MAX (1u << 20) /* bytes */

void refuse_linger(struct connection *c)
{
        connection_close_upstream(c);
        if (!c->client.shut)
                sys_shutdown(c->client.source.fd, SHUT_WR);
        c->client.shut = true;
        egress_connection_enter(c, STAGE_LINGER, LINGER_US);
        work_queue(&c->sandbox->lane, &c->work);
}

bool refuse_linger_run(struct connection *c)
{
        long n = sys_recv(c->client.source.fd, scratch, SCRATCH_SIZE, MSG_TRUNC);

        if (n == -EAGAIN)
                return false;
        if (n > 0)
                c->lingered += (uint64_t)n;
        if (n > 0 && c->lingered < LINGER_MAX)
                return true;
        connection_close(c, false);
        return false;
}

/* Answers instead of the server. */
static void egress_refusal_answer(struct connection *c, const char *status, const char *line)
{
        char text[1400];
        int length = snprintf(text, sizeof(text),
                              "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                              "Connection: close\r\n\r\n%s",
                              status, strlen(line), line);

        sys_send(c->client.source.fd, text, (size_t)length, 0);
        refuse_linger(c);
}

/* Sends the fatal alert "access_denied".  Reads the received data first, because the alert would be lost
 * otherwise. */
static void alert(struct connection *c)
{
        static const uint8_t denied[] = {0x15, 3, 3, 0, 2, 2, 49};

        sys_recv(c->client.source.fd, scratch, SCRATCH_SIZE, MSG_TRUNC);
        sys_send(c->client.source.fd, denied, sizeof(denied), 0);
        connection_close(c, false);
}

void refuse(struct connection *c, bool limit, const struct destination *to, const char *why)
{
        char target[288], line[512], status[512] = "403 Forbidden";

        connection_text(to, target);
        egress_sandbox_refused(c->sandbox, limit, target, why);
        switch (c->speech) {
        case SPEECH_HTTP:
                snprintf(line, sizeof(line), "cella: %s refused: %s\n", target, why);
                /* Programs show only the status line of a failed CONNECT. */
                if (c->is_connect)
                        snprintf(status, sizeof(status), "403 Forbidden: %s %s", target, why);
                egress_refusal_answer(c, status, line);
                break;
        case SPEECH_TLS:
                alert(c);
                break;
        default:
                connection_close(c, true);
        }
}

void refuse_unreachable(struct connection *c, const char *why)
{
        char target[288], line[512];

        if (c->speech != SPEECH_HTTP) {
                connection_close(c, true);
                return;
        }
        connection_text(&c->to, target);
        snprintf(line, sizeof(line), "cella: cannot connect to %s: %s\n", target, why);
        egress_refusal_answer(c, "502 Bad Gateway", line);
}
