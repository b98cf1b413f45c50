/* wire/egress.h -- messages between the owner of sandboxes (the server, or `cella run`) and the egress
 * process.
 *
 * The transport is a SOCK_SEQPACKET pair: one message per packet.  The egress process does not trust its
 * owner more than necessary: a packet of the wrong size, an unknown type or a text without a terminating
 * NUL closes the connection, and then no sandbox has network access.  Native byte order; no padding in the
 * structs.
 *
 * The two sockets of a sandbox (jail/way_out.c creates them) are AF_INET6 for both families, or AF_INET on
 * a host without IPv6.  Packets reach them without address translation, so there is no SO_ORIGINAL_DST:
 * - The listener's port is EGRESS_PORT.  getsockname() of an accepted connection returns the address and
 *   port that the code has connected to (::ffff:1.2.3.4 for IPv4).  A loopback address means that the code
 *   has connected to the listener itself.
 * - With each query, the UDP socket returns IPV6_PKTINFO (AF_INET: IP_PKTINFO) with the destination
 *   address.  The reply must be sent from this address, or the client ignores it.
 * - Before the egress process takes anything from either socket, it sets the listener's SO_PRIORITY to
 *   EGRESS_USED. The owner has both sockets, too.  If nothing is queued in them and this mark is not set,
 *   the owner knows that there is nothing to count and need not ask. */
#pragma once
#include <stdint.h>

#define EGRESS_CONTROL_FD 3               /* the socket in the egress process */
#define EGRESS_PORT 1                     /* the listener's; sandboxed code cannot bind it */
#define EGRESS_USED 1                     /* SO_PRIORITY of the listener, see above */
#define EGRESS_PROXY_ADDRESS "198.18.0.1" /* synthetic: the proxy (EGRESS_PROXY_PORT) and the DNS server */
#define EGRESS_PROXY_PORT 3128
#define EGRESS_PROXY_URL "http://" EGRESS_PROXY_ADDRESS ":3128"
#define EGRESS_TEXT_MAX (96u * 1024) /* of a policy; a packet must fit into the socket's buffer */
#define EGRESS_CONFIG_MAX (64u * 1024)
#define EGRESS_PATTERN_MAX 272u   /* a name of 253 characters, a port, the suffix of a CIDR and the NUL */
#define EGRESS_PATTERNS_MAX 1000u /* per list */
#define EGRESS_SANDBOXES_MAX 4096u
#define EGRESS_REPORTED_MAX 64u /* refusals reported per sandbox and EGRESS_BEGIN */

enum egress_tier { EGRESS_RESTRICTED, EGRESS_STANDARD, EGRESS_ELEVATED };

enum egress_request {
        EGRESS_CONFIG = 1, /* struct egress_config, texts: how names are resolved.  The first message, sent
                              again when it changes; no reply */
        EGRESS_ATTACH, /* struct egress_attach, patterns; descriptors: the TCP listener and the UDP socket for
                          DNS in the sandbox's network namespace, see above.  No reply on success;
                          EGRESS_FAILED on failure */
        EGRESS_CHANGE, /* same without descriptors: a new policy.  Connections that it does not allow are
                          closed.  No reply */
        /* All others: struct egress_about. */
        EGRESS_BEGIN,  /* an execution starts: resets the counters and the list of reported refusals; no reply
                        */
        EGRESS_COUNT,  /* replies EGRESS_COUNTED, after an EGRESS_REFUSED for each earlier refusal */
        EGRESS_DETACH, /* closes all sockets of the sandbox; no reply.  Unknown sandboxes are ignored */
};

enum egress_reply {
        EGRESS_COUNTED = 100, /* struct egress_counted */
        EGRESS_REFUSED,       /* struct egress_refused: unsolicited */
        EGRESS_FAILED,        /* struct egress_about, number: an errno; the sandbox then has no network */
};

struct egress_about {
        uint32_t type, number;
        uint64_t sandbox; /* chosen by the owner, never reused */
};

struct egress_config {
        uint32_t type;
        uint32_t resolv_length, hosts_length; /* lengths of /etc/resolv.conf and /etc/hosts, which follow */
        uint32_t reserved;
};

/* A name must match a pattern in each of the `allowed` lists that are present (the first from the settings,
 * the second from the request, which can only restrict the first) and none in `blocked`. */
struct egress_attach {
        uint32_t type;
        uint32_t tier; /* enum egress_tier, not EGRESS_RESTRICTED */
        uint64_t sandbox;
        uint32_t n_allowed[2]; /* number of patterns; EGRESS_ANY: no restriction (tier elevated) */
        uint32_t n_blocked, n_private;
        uint32_t connections_max; /* concurrent */
        uint32_t idle_ms;         /* idle timeout of a connection */
        uint64_t bytes_max;       /* both directions, per EGRESS_BEGIN; 0: no limit */
        /* then the patterns, each terminated by NUL: allowed[0], allowed[1], blocked, private */
};

#define EGRESS_ANY (~0u)

struct egress_counted {
        uint32_t type, number; /* number of the request */
        uint64_t sandbox;
        uint64_t connections, refused; /* refused connections, lookups and requests */
        uint64_t bytes_sent, bytes_received;
        uint64_t lookups;
};

struct egress_refused {
        uint32_t type;
        uint32_t limit; /* 1: violation of kind "limit", 0: "network" */
        uint64_t sandbox;
        char target[288]; /* "evil.example:443", printable ASCII */
        char detail[128]; /* "not in allowed_domains" */
};

_Static_assert(sizeof(struct egress_about) == 16 && sizeof(struct egress_config) == 16, "no holes");
_Static_assert(sizeof(struct egress_attach) == 16 + 6 * 4 + 8, "no holes");
_Static_assert(sizeof(struct egress_counted) == 16 + 5 * 8, "no holes");
_Static_assert(sizeof(struct egress_refused) == 16 + 288 + 128, "no holes");
