/* engine/link/keeper_link.h -- the server's end of the socket to the keeper, in its event loop; and of that
 * to cella-docker, which speaks the same (wire/docker.h).
 *
 * Requests go out in order and never block the loop; each answer comes back by a callback. */
#pragma once
#include <uv.h>

#include "base/auto.h"
#include "cella.h"
#include "jail/counters.h"
#include "wire/docker.h"

struct keeper_link;

/* Any packet of the keeper; `type` says which. */
union keeper_packet {
        struct {
                uint32_t type, number;
        };
        struct keeper_about about;
        struct keeper_made made;
        struct keeper_failed failed;
        struct keeper_counted counted;
        struct docker_opened opened;
        struct docker_made docker; /* its document follows */
        char bytes[sizeof(struct docker_made) + DOCKER_IMAGE_MAX];
};

/* fd: the descriptor that came with it, -1 if none; the callee's. */
typedef void (*keeper_answer)(void *context, const union keeper_packet *packet, int fd);

struct keeper_link_events {
        /* What was not asked for; fd as above. */
        void (*on_event)(void *userdata, const union keeper_packet *packet, int fd);
        void (*on_lost)(void *userdata, const char *why); /* the keeper is gone */
};

int keeper_link_new(uv_loop_t *loop, int fd, const struct keeper_link_events *events, void *userdata,
                    struct keeper_link **ret, struct cella_err *err);
struct keeper_link *keeper_link_free(struct keeper_link *link);

/* The answer is KEEPER_MADE or KEEPER_FAILED. */
int keeper_link_make(struct keeper_link *link, struct keeper_make *make, keeper_answer answer, void *context);

/* While KEEPER_MADE is being answered: the counters that came with it, the caller's then; those that did not
 * are -1. */
void keeper_link_take_counters(struct keeper_link *link, struct counters *ret);

/* answer NULL: none comes, or it does not matter.  link NULL: -EPIPE. */
int keeper_link_ask(struct keeper_link *link, enum keeper_request type, uint32_t sandbox,
                    keeper_answer answer, void *context);

/* Any other request, whose first two members are type and number. */
int keeper_link_send(struct keeper_link *link, void *packet, size_t len, keeper_answer answer, void *context);

/* A persistent workspace is not wanted any more. */
int keeper_link_drop(struct keeper_link *link, const char *name);

/* No answer reaches this context any more: what it belongs to is gone. */
void keeper_link_forget(struct keeper_link *link, const void *context);
