/* jail/way_out.c -- the only connection of a sandbox's network namespace to the outside.
 *
 * Theory of operation.  The namespace has only a loopback device, so no link can be left open by mistake.  A
 * route makes every address local ("AnyIP"), so everything that the code sends arrives in the same namespace.
 * nftables' tproxy passes TCP connections, except those to loopback, unchanged to one listener: the accepted
 * connection has the dialled address and port as its local address.  DNS needs no rule: a socket on port 53
 * of all addresses receives every query.  Everything else is dropped at the sender, which gets EPERM at once.
 *
 * NAT redirection is not used because it needs connection tracking: its entries are charged to no cgroup,
 * stay for minutes, and share one table with the host's.  Here the sockets are the only state.
 *
 * The sockets are passed out of the sandbox.  Their ports are below 1024 and the code has no capabilities in
 * the namespace, so it can bind neither, even after the process that holds them has died.  Without the rules,
 * connections would be refused because no program listens. */
#include "jail/way_out.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"
#include "sys/file.h"
#include "sys/netlink.h"
#include "sys/raw.h"
#include "wire/egress.h"

#define LOOPBACK 1 /* the index of lo in every namespace */
#define DNS_PORT 53
#define BACKLOG 1024
#define TABLE "cella"

/* The addresses of the code.  With loopback addresses only, libraries assume that there is no network and
 * resolve no names (AI_ADDRCONFIG).  These are the dummy address of RFC 7600 and an address of a private
 * range; neither is ever used as a destination. */
static const uint8_t own_v4[4] = {192, 0, 0, 8};
static const uint8_t own_v6[16] = {0xfd, 0x7c, 0x1a, 0xce, 0x11, 0xa0, [15] = 1};

/* ---- routes ---- */

static void add_address(struct netlink *n, int family, const void *address, size_t len)
{
        const struct ifaddrmsg head = {
                .ifa_family = (uint8_t)family,
                .ifa_prefixlen = (uint8_t)(len * 8),
                .ifa_flags = IFA_F_PERMANENT | (family == AF_INET6 ? IFA_F_NODAD : 0),
                .ifa_index = LOOPBACK,
        };
        netlink_begin(n, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof head);
        netlink_put(n, IFA_LOCAL, address, len);
        netlink_put(n, IFA_ADDRESS, address, len);
}

/* Makes every address local, with `source` as the default source address. */
static void add_route(struct netlink *n, int family, const void *source, size_t len)
{
        const struct rtmsg head = {
                .rtm_family = (uint8_t)family,
                .rtm_table = RT_TABLE_LOCAL,
                .rtm_protocol = RTPROT_STATIC,
                .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
                .rtm_type = RTN_LOCAL,
        };
        const uint32_t device = LOOPBACK;
        netlink_begin(n, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &head, sizeof head);
        netlink_put(n, RTA_OIF, &device, sizeof device);
        netlink_put(n, RTA_PREFSRC, source, len);
}

