/* http/server.c -- sockets, MHD and the event loop.
 *
 * There is one MHD daemon for all listeners without TLS, and one for those with it, in its "external epoll"
 * mode: the loop polls its epoll
 * descriptor.  We accept connections ourselves and pass them to MHD.  So we know the listener of each, can
 * close an idle connection for a new one when there are too many, and MHD never copies the address of a
 * Unix peer (0.9.75 copies as many bytes as the peer's name has from a buffer of 28).
 *
 * MHD runs in the prepare step, just before the loop would wait, whenever it has something to do ("due"):
 * the answers of all callbacks in one iteration are sent in one run, and MHD is never entered from a
 * handler. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "http/internal.h"
#include "http/tls.h"

#define ACCEPTS_A_TURN 32
#define RUNS_A_TURN 16
#define SLACK 16 /* connections above the maximum while idle ones are being closed */

static const struct http_limits default_limits = {
        .sweep_ms = 1000,
        .fresh_ms = 100,
        .headers_ms = 20000,
        .body_ms = 120000,
        .ping_ms = 30000,
        .silence_ms = 60000,
        .close_ms = 5000,
};

/* ---- MHD in the loop ---- */

/* Returns whether the daemon has more to do at once. */
static bool run_once(struct MHD_Daemon *daemon)
{
        MHD_UNSIGNED_LONG_LONG timeout;

        if (daemon == NULL)
                return false;
        MHD_run(daemon);
        return MHD_get_timeout(daemon, &timeout) != MHD_NO && timeout == 0;
}

static void run_daemon(struct http_server *server)
{
        for (unsigned i = 0; i < RUNS_A_TURN; i++) {
                server->due = false;
                bool more = run_once(server->daemon);
                more |= run_once(server->tls_daemon);
                if (!server->due && !more)
                        return;
        }
        server->due = true; /* there is more; other handles are served first */
}

static void on_idle(uv_idle_t *idle)
{
        (void)idle; /* its existence keeps the loop from waiting */
}

static void on_prepare(uv_prepare_t *prepare)
{
        struct http_server *server = prepare->data;

        if (!server->due)
                return;
        if (server->recheck) {
                server->recheck = false;
                for (struct connection *c = server->phases[PHASE_BUSY].first; c != NULL; c = c->next)
                        if (c->hup && c->request != NULL)
                                request_client_gone(c->request);
        }
        run_daemon(server);
        if (server->due)
                uv_idle_start(&server->idle, on_idle);
        else
                uv_idle_stop(&server->idle);
}

static void on_daemon_event(uv_poll_t *poll, int status, int events)
{
        struct http_server *server = poll->data;

        (void)status, (void)events;
        server->due = true;
}

static void on_gone_event(uv_poll_t *poll, int status, int events)
{
        (void)status, (void)events;
        connections_check_gone(poll->data);
}

/* ---- accepting ---- */

static void on_listener(uv_poll_t *poll, int status, int events);

static void listener_stop(struct listener *listener)
{
        listener->stopped = true;
        uv_poll_stop(&listener->poll);
}

void listener_continue(struct listener *listener)
{
        if (!listener->stopped || listener->fd < 0)
                return;
        listener->stopped = false;
        uv_poll_start(&listener->poll, UV_READABLE, on_listener);
}

static bool http_server_has_room(struct listener *listener)
{
        unsigned max = listener->server->options.connections_max;

        return listener->connections < max ||
               (listener->connections < max + SLACK && connection_can_give_way(listener));
}

