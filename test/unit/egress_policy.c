/* The decisions of policies. */
#include "egress/policy/policy.h"

#include <malloc.h>

#include "test.h"

/* ---- messages ---- */

#define ANY ((const char *)1)

/* Lists are patterns with spaces between them; ANY: not there. */
struct lists {
        uint32_t tier;
        const char *allowed[2], *blocked, *private;
};

struct packet {
        struct egress_attach head;
        char text[4096];
        size_t length;
};

static uint32_t put(struct packet *p, const char *list)
{
        uint32_t n = 0;

        if (list == ANY)
                return EGRESS_ANY;
        for (const char *at = list; at != NULL && *at != '\0'; n++) {
                size_t length = strcspn(at, " ");

                memcpy(p->text + p->length, at, length);
                p->text[p->length + length] = '\0';
                p->length += length + 1;
                at += length + (at[length] == ' ');
        }
        return n;
}

static struct packet pack(struct lists lists)
{
        struct packet p = {0};

        p.head = (struct egress_attach){
                .type = EGRESS_ATTACH,
                .tier = lists.tier,
                .sandbox = 7,
                .connections_max = 10,
                .idle_ms = 1000,
                .bytes_max = 1 << 20,
        };
        p.head.n_allowed[0] = put(&p, lists.allowed[0]);
        p.head.n_allowed[1] = put(&p, lists.allowed[1]);
        p.head.n_blocked = put(&p, lists.blocked);
        p.head.n_private = put(&p, lists.private);
        p.length += sizeof(p.head);
        return p;
}

static struct policy *policy_of(struct lists lists)
{
        struct packet p = pack(lists);
        struct policy *policy = NULL;

        CHECK_INT(policy_get(&p.head, p.length, &policy), 0);
        return policy;
}

/* NAME:PORT or ADDRESS:PORT, an IPv6 address in [ ]. */
static struct destination to(const char *text)
{
        struct destination d = {0};
        const char *colon = strrchr(text, ':');
        size_t length = (size_t)(colon - text);

        d.port = (uint16_t)atoi(colon + 1);
        if (address_parse(text, length, &d.address) < 0) {
                d.address = (struct address){0};
                CHECK_INT(name_normalise(text, length, d.name), 0);
        }
        return d;
}

static const char *refuses(const struct policy *policy, enum policy_kind kind, const char *text)
{
        struct destination d = to(text);

        return policy_refuses(policy, kind, &d);
}

static const char not_in[] = "not in allowed_domains";
static const char no_address[] = "an address that is not in allowed_domains";
static const char blocked[] = "in blocked_domains";
static const char other_port[] = "in allowed_domains, but not with this port";
static const char raw[] = "neither TLS with a name nor HTTP, and no entry of allowed_domains names the port";

