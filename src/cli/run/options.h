/* cli/run/options.h -- the command line of `cella run`. */
#pragma once
#include "cella.h"
#include "cli/cli.h"
#include "cli/run/words.h"
#include "engine/terminal.h"

#define RUN_LIST_MAX 64

struct run_options {
        struct cella_options options;
        struct cella_command command;
        struct cella_mount mounts[RUN_LIST_MAX];
        const char *env[RUN_LIST_MAX * 4];
        size_t n_env;
        struct cli_list allowed, blocked, private; /* patterns of network destinations */
        bool json, verbose;
        const char *out;       /* --out */
        int out_dir;           /* -1: not open */
        struct cli_list with;  /* packages to install */
        bool close_network;    /* when they are installed */
        bool tier_given;       /* --network */
        bool interactive, tty; /* -i, -t */
        struct cella_terminal terminal;
        bool understood; /* the command line was valid */
        struct words words;
        char *copies[RUN_LIST_MAX + 2]; /* of --mount and --workspace, split at their colons; owned */
        size_t n_copies;
};

/* Implements the command. */
int run_main(const struct cli_command *self, int argc, char **argv);

/* Checks the options against each other and completes o->options.  Sets *err if it returns -errno. */
int run_options_check(struct run_options *o, struct cella_err *err);
