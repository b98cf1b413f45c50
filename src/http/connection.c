/* http/connection.c -- client connections: their peers, time limits and ends.
 *
 * Each phase of a connection has one time limit for all connections, so a list in the order of entering a
 * phase is also in the order of expiry: the sweep only examines its head.  MHD closes connections without
 * any progress; the phases limit slow ones (a byte per second).
 *
 * MHD has no function to close a connection: shutdown() makes it detect the end. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/internal.h"

#define EVENTS_MAX 64

static void list_remove(struct connection *connection)
{
        struct connection_list *list = &connection->server->phases[connection->phase];

        if (connection->prev != NULL)
                connection->prev->next = connection->next;
        else
                list->first = connection->next;
        if (connection->next != NULL)
                connection->next->prev = connection->prev;
        else
                list->last = connection->prev;
        connection->prev = connection->next = NULL;
}

static void list_add(struct connection *connection, enum phase phase)
{
        struct connection_list *list = &connection->server->phases[phase];

        connection->phase = phase;
        connection->since = uv_now(connection->server->options.loop);
        connection->prev = list->last;
        if (list->last != NULL)
                list->last->next = connection;
        else
                list->first = connection;
        list->last = connection;
}

/* MHD uses edge-triggered events and misses the end of a connection that arrives together with its last
 * bytes: it would keep the connection until the timeout.  This causes another event and discards no data.
 * Our own epoll gets this event, too, which causes a second nudge in the next iteration, when MHD has read
 * those bytes.  Further nudges come only from the sweep. */
static void nudge(struct connection *connection)
{
        if (connection->request == NULL || connection->request->held == HELD_NOT)
                shutdown(connection->fd, SHUT_RD);
}

void connection_enter(struct connection *connection, enum phase phase)
{
        list_remove(connection);
        list_add(connection, phase);
        if (phase == PHASE_IDLE && connection->server->quiescing)
                shutdown(connection->fd, SHUT_RDWR);
        else if (phase == PHASE_IDLE && connection->hup)
                nudge(connection);
}

/* When a stream ends with its connection, MHD 0.9.75 marks the connection as closed but does not process it
 * again until it times out.  Connections with their own timeout are processed in each run. */
void connection_reap(struct connection *connection)
{
        MHD_set_connection_option(connection->mhd, MHD_CONNECTION_OPTION_TIMEOUT,
                                  connection->server->options.idle_timeout_s + 1);
        connection->server->due = true;
}

struct connection *connection_of(struct MHD_Connection *mhd)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

        return info != NULL ? info->socket_context : NULL;
}

/* ---- peer ---- */

static void describe_tcp(struct http_peer *peer, int fd)
{
        struct sockaddr_storage storage = {0};
        socklen_t len = sizeof(storage);
        char host[48] = "";

        getpeername(fd, (struct sockaddr *)&storage, &len); /* fails if the client is gone */
        if (storage.ss_family == AF_INET6) {
                const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&storage;

                uv_ip6_name(in6, host, sizeof(host));
                if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
                        snprintf(peer->address, sizeof(peer->address), "%s:%u", host + strlen("::ffff:"),
                                 ntohs(in6->sin6_port));
                else
                        snprintf(peer->address, sizeof(peer->address), "[%s]:%u", host,
                                 ntohs(in6->sin6_port));
        } else if (storage.ss_family == AF_INET) {
                const struct sockaddr_in *in = (const struct sockaddr_in *)&storage;

                uv_ip4_name(in, host, sizeof(host));
                snprintf(peer->address, sizeof(peer->address), "%s:%u", host, ntohs(in->sin_port));
        } else {
                snprintf(peer->address, sizeof(peer->address), "unknown");
        }
}

static int http_connection_describe(struct http_peer *peer, int fd, bool local)
{
        struct ucred cred;
        socklen_t len = sizeof(cred);

        if (!local) {
                peer->uid = (uid_t)-1;
                describe_tcp(peer, fd);
                return 0;
        }
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
                return -errno;
        peer->local = true;
        peer->uid = cred.uid;
        snprintf(peer->address, sizeof(peer->address), "unix:%u", cred.uid);
        return 0;
}

/* ---- opening and closing ---- */

