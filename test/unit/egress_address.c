/* Addresses: one text each, and every range that is not public, in every form. */
#include "egress/policy/address.h"

#include <arpa/inet.h>

#include "test.h"

static struct address parse(const char *text)
{
        struct address a = {0};

        if (address_parse(text, strlen(text), &a) < 0)
                CHECK_STR(text, "an address");
        return a;
}

TEST(strict_text_is_read_and_written)
{
        static const struct {
                const char *text, *written;
        } cases[] = {
                {"1.2.3.4", "1.2.3.4"},
                {"0.0.0.0", "0.0.0.0"},
                {"255.255.255.255", "255.255.255.255"},
                {"10.20.100.9", "10.20.100.9"},
                {"::", "::"},
                {"::1", "::1"},
                {"1::", "1::"},
                {"[::1]", "::1"},
                {"[2001:db8::1]", "2001:db8::1"},
                {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
                {"2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"},
                {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"}, /* one group alone is not shortened */
                {"2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
                {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
                {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"}, /* the first of two equal runs */
                {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
                {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
                {"0:0:0:0:0:0:0:0", "::"},
                {"::ffff:1.2.3.4", "1.2.3.4"}, /* the same address */
                {"::ffff:102:304", "1.2.3.4"},
                {"0:0:0:0:0:ffff:1.2.3.4", "1.2.3.4"},
                {"[::ffff:127.0.0.1]", "127.0.0.1"},
                {"::1.2.3.4", "::102:304"},
                {"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
                {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
                {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
                {"fd00:ec2::254", "fd00:ec2::254"},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct address a = parse(cases[i].text), again;
                char text[46];

                address_write(&a, text);
                CHECK_STR(text, cases[i].written);
                again = parse(text);
                CHECK_INT(memcmp(&a, &again, sizeof(a)), 0);
        }
}

TEST(other_text_is_refused)
{
        static const char *const cases[] = {
                "",
                "1",
                "1.2.3",
                "1.2.3.4.",
                ".1.2.3.4",
                "1.2.3.4.5",
                "1..2.3",
                "1.2.3.256",
                "1.2.3.999",
                "1.2.3.04",
                "01.2.3.4",
                "0177.0.0.1",
                "00.0.0.0",
                "0x7f.0.0.1",
                "0x7f000001",
                "2130706433",
                "017700000001",
                "127.1",
                "127.0.1",
                "1.2.3.4 ",
                " 1.2.3.4",
                "1.2.3.+4",
                "1.2.3.-4",
                "1.2.3.4a",
                "1.2.3.",
                "1,2,3,4",
                "[1.2.3.4]",
                "1.2.3.4:80",
                "1.2.3.4/32",
                ":",
                ":::",
                "1:::2",
                "1::2::3",
                "1:2:3:4:5:6:7",
                ":1:2:3:4:5:6:7:8",
                "1:2:3:4:5:6:7:8:9",
                "1:2:3:4:5:6:7:8:",
                "1:2:3:4:5:6:7:",
                "1:2:3:4:5:6:7:8::",
                "::1:2:3:4:5:6:7:8",
                "12345::",
                "::00001",
                "::g",
                "::1%eth0",
                "fe80::1%25lo",
                "[::1",
                "::1]",
                "[[::1]]",
                "[]",
                "[",
                "]",
                "::1.2.3",
                "::1.2.3.4.5",
                "::1.2.3.256",
                "::01.2.3.4",
                "1.2.3.4::",
                "::1.2.3.4:5",
                "1:2:3:4:5:6:7:1.2.3.4",
                ":1.2.3.4",
                "::ffff:0x7f.0.0.1",
                "::ffff:127.1",
                "::1/128",
                "[::1]:80",
                "::1 ",
                "localhost",
                "1:2:3:4:5:6:7:8.9.10.11",
                "::-1",
                "::\xef\xbc\x91",
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                size_t length = strlen(cases[i]);
                char *exactly = malloc(length); /* a sanitizer reports a read past its end */
                struct address a;

                memcpy(exactly, cases[i], length);
                if (address_parse(exactly, length, &a) != -EINVAL)
                        CHECK_STR(cases[i], "refused");
                free(exactly);
        }
        struct address a;
        CHECK_INT(address_parse("1.2.3.4\0", 8, &a), -EINVAL);
        CHECK_INT(address_parse("::1\0", 4, &a), -EINVAL);
}

/* If libc accepts the text, it must give the same address. */
TEST(libc_agrees)
{
        unsigned seed = 1;

        for (int i = 0; i < 20000; i++) {
                static const char letters[] = "0123456789abcdef::::....";
                char text[24], again[64];
                struct address a;
                struct in6_addr v6;
                struct in_addr v4;
                size_t length = 2 + (size_t)rand_r(&seed) % 20;
                int r;

                for (size_t k = 0; k < length; k++)
                        text[k] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
                text[length] = '\0';
                r = address_parse(text, length, &a);
                if (strchr(text, ':') != NULL) {
                        bool libc = inet_pton(AF_INET6, text, &v6) == 1;

                        CHECK_INT(r == 0, libc);
                        if (libc)
                                CHECK_INT(memcmp(&v6, a.bytes, 16), 0);
                } else {
                        bool libc = inet_pton(AF_INET, text, &v4) == 1;

                        CHECK_INT(r == 0, libc);
                        if (libc)
                                CHECK_INT(memcmp(&v4, a.bytes + 12, 4), 0);
                }
                for (size_t k = 0; k < 16; k++)
                        a.bytes[k] = rand_r(&seed) % 3 == 0 ? (uint8_t)rand_r(&seed) : 0;
                address_write(&a, again);
                CHECK_INT(inet_pton(address_is_v4(&a) ? AF_INET : AF_INET6, again, &v6), 1);
        }
}

struct judged {
        const char *text, *trouble;
};

/* The first and the last address of each range, and their neighbours. */
static const struct judged v4_cases[] = {
        {"0.0.0.0", "unspecified"},
        {"0.0.0.1", "reserved"},
        {"0.255.255.255", "reserved"},
        {"1.0.0.0", NULL},
        {"9.255.255.255", NULL},
        {"10.0.0.0", "private"},
        {"10.255.255.255", "private"},
        {"11.0.0.0", NULL},
        {"100.63.255.255", NULL},
        {"100.64.0.0", "shared (CGNAT)"},
        {"100.127.255.255", "shared (CGNAT)"},
        {"100.100.100.200", "metadata"},
        {"100.128.0.0", NULL},
        {"126.255.255.255", NULL},
        {"127.0.0.0", "loopback"},
        {"127.0.0.1", "loopback"},
        {"127.255.255.255", "loopback"},
        {"128.0.0.0", NULL},
        {"168.63.129.16", "metadata"},
        {"168.63.129.15", NULL},
        {"169.253.255.255", NULL},
        {"169.254.0.0", "link-local"},
        {"169.254.169.253", "link-local"},
        {"169.254.169.254", "metadata"},
        {"169.254.170.2", "metadata"},
        {"169.254.170.23", "metadata"},
        {"169.254.255.255", "link-local"},
        {"169.255.0.0", NULL},
        {"172.15.255.255", NULL},
        {"172.16.0.0", "private"},
        {"172.31.255.255", "private"},
        {"172.32.0.0", NULL},
        {"191.255.255.255", NULL},
        {"192.0.0.0", "reserved"},
        {"192.0.0.8", "reserved"},
        {"192.0.0.9", "reserved"},
        {"192.0.0.10", "reserved"},
        {"192.0.0.170", "reserved"},
        {"192.0.0.192", "metadata"},
        {"192.0.0.255", "reserved"},
        {"192.0.1.0", NULL},
        {"192.0.1.255", NULL},
        {"192.0.2.0", "documentation"},
        {"192.0.2.255", "documentation"},
        {"192.0.3.0", NULL},
        {"192.31.196.1", "reserved"},
        {"192.31.197.0", NULL},
        {"192.52.193.1", "reserved"},
        {"192.52.194.0", NULL},
        {"192.88.98.255", NULL},
        {"192.88.99.0", "reserved"},
        {"192.88.99.255", "reserved"},
        {"192.88.100.0", NULL},
        {"192.167.255.255", NULL},
        {"192.168.0.0", "private"},
        {"192.168.255.255", "private"},
        {"192.169.0.0", NULL},
        {"192.175.48.1", "reserved"},
        {"192.175.49.0", NULL},
        {"198.17.255.255", NULL},
        {"198.18.0.0", "reserved"},
        {"198.18.0.1", "reserved"},
        {"198.19.255.255", "reserved"},
        {"198.20.0.0", NULL},
        {"198.51.99.255", NULL},
        {"198.51.100.0", "documentation"},
        {"198.51.100.255", "documentation"},
        {"198.51.101.0", NULL},
        {"203.0.112.255", NULL},
        {"203.0.113.0", "documentation"},
        {"203.0.113.255", "documentation"},
        {"203.0.114.0", NULL},
        {"223.255.255.255", NULL},
        {"224.0.0.0", "multicast"},
        {"224.0.0.1", "multicast"},
        {"239.255.255.255", "multicast"},
        {"240.0.0.0", "reserved"},
        {"255.255.255.254", "reserved"},
        {"255.255.255.255", "broadcast"},
        {"8.8.8.8", NULL},
        {"93.184.216.34", NULL},
};

TEST(ipv4_ranges)
{
        for (size_t i = 0; i < sizeof(v4_cases) / sizeof(*v4_cases); i++) {
                struct address a = parse(v4_cases[i].text);

                CHECK_STR(address_trouble(&a), v4_cases[i].trouble);
                CHECK(address_is_v4(&a));
        }
}

/* The same address wherever IPv6 can carry it. */
TEST(ipv4_inside_ipv6_is_judged)
{
        for (size_t i = 0; i < sizeof(v4_cases) / sizeof(*v4_cases); i++) {
                struct address v4 = parse(v4_cases[i].text), a, inner;
                const uint8_t *b = v4.bytes + 12;
                const char *trouble = v4_cases[i].trouble;
                char text[80];

                snprintf(text, sizeof(text), "::ffff:%s", v4_cases[i].text);
                a = parse(text);
                CHECK_STR(address_trouble(&a), trouble);
                snprintf(text, sizeof(text), "64:ff9b::%s", v4_cases[i].text);
                a = parse(text);
                CHECK_STR(address_trouble(&a), trouble);
                CHECK(address_inner(&a, &inner) && memcmp(&inner, &v4, sizeof(v4)) == 0);
                snprintf(text, sizeof(text), "2002:%02x%02x:%02x%02x::1", b[0], b[1], b[2], b[3]);
                a = parse(text);
                CHECK_STR(address_trouble(&a), trouble);
                CHECK(address_inner(&a, &inner) && memcmp(&inner, &v4, sizeof(v4)) == 0);
                snprintf(text, sizeof(text), "2a00:1450::5efe:%s", v4_cases[i].text);
                a = parse(text);
                CHECK_STR(address_trouble(&a), trouble);
                CHECK(!address_inner(&a, &inner));
                snprintf(text, sizeof(text), "2a00:1450::200:5efe:%s", v4_cases[i].text);
                a = parse(text);
                CHECK_STR(address_trouble(&a), trouble);

                /* These are never connected to; only the embedded address is reported. */
                snprintf(text, sizeof(text), "::%s", v4_cases[i].text);
                a = parse(text);
                CHECK_STR(address_trouble(&a), strcmp(text, "::0.0.0.1") == 0 ? "loopback"
                                               : trouble != NULL              ? trouble
                                                                              : "reserved");
                snprintf(text, sizeof(text), "2001:0:%02x%02x:%02x%02x::f7f7:f7f7", b[0], b[1], b[2], b[3]);
                a = parse(text); /* Teredo: its server; the client is 8.8.8.8 */
                CHECK_STR(address_trouble(&a), trouble != NULL ? trouble : "reserved");
                snprintf(text, sizeof(text), "2001:0:808:808::%02x%02x:%02x%02x", b[0] ^ 255, b[1] ^ 255,
                         b[2] ^ 255, b[3] ^ 255);
                a = parse(text);
                CHECK_STR(address_trouble(&a), trouble != NULL ? trouble : "reserved");
        }
}

TEST(ipv6_ranges)
{
        static const struct judged cases[] = {
                {"::", "unspecified"},
                {"::1", "loopback"},
                {"::2", "reserved"},
                {"::ffff:0:8.8.8.8", "reserved"}, /* "translated" (SIIT) */
                {"0:1::", "reserved"},
                {"64:ff9b::8.8.8.8", NULL},
                {"64:ff9b:0:0:0:1:808:808", "reserved"}, /* /96, no more */
                {"64:ff9b:1::8.8.8.8", "private"},
                {"64:ff9b:1:ffff::1", "private"},
                {"64:ff9b:1::169.254.169.254", "metadata"},
                {"64:ff9b:1:a9fe:a9:fe00::", "metadata"},    /* prefix of 48 bits */
                {"64:ff9b:1:aa:a9fe:a9fe::", "private"},     /* (bits 64 to 71 are 0 in all of them) */
                {"64:ff9b:1:99a9:fe:a9fe::", "metadata"},    /* 56 */
                {"64:ff9b:1:99:a9:fea9:fe00::", "metadata"}, /* 64 */
                {"64:ff9b:2::1", "reserved"},
                {"100::", "reserved"},
                {"100::ffff:ffff:ffff:ffff", "reserved"},
                {"100:0:0:1::1", "reserved"},
                {"1fff:ffff::", "reserved"},
                {"2000::", NULL},
                {"2001::1", "reserved"},
                {"2001:1::1", "reserved"},
                {"2001:1::2", "reserved"},
                {"2001:1::3", "reserved"},
                {"2001:2::1", "reserved"},
                {"2001:3::1", "reserved"},
                {"2001:4:112::1", "reserved"},
                {"2001:10::1", "reserved"},
                {"2001:20::1", "reserved"},
                {"2001:30::1", "reserved"},
                {"2001:1ff:ffff::", "reserved"},
                {"2001:200::", NULL},
                {"2001:4860:4860::8888", NULL},
                {"2001:db7:ffff::", NULL},
                {"2a00:1450::5efe:10.0.0.1", "private"}, /* ISATAP */
                {"2a00:1450::1:5efe:10.0.0.1", NULL},    /* and addresses that only look similar */
                {"2a00:1450::100:5efe:10.0.0.1", NULL},
                {"2a00:1450::5eff:10.0.0.1", NULL},
                {"2a00:1450::5ffe:10.0.0.1", NULL},
                {"2001:db8::", "documentation"},
                {"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "documentation"},
                {"2001:db9::", NULL},
                {"2002:808:808::1", NULL},
                {"2002:7f00:1::1", "loopback"},
                {"2002:a9fe:a9fe::1", "metadata"},
                {"2003::", NULL},
                {"2606:2800:220:1:248:1893:25c8:1946", NULL},
                {"2620:4f:8000::1", "reserved"},
                {"2620:4f:8001::1", NULL},
                {"3ffe:ffff::1", NULL},
                {"3fff::", "documentation"},
                {"3fff:fff:ffff::", "documentation"},
                {"3fff:1000::", NULL},
                {"4000::", "reserved"},
                {"5f00::1", "reserved"},
                {"8000::1", "reserved"},
                {"fbff::1", "reserved"},
                {"fc00::", "private"},
                {"fd00::1", "private"},
                {"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "private"},
                {"fd00:ec2::254", "metadata"},
                {"fd00:ec2::23", "metadata"},
                {"fd00:ec2::253", "private"},
                {"fd20:ce::254", "metadata"},
                {"fd00::5efe:169.254.169.254", "metadata"},
                {"fe00::1", "reserved"},
                {"fe80::", "link-local"},
                {"fe80::1", "link-local"},
                {"fe80::5efe:8.8.8.8", "link-local"},
                {"febf:ffff::", "link-local"},
                {"fec0::1", "private"},
                {"feff::1", "private"},
                {"ff00::", "multicast"},
                {"ff02::1", "multicast"},
                {"ff0e::1", "multicast"},
                {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "multicast"},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct address a = parse(cases[i].text);

                if (address_trouble(&a) != cases[i].trouble)
                        CHECK_STR(address_trouble(&a), cases[i].trouble ? cases[i].trouble : cases[i].text);
                CHECK(!address_is_v4(&a));
        }
}

TEST(networks_hold_their_bits)
{
        struct address a = parse("10.1.2.3"), net = parse("10.1.2.0"), other = parse("::");

        CHECK(address_in(&a, &net, 96 + 24));
        CHECK(address_in(&a, &net, 96 + 30));
        CHECK(!address_in(&a, &net, 96 + 31));
        CHECK(!address_in(&a, &net, 128));
        CHECK(address_in(&a, &a, 128));
        CHECK(!address_in(&a, &a, 129));
        CHECK(address_in(&a, &other, 0));
        CHECK(address_in(&a, &other, 80));
        CHECK(!address_in(&a, &other, 81));
}