TEST(standard_allows_listed_hosts_only)
{
        struct policy *p = policy_of((struct lists){
                EGRESS_STANDARD,
                {"example.com *.example.org db.example.net:5432 *.git.example:22 1.2.3.4 5.6.7.8:25 "
                 "[2001:db8::1]:443",
                 ANY}});
        static const struct {
                enum policy_kind kind;
                const char *to, *why;
        } cases[] = {
                {POLICY_SPOKEN, "example.com:443", NULL},
                {POLICY_SPOKEN, "example.com:80", NULL},
                {POLICY_SPOKEN, "EXAMPLE.COM.:80", NULL},
                {POLICY_SPOKEN, "example.com:8080", other_port},
                {POLICY_SPOKEN, "example.com:0", other_port},
                {POLICY_RAW, "example.com:443", raw},
                {POLICY_RAW, "example.com:80", raw},
                {POLICY_RAW, "example.com:22", other_port},
                {POLICY_LOOKUP, "example.com:0", NULL},
                {POLICY_SPOKEN, "www.example.com:443", not_in},
                {POLICY_SPOKEN, "xexample.com:443", not_in},
                {POLICY_SPOKEN, "example.com.evil.net:443", not_in},
                {POLICY_SPOKEN, "example.co:443", not_in},
                {POLICY_SPOKEN, "xample.com:443", not_in},
                {POLICY_SPOKEN, "com:443", not_in},
                {POLICY_LOOKUP, "www.example.com:0", not_in},
                /* names below it: not the name itself, and only after a dot */
                {POLICY_SPOKEN, "a.example.org:443", NULL},
                {POLICY_SPOKEN, "a.b.c.example.org:80", NULL},
                {POLICY_SPOKEN, "example.org:443", not_in},
                {POLICY_SPOKEN, "evilexample.org:443", not_in},
                {POLICY_SPOKEN, "a-example.org:443", not_in},
                {POLICY_SPOKEN, "a.example.org.evil.net:443", not_in},
                {POLICY_LOOKUP, "a.example.org:0", NULL},
                {POLICY_LOOKUP, "example.org:0", not_in},
                {POLICY_RAW, "a.example.org:443", raw},
                /* an entry with a port allows only this port, whether or not the connection names the host */
                {POLICY_RAW, "db.example.net:5432", NULL},
                {POLICY_SPOKEN, "db.example.net:5432", NULL},
                {POLICY_SPOKEN, "db.example.net:443", other_port},
                {POLICY_RAW, "db.example.net:443", other_port},
                {POLICY_LOOKUP, "db.example.net:0", NULL},
                {POLICY_RAW, "x.git.example:22", NULL},
                {POLICY_RAW, "git.example:22", not_in},
                {POLICY_RAW, "x.git.example:23", other_port},
                /* addresses only if they are listed */
                {POLICY_SPOKEN, "1.2.3.4:80", NULL},
                {POLICY_SPOKEN, "[::ffff:1.2.3.4]:80", NULL},
                {POLICY_SPOKEN, "[::1.2.3.4]:80", no_address},
                {POLICY_SPOKEN, "[64:ff9b::1.2.3.4]:80", no_address},
                {POLICY_RAW, "1.2.3.4:80", raw},
                {POLICY_RAW, "1.2.3.4:22", other_port},
                {POLICY_RAW, "5.6.7.8:25", NULL},
                {POLICY_RAW, "5.6.7.8:26", other_port},
                {POLICY_SPOKEN, "5.6.7.8:443", other_port},
                {POLICY_SPOKEN, "[2001:db8::1]:443", NULL},
                {POLICY_RAW, "[2001:db8::1]:443", NULL},
                {POLICY_SPOKEN, "[2001:db8::1]:80", other_port},
                {POLICY_SPOKEN, "[2001:db8::2]:443", no_address},
                {POLICY_SPOKEN, "9.9.9.9:443", no_address},
                {POLICY_RAW, "127.0.0.1:5432", no_address},
                {POLICY_LOOKUP, "1.2.3.4:0", NULL},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                const char *why = refuses(p, cases[i].kind, cases[i].to);

                if (why != cases[i].why && (why == NULL || cases[i].why == NULL || strcmp(why, cases[i].why)))
                        CHECK_STR(cases[i].to, why ? why : "refused");
        }
        policy_drop(p);
}

TEST(an_empty_list_allows_nothing)
{
        struct policy *p = policy_of((struct lists){EGRESS_STANDARD, {"", ANY}});

        CHECK_STR(refuses(p, POLICY_SPOKEN, "example.com:443"), not_in);
        CHECK_STR(refuses(p, POLICY_LOOKUP, "example.com:0"), not_in);
        CHECK_STR(refuses(p, POLICY_RAW, "1.2.3.4:22"), no_address);
        policy_drop(p);
        p = policy_of((struct lists){EGRESS_STANDARD, {"*.example.com", ""}});
        CHECK_STR(refuses(p, POLICY_SPOKEN, "a.example.com:443"), not_in);
        policy_drop(p);
}

