/* cli/admin/serve.h -- runs a daemon in this process: for `cella serve` and `cella mcp`. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"

struct serve_options {
        const char *listen, *socket, *settings, *state, *user, *workspace_root, *tls_cert, *tls_key;
        const char *images_state; /* the state directory with the images to use; NULL: its own */
        bool check_config;
        uint64_t workers; /* processes that make sandboxes, with the keeper; 0: one for each two cores */
        bool stdio;       /* no address, but one MCP client, on this socket: */
        int stdio_fd;     /* ownership is taken */
        /* For that client; each may be NULL: */
        const char *patch;           /* JSON: settings that are above those of the file */
        const char *session, *agent; /* names for requests that give none */
        const char *workspace;       /* the only directory of the host that may be a workspace; a real path */
};

/* Returns the absolute path of the state directory: given (may be NULL), or the one of this user. */
int serve_state_path(const char *given, char *ret, size_t size, struct cella_err *err);

/* Becomes the keeper. Returns its exit status after everything has ended; or -errno. */
int serve_run(const struct serve_options *options, struct cella_err *err);