static void add_connection(struct listener *listener, int fd, const struct sockaddr *address, socklen_t len)
{
        struct http_server *server = listener->server;

        /* The kernel reports a connection to a TLS listener when its first bytes are there, or late: see
         * listener_init().  A client that speaks HTTP gets an answer that says so. */
        char first = HTTP_TLS_HELLO;
        if (listener->tls && recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
                first = HTTP_TLS_HELLO; /* closed already */
        server->accepting = listener;
        server->accepting_tls = listener->tls && first == HTTP_TLS_HELLO;
        /* closes fd on failure */
        MHD_add_connection(server->accepting_tls ? server->tls_daemon : server->daemon, fd, address, len);
        server->accepting = NULL;
        server->due = true; /* the first request has often arrived already */
        if (!uv_is_active((uv_handle_t *)&server->sweep))
                uv_timer_start(&server->sweep, server_sweep, server->limits.sweep_ms,
                               server->limits.sweep_ms);
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
        struct listener *listener = poll->data;

        (void)status, (void)events;
        for (unsigned i = 0; i < ACCEPTS_A_TURN; i++) {
                struct sockaddr_storage address = {.ss_family = AF_UNIX};
                socklen_t len = sizeof(address);
                int fd;

                if (!http_server_has_room(listener)) {
                        listener_stop(listener); /* the backlog waits until a connection ends */
                        return;
                }
                fd = accept4(listener->fd, listener->local ? NULL : (struct sockaddr *)&address,
                             listener->local ? NULL : &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
                        continue;
                if (fd < 0 && errno == EAGAIN)
                        return;
                if (fd < 0) { /* no descriptor or memory: the sweep tries again */
                        connection_make_room(listener);
                        listener_stop(listener);
                        return;
                }
                if (listener->connections >= listener->server->options.connections_max)
                        connection_make_room(listener);
                add_connection(listener, fd, (struct sockaddr *)&address,
                               listener->local ? sizeof(sa_family_t) : len);
        }
}

/* ---- time ---- */

void server_sweep(uv_timer_t *timer)
{
        struct http_server *server = timer->data;

        connections_sweep(server);
        websockets_sweep(server);
        linger_sweep(server);
        for (size_t i = 0; i < server->options.n_listeners; i++)
                listener_continue(&server->listeners[i]);
        server->due = true; /* for MHD's own timeouts */
        if (server->connections == 0 && server->lingering == NULL)
                uv_timer_stop(timer);
}

/* ---- start ---- */

/* Leaves paths unchanged: target.c decodes them after splitting. */
static size_t keep_escapes(void *cls, struct MHD_Connection *mhd, char *text)
{
        (void)cls, (void)mhd;
        return strlen(text);
}

static struct MHD_Daemon *start_daemon(struct http_server *server, bool tls)
{
        const struct http_options *options = &server->options;
        unsigned connections = (options->connections_max + SLACK) * (unsigned)options->n_listeners;

        return MHD_start_daemon((tls ? MHD_USE_TLS : 0u) | MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
                                        MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE,
                                0, NULL, NULL, request_handle, server,                       /* */
                                MHD_OPTION_NOTIFY_COMPLETED, request_completed, server,      /* */
                                MHD_OPTION_NOTIFY_CONNECTION, connection_notify, server,     /* */
                                MHD_OPTION_URI_LOG_CALLBACK, request_begin, server,          /* */
                                MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,            /* */
                                MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_POOL_BYTES, /* */
                                MHD_OPTION_CONNECTION_LIMIT, connections,                    /* */
                                MHD_OPTION_CONNECTION_TIMEOUT, options->idle_timeout_s,      /* */
                                MHD_OPTION_STRICT_FOR_CLIENT, 1,                             /* */
                                tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END,
                                http_tls_retrieve, /* */
                                MHD_OPTION_HTTPS_PRIORITIES, HTTP_TLS_PRIORITIES, MHD_OPTION_END);
}

static int start_daemons(struct http_server *server, struct cella_err *err)
{
        server->daemon = start_daemon(server, false);
        if (server->options.tls)
                server->tls_daemon = start_daemon(server, true);
        if (server->daemon == NULL || (server->options.tls && server->tls_daemon == NULL))
                return err_say(err, CELLA_INTERNAL, -EIO, "cannot start the HTTP server");
        server->gone_fd = epoll_create1(EPOLL_CLOEXEC);
        if (server->gone_fd < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot make an epoll descriptor");
        return 0;
}

static int http_server_watch(struct http_server *server, uv_poll_t *poll, int fd, void *data,
                             uv_poll_cb callback, struct cella_err *err)
{
        int r = uv_poll_init(server->options.loop, poll, fd);

        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot watch a descriptor");
        server->handles++;
        poll->data = data;
        uv_poll_start(poll, UV_READABLE, callback);
        return 0;
}

static int join_loop(struct http_server *server, struct cella_err *err)
{
        uv_loop_t *loop = server->options.loop;
        const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
        int r;

        uv_prepare_init(loop, &server->prepare);
        uv_idle_init(loop, &server->idle);
        uv_timer_init(loop, &server->sweep);
        server->handles += 3;
        server->prepare.data = server->idle.data = server->sweep.data = server;
        uv_prepare_start(&server->prepare, on_prepare);
        uv_unref((uv_handle_t *)&server->prepare);
        uv_unref((uv_handle_t *)&server->sweep);

        r = http_server_watch(server, &server->daemon_poll, info->epoll_fd, server, on_daemon_event, err);
        if (r < 0)
                return r;
        if (server->tls_daemon != NULL) {
                info = MHD_get_daemon_info(server->tls_daemon, MHD_DAEMON_INFO_EPOLL_FD);
                r = http_server_watch(server, &server->tls_poll, info->epoll_fd, server, on_daemon_event,
                                      err);
                if (r < 0)
                        return r;
        }
        r = http_server_watch(server, &server->gone_poll, server->gone_fd, server, on_gone_event, err);
        for (size_t i = 0; i < server->options.n_listeners && r == 0; i++) {
                struct listener *listener = &server->listeners[i];

                r = http_server_watch(server, &listener->poll, listener->fd, listener, on_listener, err);
        }
        return r;
}

static void listener_init(struct http_server *server, struct listener *listener, int fd)
{
        int domain = AF_INET;
        socklen_t len = sizeof(domain);

        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
        listener->server = server;
        listener->fd = fd;
        listener->local = domain == AF_UNIX;
        listener->tls = !listener->local && server->options.tls;
        if (listener->tls) /* seconds until a connection without data is reported, too */
                setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &(int){2}, sizeof(int));
}

DEFINE_AUTO(struct http_server *, http_server_free)

int http_server_new(const struct http_options *options, struct http_server **ret, struct cella_err *err)
{
        AUTO(http_server_free) struct http_server *server = calloc(1, sizeof(*server));
        int r;

        if (server != NULL)
                server->listeners = calloc(options->n_listeners + 1, sizeof(*server->listeners));
        if (server == NULL || server->listeners == NULL) {
                free(TAKE(server));
                for (size_t i = 0; i < options->n_listeners; i++)
                        close(options->listeners[i]);
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot start the HTTP server");
        }
        server->gone_fd = -1;
        server->options = *options;
        server->limits = default_limits;
        server->options.listeners = NULL;
        if (server->options.idle_timeout_s == 0)
                server->options.idle_timeout_s = 60;
        if (server->options.connections_max == 0)
                server->options.connections_max = 1024;
        for (size_t i = 0; i < options->n_listeners; i++)
                listener_init(server, &server->listeners[i], options->listeners[i]);

        r = router_new(options->routes, options->n_routes, &server->router, err);
        if (r < 0)
                return r;
        r = start_daemons(server, err);
        if (r < 0)
                return r;
        r = join_loop(server, err);
        if (r < 0)
                return r;
        *ret = TAKE(server);
        return 0;
}

/* ---- end ---- */

static void server_drop(struct http_server *server)
{
        if (!server->freed || server->handles > 0)
                return;
        free(server->listeners);
        free(server);
}

void server_release(struct http_server *server)
{
        server->handles--;
        server_drop(server);
}

static void http_server_on_closed(uv_handle_t *handle)
{
        server_release(handle->data);
}

static void on_listener_closed(uv_handle_t *handle)
{
        struct listener *listener = handle->data;

        server_release(listener->server);
}

static void listener_close(struct listener *listener)
{
        if (listener->fd < 0)
                return;
        if (listener->poll.data != NULL)
                uv_close((uv_handle_t *)&listener->poll, on_listener_closed);
        close(listener->fd);
        listener->fd = -1;
}

void http_server_quiesce(struct http_server *server)
{
        if (server->quiescing)
                return;
        server->quiescing = true;
        for (size_t i = 0; i < server->options.n_listeners; i++)
                listener_close(&server->listeners[i]);
        connections_close_idle(server);
        server->due = true;
}

unsigned http_server_requests(const struct http_server *server)
{
        return server->requests;
}

unsigned http_server_connections(const struct http_server *server)
{
        return server->connections;
}

static void close_handle(uv_handle_t *handle)
{
        if (handle->data != NULL)
                uv_close(handle, http_server_on_closed);
}

struct http_server *http_server_free(struct http_server *server)
{
        if (server == NULL)
                return NULL;
        http_server_quiesce(server);
        server->ending = true;
        websockets_end_all(server);
        linger_end_all(server);
        if (server->daemon != NULL) {
                connections_end_all(server);
                for (unsigned i = 0; i < 1000 && server->connections > 0; i++) {
                        run_once(server->daemon);
                        run_once(server->tls_daemon);
                }
        }
        close_handle((uv_handle_t *)&server->daemon_poll);
        close_handle((uv_handle_t *)&server->tls_poll);
        close_handle((uv_handle_t *)&server->gone_poll);
        close_handle((uv_handle_t *)&server->prepare);
        close_handle((uv_handle_t *)&server->idle);
        close_handle((uv_handle_t *)&server->sweep);
        if (server->daemon != NULL)
                MHD_stop_daemon(server->daemon);
        if (server->tls_daemon != NULL)
                MHD_stop_daemon(server->tls_daemon);
        if (server->gone_fd >= 0)
                close(server->gone_fd);
        router_free(server->router);
        server->freed = true;
        server_drop(server);
        return NULL;
}