TEST(both_lists_must_allow)
{
        struct policy *p = policy_of((struct lists){EGRESS_STANDARD,
                                                    {"*.example.com pypi.org db.example:5432",
                                                     "a.example.com evil.net db.example pypi.org:443"}});

        CHECK_STR(refuses(p, POLICY_SPOKEN, "a.example.com:443"), NULL);
        CHECK_STR(refuses(p, POLICY_LOOKUP, "a.example.com:0"), NULL);
        CHECK_STR(refuses(p, POLICY_SPOKEN, "b.example.com:443"), not_in); /* narrowed away */
        CHECK_STR(refuses(p, POLICY_SPOKEN, "evil.net:443"), not_in);      /* not widened */
        CHECK_STR(refuses(p, POLICY_LOOKUP, "evil.net:0"), not_in);
        CHECK_STR(refuses(p, POLICY_RAW, "db.example:5432"), other_port); /* both must name the port */
        CHECK_STR(refuses(p, POLICY_SPOKEN, "db.example:443"), other_port);
        CHECK_STR(refuses(p, POLICY_SPOKEN, "pypi.org:443"), NULL);
        CHECK_STR(refuses(p, POLICY_SPOKEN, "pypi.org:80"), other_port);
        policy_drop(p);

        p = policy_of((struct lists){EGRESS_STANDARD, {ANY, "a.example.com"}}); /* the second alone */
        CHECK_STR(refuses(p, POLICY_SPOKEN, "a.example.com:443"), NULL);
        CHECK_STR(refuses(p, POLICY_SPOKEN, "b.example.com:443"), not_in);
        policy_drop(p);
}

TEST(blocked_beats_allowed)
{
        for (int elevated = 0; elevated < 2; elevated++) {
                struct policy *p = policy_of((struct lists){
                        elevated ? EGRESS_ELEVATED : EGRESS_STANDARD,
                        {elevated ? ANY : "*.example.com *.example.com:25 example.com 9.9.9.9", ANY},
                        "evil.example.com *.bad.example.com mail.example.com:25 9.9.9.9"});

                CHECK_STR(refuses(p, POLICY_SPOKEN, "good.example.com:443"), NULL);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "evil.example.com:443"), blocked);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "EVIL.example.com.:443"), blocked);
                CHECK_STR(refuses(p, POLICY_RAW, "evil.example.com:25"), blocked); /* every port */
                CHECK_STR(refuses(p, POLICY_LOOKUP, "evil.example.com:0"), blocked);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "x.evil.example.com:443"), NULL);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "bad.example.com:443"), NULL);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "x.y.bad.example.com:443"), blocked);
                CHECK_STR(refuses(p, POLICY_RAW, "mail.example.com:25"), blocked);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "mail.example.com:443"), NULL);
                CHECK_STR(refuses(p, POLICY_LOOKUP, "mail.example.com:0"), NULL);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "9.9.9.9:443"), blocked);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "[::ffff:9.9.9.9]:443"), blocked);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "[64:ff9b::9.9.9.9]:443"), blocked);
                CHECK_STR(refuses(p, POLICY_SPOKEN, "[2002:909:909::1]:443"), blocked);
                policy_drop(p);
        }
}

TEST(elevated_allows_the_rest)
{
        struct policy *p = policy_of((struct lists){EGRESS_ELEVATED, {ANY, ANY}, "evil.example"});

        CHECK_STR(refuses(p, POLICY_SPOKEN, "example.com:443"), NULL);
        CHECK_STR(refuses(p, POLICY_SPOKEN, "example.com:8443"), NULL);
        CHECK_STR(refuses(p, POLICY_RAW, "example.com:22"), NULL);
        CHECK_STR(refuses(p, POLICY_RAW, "example.com:443"), NULL);
        CHECK_STR(refuses(p, POLICY_RAW, "1.2.3.4:22"), NULL);
        CHECK_STR(refuses(p, POLICY_LOOKUP, "example.com:0"), NULL);
        CHECK_STR(refuses(p, POLICY_LOOKUP, "evil.example:0"), blocked);
        policy_drop(p);

        p = policy_of((struct lists){EGRESS_ELEVATED, {ANY, "example.com"}}); /* the second list alone */
        CHECK_STR(refuses(p, POLICY_SPOKEN, "example.com:443"), NULL);
        CHECK_STR(refuses(p, POLICY_SPOKEN, "example.org:443"), not_in);
        CHECK_STR(refuses(p, POLICY_RAW, "example.com:22"), other_port);
        policy_drop(p);
}

/* ---- addresses ---- */

