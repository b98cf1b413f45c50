/* core/start.h -- creates, configures and stops all parts of core.
 *
 * The top of core: start.c is the one file that knows every part.  The order of the parts is in
 * doc/architecture.md. */
#pragma once
#include "core/core.h"

struct core_options {
        uv_loop_t *loop;
        int keeper_fd;
        struct state *state;          /* borrowed */
        struct secret_store *secrets; /* borrowed; NULL: they cannot be had, */
        struct cella_err no_secrets;  /* for this reason */
        const char *directory;
        const char *store; /* of images; NULL: in that directory */
        json_t *settings;  /* taken; checked */
        void (*on_keeper_lost)(void *userdata, const char *why);
        void (*on_keeper_event)(void *userdata, uint32_t type); /* KEEPER_STOP, KEEPER_RELOAD */
        void *userdata;
};

int core_new(const struct core_options *options, struct core **ret, struct cella_err *err);
struct core *core_free(struct core *core);

/* Makes one sandbox to see what this host can enforce; core->probed when it is known. */
void core_probe(struct core *core, void (*done)(struct core *, void *), void *context);

/* A checked document, taken over. */
int core_configure(struct core *core, json_t *settings, struct cella_err *err);

/* Nothing new; what runs gets SIGTERM and its grace time, then everything is ended. */
void core_stop(struct core *core, void (*drained)(struct core *, void *), void *context);
