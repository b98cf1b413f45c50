/* cli/admin/serve.h -- a daemon as its own process runs it: for `cella serve`, and for `cella mcp`. */
#pragma once
#include "cella.h"

struct serve_options {
        const char *listen, *socket, *settings, *state, *user, *workspace_root;
        const char *images_state; /* the state directory whose images it uses; NULL: its own */
        bool stdio;               /* no address at all, but one client, who speaks MCP here: */
        int stdio_fd;             /* taken over */
};

/* Becomes the keeper, and returns its exit status when all has ended; or -errno. */
int serve_run(const struct serve_options *options, struct cella_err *err);