static const char *refuses_address(const struct policy *policy, const char *whom, const char *address)
{
        static char text[128];
        struct destination d = to(whom);
        struct address a;

        CHECK_INT(address_parse(address, strlen(address), &a), 0);
        memset(text, 'x', sizeof(text));
        return policy_refuses_address(policy, &d, &a, text);
}

TEST(addresses_that_are_not_public_are_refused)
{
        struct policy *p = policy_of((struct lists){EGRESS_STANDARD, {"example.com 10.0.0.1", ANY}});

        CHECK_STR(refuses_address(p, "example.com:443", "93.184.216.34"), NULL);
        CHECK_STR(refuses_address(p, "example.com:443", "2606:2800:220:1::1"), NULL);
        CHECK_STR(refuses_address(p, "example.com:443", "10.0.0.1"),
                  "resolves to 10.0.0.1, which is private");
        CHECK_STR(refuses_address(p, "example.com:443", "::ffff:127.0.0.1"),
                  "resolves to 127.0.0.1, which is loopback");
        CHECK_STR(refuses_address(p, "example.com:443", "::1"), "resolves to ::1, which is loopback");
        CHECK_STR(refuses_address(p, "example.com:443", "0.0.0.0"),
                  "resolves to 0.0.0.0, which is unspecified");
        CHECK_STR(refuses_address(p, "example.com:443", "169.254.169.254"),
                  "resolves to 169.254.169.254, which is metadata");
        CHECK_STR(refuses_address(p, "example.com:443", "64:ff9b::169.254.169.254"),
                  "resolves to 64:ff9b::a9fe:a9fe, which is metadata");
        CHECK_STR(refuses_address(p, "example.com:443", "198.18.0.5"),
                  "resolves to 198.18.0.5, which is reserved");
        CHECK_STR(refuses_address(p, "example.com:443", "fd12:3456:789a:bcde:f012:3456:789a:bcde"),
                  "resolves to fd12:3456:789a:bcde:f012:3456:789a:bcde, which is private");
        /* an entry in allowed_domains does not lift the ban */
        CHECK_STR(refuses_address(p, "10.0.0.1:443", "10.0.0.1"), "10.0.0.1, which is private");
        policy_drop(p);
}

