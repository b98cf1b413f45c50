/* engine/command.h -- turns a command into the messages that start it. */
#pragma once
#include "cella.h"
#include "engine/compile.h"
#include "image/store/store.h"
#include "keeper/spawn/sandbox.h"
#include "wire/init.h"

/* What a command has to know of where it is going to run. */
struct command_place {
        bool foreign_home; /* the workspace is a directory of the host: no place for a home */
        bool user_root;
        bool network;              /* there is a way out, and a proxy for programs that insist on one */
        bool inherits;             /* our own environment too: only a test without that wall */
        bool own_workspace;        /* nobody else's, and empty: code may be a file in it */
        bool direct;               /* on the host: nowhere else can it be one */
        unsigned slot;             /* tells apart the files of commands that run at once */
        const struct image *image; /* whose environment, directory and command there are; NULL: none */
};

/* The body of an INIT_SPAWN, of at most INIT_REQUEST_MAX bytes. */
struct command_form {
        char *data;
        size_t len, size;
        struct init_spawn head;
        char file_name[256];    /* the code goes into the sandbox as this file first, by INIT_PUT_FILE; "": no
                                   need */
        bool in_workspace;      /* that file, else in /run */
        struct compile compile; /* what has to run first; no words: nothing */
        struct runtime runtime; /* of the command; no name: it has none */
};

/* Checks the command and fills in *form, which was zeroed; free it in any case.  One that says nothing is the
 * image's own. */
int command_fill(struct command_form *form, const struct command_place *place,
                 const struct cella_command *command, struct cella_err *err);
void command_form_done(struct command_form *form);

static inline void command_form_done_auto(struct command_form *form)
{
        command_form_done(form);
}

/* The variables that tell of a network's proxy, for what was started before they were wanted; not those that
 * env has, in whatever case.  NULL at the end. */
#define COMMAND_PROXY_MAX 8
void command_proxy(const char *const *env, const char *ret[COMMAND_PROXY_MAX + 1]);

/* Fills it in, puts the code's file into the sandbox if it has one; then asks init to start it
 * on the three descriptors.  It is not known yet whether that worked. */
int command_start(struct sandbox *sandbox, const struct image *image, const struct cella_command *command,
                  const int fds[3], struct cella_err *err);

/* Words for a command that init could not start, with -errno num. */
int command_explain(const struct image *image, const struct cella_command *command, int num,
                    struct cella_err *err);
