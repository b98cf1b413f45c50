/* engine/link/keeper_link.h -- the server's end of the socket to the keeper, and of that to cella-docker,
 * which uses the same protocol (wire/docker.h), in the event loop.
 *
 * Requests are sent in order and never block the loop.  Each answer is passed to a callback. */
#pragma once
#include <uv.h>

#include "base/auto.h"
#include "cella.h"
#include "jail/counters.h"
#include "wire/docker.h"

struct keeper_link;

/* Any received packet; `type` tells which. */
union keeper_packet {
        struct {
                uint32_t type, number;
        };
        struct keeper_about about;
        struct keeper_made made;
        struct keeper_failed failed;
        struct keeper_counted counted;
        struct docker_opened opened;
        struct docker_made docker; /* followed by its JSON document */
        char bytes[sizeof(struct docker_made) + DOCKER_IMAGE_MAX];
};

/* fd: the descriptor of the packet, owned by the callee; -1: none. */
typedef void (*keeper_answer)(void *context, const union keeper_packet *packet, int fd);

struct keeper_link_events {
        /* A packet that is not an answer; fd as above. */
        void (*on_event)(void *userdata, const union keeper_packet *packet, int fd);
        void (*on_lost)(void *userdata, const char *why); /* the connection is lost */
};

/* Takes fd, also on failure. */
int keeper_link_new(uv_loop_t *loop, int fd, const struct keeper_link_events *events, void *userdata,
                    struct keeper_link **ret, struct cella_err *err);
struct keeper_link *keeper_link_free(struct keeper_link *link);

/* Sends KEEPER_MAKE with its mounts, which follow in memory if there are any (struct keeper_make_mounts). The
 * answer is KEEPER_MADE or KEEPER_FAILED. */
int keeper_link_make(struct keeper_link *link, struct keeper_make *make, keeper_answer answer, void *context);

/* Only in the callback for KEEPER_MADE: takes the counters that came with it; missing ones are -1. */
void keeper_link_take_counters(struct keeper_link *link, struct counters *ret);

/* Sends a request about a sandbox.  answer NULL: none is expected or needed.  link NULL: returns -EPIPE. */
int keeper_link_ask(struct keeper_link *link, enum keeper_request type, uint32_t sandbox,
                    keeper_answer answer, void *context);

/* Sends any other request.  Its first two members must be type and number. */
int keeper_link_send(struct keeper_link *link, void *packet, size_t len, keeper_answer answer, void *context);

/* Asks the keeper to remove the volume of a persistent workspace. */
int keeper_link_drop(struct keeper_link *link, const char *name);

/* Returns how many requests have no answer yet. */
unsigned keeper_link_pending(const struct keeper_link *link);

/* Call when the connection is lost and the loop goes on: all requests that have no answer yet get
 * KEEPER_FAILED. */
void keeper_link_fail_pending(struct keeper_link *link, const struct cella_err *err);

/* Discards the answers for this context, because its owner is freed. */
void keeper_link_forget(struct keeper_link *link, const void *context);
