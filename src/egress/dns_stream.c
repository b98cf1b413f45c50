/* egress/dns_stream.c -- DNS over TCP: the queries of a connection to port 53. */
#include <errno.h>
#include <string.h>

#include "egress/connection.h"
#include "egress/dns.h"
#include "sys/socket.h"

static void send_reply(struct dns_client *client, const uint8_t *answer, size_t length)
{
        struct connection *c = list_entry(client, struct connection, dns);
        uint8_t data[2 + DNS_MESSAGE_MAX];

        data[0] = (uint8_t)(length >> 8);
        data[1] = (uint8_t)length;
        memcpy(data + 2, answer, length);
        if (sys_send(c->client.source.fd, data, length + 2, 0) != (long)length + 2)
                sys_shutdown(c->client.source.fd,
                             SHUT_RDWR); /* the client does not read: handled like any other end */
        c->touched = loop_now();
}

static void query_done(struct dns_client *client)
{
        struct connection *c = list_entry(client, struct connection, dns);

        work_queue(&c->sandbox->lane, &c->work);
}

void dns_stream_init(struct connection *c)
{
        c->dns = (struct dns_client){.reply = send_reply, .done = query_done};
}

bool dns_stream_run(struct connection *c)
{
        uint8_t message[DNS_MESSAGE_MAX];
        size_t length;
        long n;

        if (c->dns.question != NULL)
                return false; /* one query at a time */
        n = connection_peek(c);
        if (n == -EAGAIN)
                return false;
        length = n < 2 ? 0 : (size_t)scratch[0] << 8 | scratch[1];
        if (n <= 0 || length > DNS_MESSAGE_MAX || (n >= 2 && length < 12)) {
                connection_close(c, n != 0);
                return false;
        }
        if (n < 2 || (size_t)n < 2 + length) {
                if (c->client.hung_up)
                        connection_close(c, true);
                return false;
        }
        memcpy(message, scratch + 2, length);
        if (connection_discard(c, 2 + length) < 0) {
                connection_close(c, true);
                return false;
        }
        dns_stub_ask(c->sandbox, &c->dns, message, length);
        return c->dns.question == NULL;
}