static void connection_start(struct http_server *server, struct MHD_Connection *mhd, void **context)
{
        const union MHD_ConnectionInfo *info =
                MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET};
        struct connection *connection = calloc(1, sizeof(*connection));

        if (connection == NULL) {
                shutdown(info->connect_fd, SHUT_RDWR);
                return;
        }
        connection->server = server;
        connection->listener = server->accepting;
        connection->mhd = mhd;
        connection->fd = info->connect_fd;
        connection->tls = server->accepting_tls;
        event.data.ptr = connection;
        if (http_connection_describe(&connection->peer, connection->fd, server->accepting->local) < 0 ||
            epoll_ctl(server->gone_fd, EPOLL_CTL_ADD, connection->fd, &event) < 0) {
                shutdown(connection->fd, SHUT_RDWR);
                free(connection);
                return;
        }
        connection->peer.plain = server->accepting->tls && !connection->tls;
        list_add(connection, PHASE_IDLE);
        connection->listener->connections++;
        server->connections++;
        *context = connection;
}

static void connection_end(struct http_server *server, void **context)
{
        struct connection *connection = *context;

        if (connection == NULL)
                return;
        *context = NULL;
        epoll_ctl(server->gone_fd, EPOLL_CTL_DEL, connection->fd, NULL);
        list_remove(connection);
        connection->listener->connections--;
        server->connections--;
        server->n_hups -= connection->hup;
        listener_continue(connection->listener);
        free(connection);
}

void connection_notify(void *cls, struct MHD_Connection *mhd, void **context,
                       enum MHD_ConnectionNotificationCode code)
{
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
                connection_start(cls, mhd, context);
        else
                connection_end(cls, context);
}

/* Edge-triggered and only for hang-ups: an open connection costs nothing here. */
void connections_check_gone(struct http_server *server)
{
        struct epoll_event events[EVENTS_MAX];
        int n;

        do {
                n = epoll_wait(server->gone_fd, events, EVENTS_MAX, 0);
                for (int i = 0; i < n; i++) {
                        struct connection *connection = events[i].data.ptr;

                        server->n_hups += !connection->hup;
                        connection->hup = true;
                        if (connection->request != NULL)
                                request_client_gone(connection->request);
                        if (connection->nudges < 2) {
                                connection->nudges++;
                                nudge(connection);
                        }
                }
        } while (n == EVENTS_MAX);
}

/* ---- time limits ---- */

static void end_overdue(struct http_server *server, enum phase phase, uint64_t limit_ms)
{
        uint64_t now = uv_now(server->options.loop);
        struct connection *connection;

        while ((connection = server->phases[phase].first) != NULL && now - connection->since >= limit_ms) {
                shutdown(connection->fd, SHUT_RDWR);
                list_remove(connection); /* moves it to the end, to try again if shutdown() has no effect */
                list_add(connection, phase);
        }
}

void connections_sweep(struct http_server *server)
{
        end_overdue(server, PHASE_IDLE, (uint64_t)server->options.idle_timeout_s * 1000);
        end_overdue(server, PHASE_HEADERS, server->limits.headers_ms);
        end_overdue(server, PHASE_BODY, server->limits.body_ms);
        for (unsigned phase = 0; phase < PHASES && server->n_hups > 0; phase++)
                for (struct connection *c = server->phases[phase].first; c != NULL; c = c->next)
                        if (c->hup)
                                nudge(c);
}

void connections_close_idle(struct http_server *server)
{
        for (struct connection *c = server->phases[PHASE_IDLE].first; c != NULL; c = c->next)
                shutdown(c->fd, SHUT_RDWR);
}

static struct connection *oldest_idle(const struct listener *listener)
{
        struct connection *connection = listener->server->phases[PHASE_IDLE].first;

        while (connection != NULL && connection->listener != listener)
                connection = connection->next;
        if (connection == NULL ||
            uv_now(listener->server->options.loop) - connection->since < listener->server->limits.fresh_ms)
                return NULL; /* its request may be arriving */
        return connection;
}

bool connection_can_give_way(const struct listener *listener)
{
        return oldest_idle(listener) != NULL;
}

void connection_make_room(struct listener *listener)
{
        struct connection *connection = oldest_idle(listener);

        if (connection == NULL)
                return;
        shutdown(connection->fd, SHUT_RDWR);
        list_remove(connection); /* so that the next call selects another one */
        list_add(connection, PHASE_IDLE);
        listener->server->due = true;
}

void connections_end_all(struct http_server *server)
{
        for (unsigned phase = 0; phase < PHASES; phase++) {
                for (struct connection *c = server->phases[phase].first; c != NULL; c = c->next) {
                        shutdown(c->fd, SHUT_RDWR);
                        if (c->request != NULL)
                                request_abandon(c->request);
                }
        }
}