TEST(allowed_private_lifts_only_the_ban_on_private_addresses)
{
        static const char everywhere[] =
                "db.internal *.corp.example cache.internal:6379 10.1.0.0/16 10.2.0.1 192.168.0.0/16:8080 "
                "fd00::/8 100.64.0.0/10 169.254.0.0/16 [::1]:11434";
        struct policy *p = policy_of((struct lists){EGRESS_ELEVATED, {ANY, ANY}, "10.1.6.6", everywhere});
        static const struct {
                const char *whom, *address;
                bool good;
        } cases[] = {
                {"db.internal:5432", "10.9.9.9", true}, /* by name, with any address */
                {"db.internal:5432", "127.0.0.1", true},
                {"DB.internal.:5432", "10.9.9.9", true},
                {"x.db.internal:5432", "10.9.9.9", false},
                {"x.corp.example:443", "10.9.9.9", true},
                {"corp.example:443", "10.9.9.9", false},
                {"evilcorp.example:443", "10.9.9.9", false},
                {"cache.internal:6379", "10.9.9.9", true},
                {"cache.internal:6380", "10.9.9.9", false},
                {"cache.internal:0", "10.9.9.9", true}, /* a lookup */
                {"any.example:443", "10.1.2.3", true},  /* by network */
                {"any.example:443", "10.0.255.255", false},
                {"any.example:443", "10.1.6.6", false}, /* blocked_domains has priority */
                {"db.internal:443", "10.1.6.6", false},
                {"10.1.2.3:22", "10.1.2.3", true},
                {"any.example:443", "10.2.0.1", true},
                {"any.example:443", "10.2.0.2", false},
                {"any.example:8080", "192.168.1.1", true},
                {"any.example:8081", "192.168.1.1", false},
                {"any.example:443", "fd12::1", true},
                {"any.example:443", "fe80::1", false},
                {"any.example:443", "::1", false},
                {"any.example:11434", "::1", true},
                {"any.example:443", "64:ff9b::10.1.2.3", false}, /* another address */
                /* metadata: not by a name, not by a network that happens to hold it */
                {"db.internal:80", "169.254.169.254", false},
                {"x.corp.example:80", "169.254.169.254", false},
                {"any.example:80", "169.254.169.254", false},
                {"any.example:80", "169.254.1.1", true},
                {"any.example:80", "fd00:ec2::254", false},
                {"any.example:80", "100.100.100.200", false},
                {"any.example:80", "100.100.100.201", true},
                {"169.254.169.254:80", "169.254.169.254", false},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                const char *why = refuses_address(p, cases[i].whom, cases[i].address);

                if ((why == NULL) != cases[i].good)
                        CHECK_STR(cases[i].address, why ? why : "refused");
        }
        policy_drop(p);

        p = policy_of((struct lists){EGRESS_ELEVATED, {ANY, ANY}, "", "169.254.169.254 fd00:ec2::254/128"});
        CHECK_STR(refuses_address(p, "any.example:80", "169.254.169.254"),
                  NULL); /* an explicit entry allows it */
        CHECK_STR(refuses_address(p, "any.example:80", "fd00:ec2::254"), NULL);
        policy_drop(p);

        /* IPv4 is kept as ::ffff:0:0/96: IPv6 networks around that must not hold it. */
        p = policy_of((struct lists){EGRESS_ELEVATED, {ANY, ANY}, "", "::/1 ::/80 ::/95"});
        CHECK(refuses_address(p, "any.example:80", "127.0.0.1") != NULL);
        CHECK(refuses_address(p, "any.example:80", "10.0.0.1") != NULL);
        CHECK_STR(refuses_address(p, "any.example:80", "::1"), NULL);
        policy_drop(p);

        /* in standard it allows nothing */
        p = policy_of((struct lists){EGRESS_STANDARD, {"", ANY}, "", everywhere});
        CHECK_STR(refuses(p, POLICY_SPOKEN, "db.internal:443"), not_in);
        CHECK_STR(refuses(p, POLICY_RAW, "cache.internal:6379"), not_in);
        CHECK_STR(refuses(p, POLICY_SPOKEN, "10.1.2.3:443"), no_address);
        CHECK_STR(refuses(p, POLICY_LOOKUP, "db.internal:0"), not_in);
        policy_drop(p);
}

TEST(blocked_addresses_are_blocked_behind_names)
{
        struct policy *p =
                policy_of((struct lists){EGRESS_ELEVATED, {ANY, ANY}, "9.9.9.9 8.8.8.8:53", "9.9.9.9"});

        CHECK_STR(refuses_address(p, "any.example:443", "9.9.9.9"),
                  "resolves to 9.9.9.9, which is in blocked_domains");
        CHECK_STR(refuses_address(p, "9.9.9.9:443", "9.9.9.9"), "9.9.9.9, which is in blocked_domains");
        CHECK_STR(refuses_address(p, "any.example:443", "64:ff9b::9.9.9.9"),
                  "resolves to 64:ff9b::909:909, which is in blocked_domains");
        CHECK(refuses_address(p, "any.example:53", "8.8.8.8") != NULL);
        CHECK_STR(refuses_address(p, "any.example:443", "8.8.8.8"), NULL);
        policy_drop(p);
}

TEST(raw_connections_need_an_entry_with_another_port)
{
        struct policy *p = policy_of((struct lists){
                EGRESS_STANDARD,
                {"example.com db.example:5432 tls.example:443 *.x.example:22 1.2.3.4:25", ANY}});
        static const struct {
                const char *to;
                bool standard, elevated;
        } cases[] = {
                {"example.com:443", false, false},   {"example.com:80", false, false},
                {"example.com:22", false, true},     {"db.example:5432", true, true},
                {"db.example:5433", false, true},    {"tls.example:443", false, false},
                {"a.x.example:22", true, true},      {"x.example:22", false, true},
                {"1.2.3.4:25", true, true},          {"1.2.3.4:80", false, false},
                {"unknown.example:22", false, true},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct destination d = to(cases[i].to);

                CHECK_INT(policy_is_raw(p, &d), cases[i].standard);
        }
        policy_drop(p);
        p = policy_of((struct lists){EGRESS_ELEVATED, {ANY, ANY}, "blocked.example"});
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct destination d = to(cases[i].to);

                CHECK_INT(policy_is_raw(p, &d), cases[i].elevated);
        }
        struct destination d = to("blocked.example:22");
        CHECK(!policy_is_raw(p, &d));
        policy_drop(p);
}

