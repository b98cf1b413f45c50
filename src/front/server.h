/* front/server.h -- the HTTP server of the API: authorises requests, checks their bodies and calls the
 * handlers of the routes. */
#pragma once
#include "front/api.h"

struct api_options {
        struct core *core;
        const int *listeners;
        size_t n_listeners;
        uid_t owner;
        const char *listen;
        bool has_socket;             /* one of the listeners is a Unix socket */
        bool tls;                    /* the TCP listener speaks TLS, see http_tls_load() */
        int stdio;                   /* a socket with an MCP client; ownership is taken; -1: none */
        const char *session, *agent; /* of that client, see mcp_stdio_start() */
        api_log log;
};

int api_new(const struct api_options *options, struct api **ret, struct cella_err *err);
void api_quiesce(struct api *api);
struct api *api_free(struct api *api);