static int make_routes(struct netlink *n)
{
        const struct ifinfomsg up = {.ifi_index = LOOPBACK, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
        netlink_init(n);
        netlink_begin(n, RTM_NEWLINK, 0, &up,
                      sizeof up); /* the maker of the namespace may not have done this yet */
        add_address(n, AF_INET, own_v4, sizeof own_v4);
        add_route(n, AF_INET, own_v4, sizeof own_v4);
        netlink_want_answer(n);
        return netlink_send(n, NETLINK_ROUTE);
}

static int make_routes_v6(struct netlink *n)
{
        netlink_init(n);
        add_address(n, AF_INET6, own_v6, sizeof own_v6);
        add_route(n, AF_INET6, own_v6, sizeof own_v6);
        netlink_want_answer(n);
        return netlink_send(n, NETLINK_ROUTE);
}

/* ---- rules ---- */

static void begin_rules(struct netlink *n, unsigned what, unsigned flags)
{
        const struct nfgenmsg head = {.nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0};
        netlink_begin(n, NFNL_SUBSYS_NFTABLES << 8 | what, flags, &head, sizeof head);
}

static void batch(struct netlink *n, unsigned what)
{
        const struct nfgenmsg head = {.res_id = htons(NFNL_SUBSYS_NFTABLES)};
        netlink_begin(n, what, 0, &head, sizeof head);
}

static void add_chain(struct netlink *n, const char *name, unsigned hook, int priority, unsigned policy)
{
        begin_rules(n, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
        netlink_put_string(n, NFTA_CHAIN_TABLE, TABLE);
        netlink_put_string(n, NFTA_CHAIN_NAME, name);
        size_t at = netlink_open(n, NFTA_CHAIN_HOOK);
        netlink_put_be32(n, NFTA_HOOK_HOOKNUM, hook);
        netlink_put_be32(n, NFTA_HOOK_PRIORITY, (uint32_t)priority);
        netlink_close(n, at);
        netlink_put_be32(n, NFTA_CHAIN_POLICY, policy);
        netlink_put_string(n, NFTA_CHAIN_TYPE, "filter");
}

/* A rule is a list of expressions.  If all match, the last one decides. */
static size_t open_rule(struct netlink *n, const char *chain)
{
        begin_rules(n, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
        netlink_put_string(n, NFTA_RULE_TABLE, TABLE);
        netlink_put_string(n, NFTA_RULE_CHAIN, chain);
        return netlink_open(n, NFTA_RULE_EXPRESSIONS);
}

struct expression {
        size_t element, data;
};

static struct expression open_expression(struct netlink *n, const char *name)
{
        struct expression e;
        e.element = netlink_open(n, NFTA_LIST_ELEM);
        netlink_put_string(n, NFTA_EXPR_NAME, name);
        e.data = netlink_open(n, NFTA_EXPR_DATA);
        return e;
}

static void close_expression(struct netlink *n, struct expression e)
{
        netlink_close(n, e.data);
        netlink_close(n, e.element);
}

static void way_out_put_value(struct netlink *n, unsigned type, const void *value, size_t len)
{
        size_t at = netlink_open(n, type);
        netlink_put(n, NFTA_DATA_VALUE, value, len);
        netlink_close(n, at);
}

static void is_equal(struct netlink *n, const void *value, size_t len)
{
        struct expression e = open_expression(n, "cmp");
        netlink_put_be32(n, NFTA_CMP_SREG, NFT_REG_1);
        netlink_put_be32(n, NFTA_CMP_OP, NFT_CMP_EQ);
        way_out_put_value(n, NFTA_CMP_DATA, value, len);
        close_expression(n, e);
}

/* key: NFT_META_NFPROTO or NFT_META_L4PROTO, both one byte. */
static void if_meta(struct netlink *n, unsigned key, uint8_t value)
{
        struct expression e = open_expression(n, "meta");
        netlink_put_be32(n, NFTA_META_DREG, NFT_REG_1);
        netlink_put_be32(n, NFTA_META_KEY, key);
        close_expression(n, e);
        is_equal(n, &value, 1);
}

/* base: NFT_PAYLOAD_NETWORK_HEADER or NFT_PAYLOAD_TRANSPORT_HEADER. */
static void if_bytes(struct netlink *n, unsigned base, unsigned offset, const void *value, size_t len)
{
        struct expression e = open_expression(n, "payload");
        netlink_put_be32(n, NFTA_PAYLOAD_DREG, NFT_REG_1);
        netlink_put_be32(n, NFTA_PAYLOAD_BASE, base);
        netlink_put_be32(n, NFTA_PAYLOAD_OFFSET, offset);
        netlink_put_be32(n, NFTA_PAYLOAD_LEN, (uint32_t)len);
        close_expression(n, e);
        is_equal(n, value, len);
}

static void then_accept(struct netlink *n)
{
        struct expression e = open_expression(n, "immediate");
        netlink_put_be32(n, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
        size_t data = netlink_open(n, NFTA_IMMEDIATE_DATA);
        size_t verdict = netlink_open(n, NFTA_DATA_VERDICT);
        netlink_put_be32(n, NFTA_VERDICT_CODE, NF_ACCEPT);
        netlink_close(n, verdict);
        netlink_close(n, data);
        close_expression(n, e);
}

/* Passes the connection to the listener on this port.  Without a listener, the rule ends without a
 * verdict. */
static void then_listener(struct netlink *n, uint16_t port)
{
        const uint16_t swapped = htons(port);
        struct expression e = open_expression(n, "immediate");
        netlink_put_be32(n, NFTA_IMMEDIATE_DREG, NFT_REG_1);
        way_out_put_value(n, NFTA_IMMEDIATE_DATA, &swapped, sizeof swapped);
        close_expression(n, e);
        e = open_expression(n, "tproxy");
        netlink_put_be32(n, NFTA_TPROXY_FAMILY, NFPROTO_UNSPEC); /* IPv4 and IPv6 */
        netlink_put_be32(n, NFTA_TPROXY_REG_PORT, NFT_REG_1);
        close_expression(n, e);
}

static void accept_loopback(struct netlink *n, const char *chain)
{
        static const uint8_t v4_net = 127, v6[16] = {[15] = 1};
        size_t rule = open_rule(n, chain);
        if_meta(n, NFT_META_NFPROTO, NFPROTO_IPV4);
        if_bytes(n, NFT_PAYLOAD_NETWORK_HEADER, 16, &v4_net, 1); /* destination in 127.0.0.0/8 */
        then_accept(n);
        netlink_close(n, rule);
        rule = open_rule(n, chain);
        if_meta(n, NFT_META_NFPROTO, NFPROTO_IPV6);
        if_bytes(n, NFT_PAYLOAD_NETWORK_HEADER, 24, v6, sizeof v6); /* destination ::1 */
        then_accept(n);
        netlink_close(n, rule);
}

/* offset: 0 matches the source port, 2 the destination port. */
static void accept_dns(struct netlink *n, const char *chain, unsigned offset)
{
        const uint16_t port = htons(DNS_PORT);
        size_t rule = open_rule(n, chain);
        if_meta(n, NFT_META_L4PROTO, IPPROTO_UDP);
        if_bytes(n, NFT_PAYLOAD_TRANSPORT_HEADER, offset, &port, sizeof port);
        then_accept(n);
        netlink_close(n, rule);
}

/* Accepts "port unreachable", which the kernel sends for a closed socket; without it the sender would
 * wait. */
static void accept_unreachable(struct netlink *n, const char *chain, uint8_t protocol, uint8_t type)
{
        size_t rule = open_rule(n, chain);
        if_meta(n, NFT_META_L4PROTO, protocol);
        if_bytes(n, NFT_PAYLOAD_TRANSPORT_HEADER, 0, &type, 1);
        then_accept(n);
        netlink_close(n, rule);
}

static int make_rules(struct netlink *n)
{
        size_t rule;
        netlink_init(n);
        batch(n, NFNL_MSG_BATCH_BEGIN);
        begin_rules(n, NFT_MSG_NEWTABLE, NLM_F_CREATE);
        netlink_put_string(n, NFTA_TABLE_NAME, TABLE);
        add_chain(n, "in", NF_INET_PRE_ROUTING, NF_IP_PRI_MANGLE, NF_ACCEPT);
        accept_loopback(n, "in");
        rule = open_rule(n, "in");
        if_meta(n, NFT_META_L4PROTO, IPPROTO_TCP);
        then_listener(n, EGRESS_PORT);
        then_accept(n);
        netlink_close(n, rule);
        add_chain(n, "out", NF_INET_LOCAL_OUT, NF_IP_PRI_FILTER, NF_DROP);
        accept_loopback(n, "out");
        rule = open_rule(n, "out");
        if_meta(n, NFT_META_L4PROTO, IPPROTO_TCP);
        then_accept(n);
        netlink_close(n, rule);
        accept_dns(n, "out", 0);
        accept_dns(n, "out", 2);
        accept_unreachable(n, "out", IPPROTO_ICMP, ICMP_DEST_UNREACH);
        accept_unreachable(n, "out", IPPROTO_ICMPV6, ICMP6_DST_UNREACH);
        netlink_want_answer(n);
        batch(n, NFNL_MSG_BATCH_END);
        return netlink_send(n, NETLINK_NETFILTER);
}

/* ---- sockets ---- */

static int way_out_set(int fd, int level, int option, int value)
{
        return (int)sys_call5(SYS_setsockopt, fd, level, option, &value, sizeof value);
}

/* Opens a socket for both families if possible.  Without SO_REUSEADDR and SO_REUSEPORT, which would let other
 * sockets bind the port. */
static int open_socket(bool v6, int type, uint16_t port)
{
        const struct sockaddr_in6 any_v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        const struct sockaddr_in any_v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
        AUTO(sys_close)
        int fd = (int)sys_call3(SYS_socket, v6 ? AF_INET6 : AF_INET, type | flags, 0);
        int r = fd < 0 ? fd : way_out_set(fd, IPPROTO_IP, IP_TRANSPARENT, 1); /* accepts any local address */
        if (r == 0 && v6)
                r = way_out_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
        if (r == 0 && type == SOCK_DGRAM)
                r = v6 ? way_out_set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
                       : way_out_set(fd, IPPROTO_IP, IP_PKTINFO, 1);
        if (r == 0)
                r = v6 ? (int)sys_call3(SYS_bind, fd, &any_v6, sizeof any_v6)
                       : (int)sys_call3(SYS_bind, fd, &any_v4, sizeof any_v4);
        if (r == 0 && type == SOCK_STREAM)
                r = (int)sys_call2(SYS_listen, fd, BACKLOG);
        return r < 0 ? r : TAKE_FD(fd);
}

/* Whether IPv6 is disabled, in one of several ways.  The code then cannot reach IPv6 addresses. */
static bool has_no_v6(int r)
{
        return r == -EAFNOSUPPORT || r == -EOPNOTSUPP || r == -EACCES;
}

int way_out_make(struct way_out *ret, struct cella_err *err)
{
        struct netlink n;
        int r = make_routes(&n);
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "egress: cannot set routes");
        r = make_routes_v6(&n);
        if (r < 0 && !has_no_v6(r))
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "egress: cannot set IPv6 routes");
        r = make_rules(&n);
        if (r < 0) {
                err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "egress: cannot set nftables rules");
                return err_hint(
                        err, "the kernel needs nf_tables and nft_tproxy: modprobe -a nf_tables nft_tproxy");
        }
        AUTO(sys_close) int tcp = open_socket(true, SOCK_STREAM, EGRESS_PORT);
        bool v6 = tcp != -EAFNOSUPPORT;
        if (!v6)
                tcp = open_socket(false, SOCK_STREAM, EGRESS_PORT);
        AUTO(sys_close) int udp = tcp < 0 ? tcp : open_socket(v6, SOCK_DGRAM, DNS_PORT);
        if (udp < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, udp, "egress: cannot listen in the sandbox");
        *ret = (struct way_out){TAKE_FD(tcp), TAKE_FD(udp)};
        return 0;
}