/* ---- policy_get ---- */

TEST(equal_policies_share_one_object)
{
        struct lists lists = {EGRESS_STANDARD, {"example.com", "*.org"}, "evil.com", "10.0.0.0/8"};
        struct packet first = pack(lists), second = pack(lists);
        struct policy *a, *b, *c;

        second.head.sandbox = 8; /* sandbox id and message type have no effect on equality */
        second.head.type = EGRESS_CHANGE;
        CHECK_INT(policy_get(&first.head, first.length, &a), 0);
        CHECK_INT(policy_get(&second.head, second.length, &b), 0);
        CHECK(a == b);
        c = policy_of((struct lists){EGRESS_STANDARD, {"EXAMPLE.com.", "*.ORG"}, "evil.com", "10.0.0.0/8"});
        CHECK(a == c); /* nor the spelling of the patterns */
        policy_drop(c);
        second.head.idle_ms++;
        CHECK_INT(policy_get(&second.head, second.length, &c), 0);
        CHECK(a != c);
        CHECK_INT(policy_idle_ms(c), policy_idle_ms(a) + 1);
        CHECK_INT(policy_connections_max(a), 10);
        CHECK_INT(policy_bytes_max(a), 1 << 20);
        policy_drop(c);
        first.head.tier = EGRESS_ELEVATED;
        CHECK_INT(policy_get(&first.head, first.length, &c), 0);
        CHECK(a != c);
        policy_drop(c);
        /* the same text in other lists */
        lists = (struct lists){EGRESS_STANDARD, {"example.com", "*.org evil.com"}, "", "10.0.0.0/8"};
        c = policy_of(lists);
        CHECK(a != c);
        CHECK_STR(refuses(a, POLICY_SPOKEN, "evil.com:443"), blocked);
        CHECK_STR(refuses(c, POLICY_SPOKEN, "evil.com:443"), not_in);
        policy_drop(c);
        policy_drop(a);
        CHECK_STR(refuses(b, POLICY_SPOKEN, "evil.com:443"), blocked); /* still there */
        CHECK(policy_keep(b) == b);
        policy_drop(b);
        policy_drop(b);
        policy_drop(NULL);
}

TEST(wrong_messages_are_refused)
{
        struct lists lists = {EGRESS_STANDARD, {"example.com", "a.com b.com"}, "evil.com", "10.0.0.0/8"};
        struct packet good = pack(lists), p;
        struct policy *policy = NULL;

#define REFUSED(change)                                                                                      \
        do {                                                                                                 \
                p = good;                                                                                    \
                change;                                                                                      \
                CHECK_INT(policy_get(&p.head, p.length, &policy), -EINVAL);                                  \
                CHECK(policy == NULL);                                                                       \
        } while (0)
        REFUSED(p.head.tier = EGRESS_RESTRICTED);
        REFUSED(p.head.tier = EGRESS_ELEVATED + 1);
        REFUSED(p.head.tier = ~0u);
        REFUSED(p.head.connections_max = 0);
        REFUSED(p.head.idle_ms = 0);
        REFUSED(p.head.n_allowed[0] = 0); /* text is left over, or would be read as part of another list */
        REFUSED(p.head.n_allowed[0] = 2);
        REFUSED(p.head.n_private = 2);
        REFUSED(p.head.n_private = 0);
        REFUSED(p.head.n_blocked = 2); /* a network among names */
        REFUSED(p.head.n_blocked = EGRESS_ANY);
        REFUSED(p.head.n_private = EGRESS_ANY);
        REFUSED(p.head.n_allowed[0] = EGRESS_PATTERNS_MAX + 1);
        REFUSED(p.head.n_allowed[1] = EGRESS_ANY - 1);
        REFUSED(p.head.n_allowed[0] = EGRESS_ANY; p.head.n_allowed[1] = EGRESS_ANY);
        REFUSED(p.text[0] = '*');
        REFUSED(p.text[0] = '\0');
        REFUSED(p.text[0] = ' ');
        REFUSED(p.text[p.length - sizeof(p.head) - 1] = 'x'); /* no end */
        REFUSED(p.length++);
        for (size_t i = 0; i < good.length; i++)
                REFUSED(p.length = i);
        REFUSED(p.length = sizeof(p.head) + EGRESS_TEXT_MAX + 1);
#undef REFUSED
        p = pack((struct lists){EGRESS_STANDARD, {ANY, ANY}}); /* no list at all is no way to elevated */
        CHECK_INT(policy_get(&p.head, p.length, &policy), -EINVAL);
        p = pack((struct lists){EGRESS_STANDARD,
                                {"example.com", ANY}}); /* only lists that allow may say nothing */
        p.head.n_blocked = EGRESS_ANY;
        CHECK_INT(policy_get(&p.head, p.length, &policy), -EINVAL);
        p.head.n_blocked = 0;
        p.head.n_private = EGRESS_ANY;
        CHECK_INT(policy_get(&p.head, p.length, &policy), -EINVAL);
        CHECK_INT(policy_get(&good.head, good.length, &policy), 0);
        policy_drop(policy);
}

