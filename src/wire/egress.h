/* wire/egress.h -- what the owner of sandboxes (the server, or `cella run`) says to the egress
 * process, and what it hears.
 *
 * A SOCK_SEQPACKET pair: one message, one packet.  The egress process believes its owner no
 * more than it must: a packet of a wrong size, an unknown type, a text without an end close the
 * connection, and with it every way out.  Native byte order; no holes.
 *
 * The two sockets (jail/way_out.c makes them) are AF_INET6 for both families, or AF_INET where there is no
 * IPv6.  Nothing is translated on the way to them, so there is no SO_ORIGINAL_DST:
 *  - the listener's port is EGRESS_PORT, but an accepted connection's getsockname() is what the code dialled,
 *    address and port (::ffff:1.2.3.4 for IPv4).  A loopback address there: it dialled the listener itself;
 *  - with each question the UDP socket gives IPV6_PKTINFO (AF_INET: IP_PKTINFO) of the address it was
 *    sent to; the answer must go out with the same, or nobody believes it;
 *  - before anything is taken from either, the listener's SO_PRIORITY becomes EGRESS_USED.  An owner has
 *    both sockets, too: if it finds nothing waiting at them, and then no such mark, it knows without
 *    asking that there is nothing to count. */
#pragma once
#include <stdint.h>

#define EGRESS_CONTROL_FD 3               /* where the egress process finds the socket */
#define EGRESS_PORT 1                     /* of the listener: one that no code can bind */
#define EGRESS_USED 1                     /* a mark on it, see above */
#define EGRESS_PROXY_ADDRESS "198.18.0.1" /* synthetic: the proxy (EGRESS_PROXY_PORT) and the name server */
#define EGRESS_PROXY_PORT 3128
#define EGRESS_PROXY_URL "http://" EGRESS_PROXY_ADDRESS ":3128"
#define EGRESS_TEXT_MAX (96u * 1024) /* of a policy; so that a packet fits the socket's buffer */
#define EGRESS_CONFIG_MAX (64u * 1024)
#define EGRESS_PATTERN_MAX 272u   /* a name of 253, a port, and what a CIDR needs; with its NUL */
#define EGRESS_PATTERNS_MAX 1000u /* of each list */
#define EGRESS_SANDBOXES_MAX 4096u
#define EGRESS_TOLD_MAX 64u /* refusals told of, per sandbox and EGRESS_BEGIN */

enum egress_tier { EGRESS_RESTRICTED, EGRESS_STANDARD, EGRESS_ELEVATED };

enum egress_request {
        EGRESS_CONFIG = 1, /* struct egress_config, texts: how names are resolved.  Comes first, and again
                            * when it changes; no answer */
        EGRESS_ATTACH, /* struct egress_attach, patterns; descriptors: the TCP listener and the UDP socket for
                        * DNS in the sandbox's network namespace, see above.  No answer; a refusal is
                        * EGRESS_FAILED */
        EGRESS_CHANGE, /* the same without descriptors: another policy for it.  Connections that it does not
                        * allow any more are closed.  No answer */
        /* All others: struct egress_about. */
        EGRESS_BEGIN,  /* an execution begins: counters from zero, refusals are told anew; no answer */
        EGRESS_COUNT,  /* EGRESS_COUNTED, after every EGRESS_REFUSED of what happened before */
        EGRESS_DETACH, /* closes all of it; no answer.  Unknown ones are ignored */
};

enum egress_reply {
        EGRESS_COUNTED = 100, /* struct egress_counted */
        EGRESS_REFUSED,       /* struct egress_refused: not asked for */
        EGRESS_FAILED,        /* struct egress_about, number: an errno; it has no network then */
};

struct egress_about {
        uint32_t type, number;
        uint64_t sandbox; /* of the owner's choice, never used twice */
};

struct egress_config {
        uint32_t type;
        uint32_t resolv_length, hosts_length; /* /etc/resolv.conf and /etc/hosts, which follow */
        uint32_t reserved;
};

/* A name must match one of each list of `allowed` that is there (two: what the settings allow, and what
 * the request narrows that to), and none of `blocked`. */
struct egress_attach {
        uint32_t type;
        uint32_t tier; /* enum egress_tier, not EGRESS_RESTRICTED */
        uint64_t sandbox;
        uint32_t n_allowed[2]; /* patterns; EGRESS_ANY: this list says nothing (tier elevated) */
        uint32_t n_blocked, n_private;
        uint32_t connections_max; /* at once */
        uint32_t idle_ms;         /* of a connection on which nothing moves */
        uint64_t bytes_max;       /* both ways, per EGRESS_BEGIN; 0: no limit */
        /* then the patterns, each ending in NUL: allowed[0], allowed[1], blocked, private */
};

#define EGRESS_ANY (~0u)

struct egress_counted {
        uint32_t type, number; /* that of the request */
        uint64_t sandbox;
        uint64_t connections, refused; /* refused: connections, lookups and requests */
        uint64_t bytes_sent, bytes_received;
        uint64_t lookups;
};

struct egress_refused {
        uint32_t type;
        uint32_t limit; /* 1: of kind "limit", else "network" */
        uint64_t sandbox;
        char target[288]; /* "evil.example:443", printable ASCII */
        char detail[128]; /* "not in allowed_domains" */
};

_Static_assert(sizeof(struct egress_about) == 16 && sizeof(struct egress_config) == 16, "no holes");
_Static_assert(sizeof(struct egress_attach) == 16 + 6 * 4 + 8, "no holes");
_Static_assert(sizeof(struct egress_counted) == 16 + 5 * 8, "no holes");
_Static_assert(sizeof(struct egress_refused) == 16 + 288 + 128, "no holes");
