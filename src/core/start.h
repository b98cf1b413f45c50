/* core/start.h -- creates, configures and stops all parts of core.
 *
 * This is the top of core: only start.c depends on every part.  The order of the parts is in
 * doc/architecture.md. */
#pragma once
#include "core/core.h"

struct core_options {
        uv_loop_t *loop;
        int keeper_fd;
        struct state *state;          /* borrowed */
        struct secret_store *secrets; /* borrowed; NULL: not available */
        struct cella_err no_secrets;  /* the reason */
        const char *directory;
        const char *store; /* of images; NULL: inside `directory` */
        bool volumes;      /* see struct core */
        json_t *settings;  /* taken; must have been checked */
        void (*on_keeper_lost)(void *userdata, const char *why);
        void (*on_keeper_event)(void *userdata, uint32_t type); /* KEEPER_STOP, KEEPER_RELOAD */
        void *userdata;
};

int core_new(const struct core_options *options, struct core **ret, struct cella_err *err);
struct core *core_free(struct core *core);

/* Makes one sandbox to determine what this host can enforce; sets core->probed and calls done(). */
void core_probe(struct core *core, void (*done)(struct core *, void *), void *context);

/* Applies new settings.  Takes the document, which must have been checked. */
int core_configure(struct core *core, json_t *settings, struct cella_err *err);

/* Stops: accepts nothing new, sends SIGTERM, waits for the grace time, then ends everything and calls
 * drained(). */
void core_stop(struct core *core, void (*drained)(struct core *, void *), void *context);
