/* egress/connection.h -- one connection that code in a sandbox made.
 *
 *     accept ─► SNIFF ─► RESOLVE ─► DIAL ─► RELAY     TLS, raw TCP: bytes are spliced both ways
 *                 │          ▲              EXCHANGE  HTTP: one request, followed; its response is spliced
 *                 └─► HEAD ──┘              LINGER    an answer of our own is on its way
 *
 * What it is and for whom is told by its first bytes; the address that the code dialled only tells the port,
 * and the name that we gave this address ourselves.  What is dialled is the name that was decided on.
 *
 * connection.c: begin, end and what is decided; dial.c: from a name to a connection; relay.c: moves bytes;
 * http.c: requests; refusal.c: what one that is refused sees. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "egress/http1.h"
#include "egress/loop.h"
#include "egress/policy.h"
#include "egress/resolver.h"
#include "egress/sandbox.h"
#include "egress/stock.h"

#define CONNECTION_SETUP_US 10000000      /* to say what it is; to be connected */
#define CONNECTION_LOOKED_MAX (16u << 20) /* bytes, until it is known what it is: what comes byte by byte */
#define SCRATCH_SIZE 65536u

enum stage {
        STAGE_SNIFF,
        STAGE_HEAD,
        STAGE_RESOLVE,
        STAGE_DIAL,
        STAGE_RELAY,
        STAGE_EXCHANGE,
        STAGE_LINGER,
        STAGE_DNS
};
enum speech { SPEECH_NONE, SPEECH_RAW, SPEECH_TLS, SPEECH_HTTP };

struct end {
        struct source source;
        bool readable, writable; /* as far as is known */
        bool hung_up;            /* it will send no more than what is there */
        bool ended;              /* all that was there is read, too */
        bool shut;               /* nothing more goes to it */
};

struct flow {                    /* one way */
        struct stock_pipe *pipe; /* with something in it */
        size_t held;
        bool broken;
};

struct question;

struct connection {
        struct list entry; /* of the sandbox */
        struct grave grave;
        struct sandbox *sandbox;
        struct work work;
        struct timer timer;
        int64_t deadline; /* of the stage; in RELAY and EXCHANGE that of idleness counts */
        int64_t touched;  /* when something moved last */
        enum stage stage;
        enum speech speech;

        struct end client, upstream;
        struct flow up, down;

        struct destination original; /* where the code wanted to, as far as its address tells */
        bool is_unknown;             /* an address of ours that is no name's: it tells nothing but the port */
        bool is_proxy, in_tunnel;    /* it came to the proxy; what is in a CONNECT of it now */
        struct destination to;       /* what was decided on */
        enum policy_kind kind;

        struct resolver_wait wait;
        struct address addresses[DNS_ADDRESSES_MAX]; /* all of them checked */
        unsigned n_addresses, n_tried;
        struct address dialled;

        struct http1 body;
        char *head; /* of the request, as it is to be sent; NULL: it was */
        size_t head_length, head_sent;
        bool is_connect, wants_upgrade, was_not_upgraded;
        uint64_t looked_at; /* bytes, again and again, until it was known what it is */
        uint64_t lingered;

        struct question *question; /* DNS over TCP: under way */
};

/* For what is looked at and passed on at once. */
extern uint8_t scratch[SCRATCH_SIZE];

/* ---- connection.c ---- */

/* Takes fd. */
void connection_accept(struct sandbox *sandbox, int fd);
/* reset: the other side must not take it for an orderly end. */
void connection_close(struct connection *c, bool reset);
void connection_close_upstream(struct connection *c);
/* The policy is another: closes it if that does not allow it. */
void connection_check(struct connection *c);
/* Enters a stage that must be over in time; 0: that ends by idleness. */
void connection_enter(struct connection *c, enum stage stage, int64_t time);
/* c->to, kind and speech are there: decides, and dials. */
void connection_decide(struct connection *c);
/* What has come from the client, still to be read: bytes in scratch, -EAGAIN, 0 or another -errno at its end.
 */
long connection_peek(struct connection *c);
/* Takes n bytes that were looked at.  -EPROTO: they are not the same any more (urgent data can do that). */
int connection_discard(struct connection *c, size_t n);
void connection_text(const struct destination *to, char ret[288]);

/* ---- dial.c ---- */

void dial(struct connection *c);
/* Its name was resolved, or an attempt has an outcome. */
void dial_resolved(struct connection *c, const struct resolved *resolved);
bool dial_run(struct connection *c);

/* ---- relay.c ---- */

enum { RELAY_QUIET, RELAY_MORE, RELAY_ENDED };

/* Moves a bounded number of bytes.  RELAY_QUIET: there are none, or no room; RELAY_MORE: there are more;
 * RELAY_ENDED: the end was passed on.  -EDQUOT: no more bytes are allowed.  Other -errno: the side that is
 * read, or the one that is written to, is gone (flow->broken tells the latter). */
int relay_flow(struct connection *c, struct end *from, struct end *to, struct flow *flow, uint64_t *counter);
bool relay_run(struct connection *c);
void relay_drop(struct connection *c, struct flow *flow);
/* What a failed relay_flow() means for the connection, which it closes. */
void relay_failed(struct connection *c, int r);

/* ---- http.c ---- */

bool http_read_head(struct connection *c);
/* Connected, with a head to send. */
void http_begin(struct connection *c);
bool http_exchange(struct connection *c);

/* ---- refusal.c ---- */

/* Counts it, tells of it, and lets the code know in the way of its protocol.  The connection is over. */
void refuse(struct connection *c, bool limit, const struct destination *to, const char *why);
/* It is allowed, but nobody is there. */
void refuse_unreachable(struct connection *c, const char *why);
/* Sends no more, takes what comes a little longer: who closes with bytes unread takes back what it sent. */
void refuse_linger(struct connection *c);
bool refuse_linger_run(struct connection *c);
