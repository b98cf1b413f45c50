/* engine/command.h -- converts a command into the messages that start it. */
#pragma once
#include "base/auto.h"
#include "cella.h"
#include "engine/compile.h"
#include "image/store/store.h"
#include "keeper/spawn/sandbox.h"
#include "wire/init.h"

/* The properties of the sandbox that a command depends on. */
struct command_place {
        bool foreign_home; /* the workspace is a host directory and must not be HOME */
        bool user_root;
        bool network;              /* it can have connections, and there is a proxy */
        bool inherits;             /* add this process's environment: only for tests without that wall */
        bool own_workspace;        /* private and empty: the code may be a file in it */
        bool direct;               /* not isolated: the code can only be a file in the workspace */
        unsigned slot;             /* makes the file names of concurrent commands differ */
        const struct image *image; /* its environment, directory and command are used; NULL: none */
};

/* The body of an INIT_SPAWN, at most INIT_REQUEST_MAX bytes. */
struct command_form {
        char *data;
        size_t len, size;
        struct init_spawn head;
        char file_name[256];    /* the file that INIT_PUT_FILE must write first; "": none */
        char code_dir[1024];    /* of code_file, for the compiler */
        bool in_workspace;      /* the file is in /workspace, otherwise in /run */
        struct compile compile; /* the compiler that runs first; no words: none */
        struct runtime runtime; /* of the command; no name: none */
};

/* Checks the command and fills *form, which must be zeroed.  Call command_form_done() also after a failure.
 * An empty command means the command of the image. */
int command_fill(struct command_form *form, const struct command_place *place,
                 const struct cella_command *command, struct cella_err *err);
void command_form_done(struct command_form *form);

DEFINE_AUTO_DONE(struct command_form, command_form_done)

/* Returns the proxy variables, for processes that were started without them.  Leaves out those that env has,
 * in any case.  Ends with NULL. */
#define COMMAND_PROXY_MAX 8
void command_proxy(const char *const *env, const char *ret[COMMAND_PROXY_MAX + 1]);

/* Returns the variables that depend on where HOME is, for processes that were started in a sandbox with a
 * private workspace.  Ends with NULL. */
#define COMMAND_HOME_MAX 3
void command_home(const struct command_place *place, const char *ret[COMMAND_HOME_MAX + 1]);

/* Writes the file of the code into the sandbox if there is one, then asks init to start the command with
 * these three descriptors.  Does not wait for the start. */
int command_start(struct sandbox *sandbox, const struct image *image, const struct cella_command *command,
                  const int fds[3], struct cella_err *err);

/* Sets err for a command that init could not start, with -errno num. */
int command_explain(const struct image *image, const struct cella_command *command, int num,
                    struct cella_err *err);