/* Policies are found by content, not by address, and are freed with their last user. */
TEST(many_policies_are_found_by_their_content)
{
        static struct policy *all[500];
        char name[2][32];
        size_t used = 0;

        for (int round = 0; round < 20; round++) {
                for (int i = 0; i < 500; i++) {
                        snprintf(name[0], sizeof(name[0]), "h%d.example", i);
                        all[i] = policy_of((struct lists){EGRESS_STANDARD, {name[0], ANY}});
                }
                for (int i = 0; i < 500; i++) {
                        snprintf(name[0], sizeof(name[0]), "h%d.example:443", i);
                        snprintf(name[1], sizeof(name[1]), "h%d.example:443", i + 1);
                        CHECK_STR(refuses(all[i], POLICY_SPOKEN, name[0]), NULL);
                        CHECK_STR(refuses(all[i], POLICY_SPOKEN, name[1]), not_in);
                }
                for (int i = 0; i < 500; i++)
                        policy_drop(all[i]);
                if (round == 1)
                        used = mallinfo2().uordblks;
        }
        CHECK(mallinfo2().uordblks < used + 65536); /* the allocator may keep some memory */
}

TEST(the_largest_policy_is_accepted)
{
        static struct {
                struct egress_attach head;
                char text[2 * EGRESS_TEXT_MAX];
        } p;
        struct policy *policy;

        p.head = (struct egress_attach){.tier = EGRESS_STANDARD,
                                        .n_allowed = {EGRESS_PATTERNS_MAX, EGRESS_PATTERNS_MAX},
                                        .n_blocked = EGRESS_PATTERNS_MAX,
                                        .n_private = EGRESS_PATTERNS_MAX,
                                        .connections_max = 1,
                                        .idle_ms = 1};
        for (int too_long = 0; too_long < 2; too_long++) {
                size_t length = 0;

                for (unsigned i = 0; i < 4 * EGRESS_PATTERNS_MAX; i++)
                        length += (size_t)sprintf(p.text + length, "%c%u.example.com%s", i < 2000 ? 'h' : 'b',
                                                  i % 1000, too_long ? ".example.com" : "") +
                                  1;
                CHECK_INT(length > EGRESS_TEXT_MAX, too_long);
                CHECK_INT(policy_get(&p.head, sizeof(p.head) + length, &policy), too_long ? -EINVAL : 0);
                if (too_long)
                        continue;
                CHECK_STR(refuses(policy, POLICY_SPOKEN, "h999.example.com:443"), NULL);
                CHECK_STR(refuses(policy, POLICY_SPOKEN, "h1000.example.com:443"), not_in);
                CHECK_STR(refuses(policy, POLICY_SPOKEN, "b999.example.com:443"), blocked);
                policy_drop(policy);
        }
}
