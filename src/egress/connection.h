/* egress/connection.h -- one connection made by code in a sandbox.
 *
 *     accept ─► SNIFF ─► RESOLVE ─► DIAL ─► RELAY     TLS, raw TCP: bytes are spliced in both directions
 *                 │          ▲              EXCHANGE  HTTP: one request, parsed; its response is spliced
 *                 └─► HEAD ──┘              LINGER    our own answer is being sent
 *
 * The first bytes determine the protocol and the destination.  The address that the code has connected to
 * only determines the port, and the name if it is a synthetic address.  We connect to the name that was
 * checked.
 *
 * connection.c: start, end and decision; dial.c: from a name to a connection; relay.c: forwarding; http.c:
 * requests; refusal.c: answers to refused connections. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "egress/dns_stub.h"
#include "egress/fd_budget.h"
#include "egress/http1.h"
#include "egress/loop.h"
#include "egress/policy/policy.h"
#include "egress/resolver.h"
#include "egress/sandbox.h"

#define CONNECTION_SETUP_US 10000000      /* to identify the protocol; to connect */
#define CONNECTION_LOOKED_MAX (16u << 20) /* bytes examined before the protocol is known */
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
        bool readable, writable; /* as far as known */
        bool hung_up;            /* will send nothing more than is already received */
        bool ended;              /* everything received was read */
        bool shut;               /* nothing more is sent to it */
};

struct flow {                        /* one direction */
        struct fd_budget_pipe *pipe; /* contains data */
        size_t held;
        bool broken;
};

struct connection {
        struct list entry; /* in the sandbox */
        struct grave grave;
        struct egress_sandbox *sandbox;
        struct work work;
        struct timer timer;
        int64_t deadline; /* of the stage; in RELAY and EXCHANGE the idle timeout applies */
        int64_t touched;  /* time of the last transfer */
        enum stage stage;
        enum speech speech;

        struct end client, upstream;
        struct flow up, down;

        struct destination original; /* destination according to the address */
        bool is_unknown;             /* a synthetic address without a name: only the port is known */
        bool is_proxy, in_tunnel;    /* connected to the proxy; inside a CONNECT tunnel */
        struct destination to;       /* destination that was checked */
        enum policy_kind kind;

        struct resolver_wait wait;
        struct address addresses[DNS_ADDRESSES_MAX]; /* all of them checked */
        unsigned n_addresses, n_tried;
        struct address dialled;

        struct http1 body;
        char *head; /* request head to be sent; NULL: already sent */
        size_t head_length, head_sent;
        bool is_connect, wants_upgrade, was_not_upgraded;
        uint64_t looked_at; /* bytes examined, with repetitions, before the protocol was known */
        uint64_t lingered;

        struct dns_client dns; /* DNS over TCP */
};

/* Buffer for data that is examined and forwarded at once. */
extern uint8_t scratch[SCRATCH_SIZE];

/* ---- connection.c ---- */

/* Takes ownership of fd. */
void connection_accept(struct egress_sandbox *sandbox, int fd);
/* reset: the peer must not mistake it for an orderly close. */
void connection_close(struct connection *c, bool reset);
void connection_close_upstream(struct connection *c);
/* All connections of a sandbox: closes those that the policy does not allow any more; queues their work;
 * closes them with a reset. */
void connections_check(struct egress_sandbox *sandbox);
void connections_queue(struct egress_sandbox *sandbox);
void connections_close(struct egress_sandbox *sandbox);
/* Enters a stage with a time limit in microseconds; 0: only the idle timeout applies. */
void egress_connection_enter(struct connection *c, enum stage stage, int64_t time);
/* Decides and dials.  c->to, kind and speech must be set. */
void connection_decide(struct connection *c);
/* Reads data of the client into scratch without removing it.  Returns the number of bytes, -EAGAIN, 0 at
 * the end or another -errno. */
long connection_peek(struct connection *c);
/* Removes n bytes that were examined.  -EPROTO: they have changed (possible with urgent data). */
int connection_discard(struct connection *c, size_t n);
void connection_text(const struct destination *to, char ret[288]);

/* ---- dial.c ---- */

void dial(struct connection *c);
/* The name was resolved, or an attempt has ended. */
void dial_resolved(struct connection *c, const struct resolved *resolved);
bool dial_run(struct connection *c);

/* ---- relay.c ---- */

enum { RELAY_QUIET, RELAY_MORE, RELAY_ENDED };

/* Forwards a limited number of bytes.  RELAY_QUIET: no data or no room; RELAY_MORE: there is more;
 * RELAY_ENDED: the end was forwarded.  -EDQUOT: the byte limit is reached.  Other -errno: the source or the
 * destination is gone (flow->broken: the destination). */
int relay_flow(struct connection *c, struct end *from, struct end *to, struct flow *flow, uint64_t *counter);
bool egress_relay_run(struct connection *c);
void relay_drop(struct connection *c, struct flow *flow);
/* Closes the connection after relay_flow() has failed with r. */
void relay_failed(struct connection *c, int r);

/* ---- dns_stream.c ---- */

/* Processes the next query of a connection to port 53. */
bool dns_stream_run(struct connection *c);
void dns_stream_init(struct connection *c);

/* ---- http.c ---- */

bool http_read_head(struct connection *c);
/* Connected, with a head to send. */
void http_begin(struct connection *c);
bool http_exchange(struct connection *c);

/* ---- refusal.c ---- */

/* Counts and reports the refusal and informs the client in its protocol.  Ends the connection. */
void refuse(struct connection *c, bool limit, const struct destination *to, const char *why);
/* The destination is allowed but cannot be reached. */
void refuse_unreachable(struct connection *c, const char *why);
/* Sends nothing more and reads a little longer: closing a socket with unread bytes would discard the
 * answer. */
void refuse_linger(struct connection *c);
bool refuse_linger_run(struct connection *c);
