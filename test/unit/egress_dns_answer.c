/* DNS: answers of resolvers, who pass on what others wrote. */
#include <errno.h>

#include "egress_dns_message.h"

TEST(answers_are_read)
{
        struct dns_answer a;

        begin(0x1234, ANSWER, 1, 3, 1, 1);
        ASKED;
        put_a("@12", 300, "93.184.216.34");
        put_a("WWW.example.com", 200, "93.184.216.35");
        put_a("other.example.com", 1, "10.0.0.1"); /* not asked for */
        put_record("@16", 2, 7, "\1a\0", 3);
        put("\0\0\x29\x04\xd0\0\0\0\0\0\0", 11);
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.code, DNS_OK);
        CHECK_INT(a.truncated, 0);
        CHECK_INT(a.n, 2);
        CHECK_INT(a.ttl, 200);
        CHECK_STR(written(&a, 0), "93.184.216.34");
        CHECK_STR(written(&a, 1), "93.184.216.35");

        begin(0x1234, ANSWER, 1, 2, 0, 0);
        put_question("www.example.com", DNS_AAAA, 1);
        put_a("@12", 300, "::ffff:127.0.0.1"); /* an A record in an answer to AAAA is ignored */
        put_a("@12", 300, "2001:db8::1");
        CHECK_INT(read_answer_of(m.length, "www.example.com", DNS_AAAA, &a), 0);
        CHECK_INT(a.n, 1);
        CHECK_STR(written(&a, 0), "2001:db8::1");

        begin(0x1234, ANSWER, 1, 1, 0, 0);
        put_question("www.example.com", DNS_AAAA, 1);
        put_record("@12", DNS_AAAA, 5, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1", 16); /* IPv4-mapped */
        CHECK_INT(read_answer_of(m.length, "www.example.com", DNS_AAAA, &a), 0);
        CHECK_STR(written(&a, 0), "127.0.0.1");
        CHECK_STR(address_trouble(&a.addresses[0]), "loopback");
}

TEST(records_of_others_do_not_count)
{
        struct dns_answer a;
        size_t soa;

        begin(0x1234, ANSWER, 1, 2, 0, 0);
        ASKED;
        put_a("@12", 60, "10.0.0.1");
        m.data[m.length - 11] = 3; /* of class CHAOS */
        put_a("@12", 60, "1.2.3.4");
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.n, 1);
        CHECK_STR(written(&a, 0), "1.2.3.4");

        begin(0x1234, ANSWER, 1, 3, 0, 0); /* two other names: the first counts */
        ASKED;
        put_cname("@12", 60, "b.example");
        put_cname("@12", 60, "c.example");
        put_a("b.example", 60, "1.2.3.4");
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.n, 1);

        begin(0x1234, ANSWER, 1, 3, 0, 0); /* an address and another name: the address */
        ASKED;
        put_cname("@12", 60, "b.example");
        put_a("@12", 60, "1.2.3.4");
        put_a("b.example", 60, "5.6.7.8");
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.n, 1);
        CHECK_STR(written(&a, 0), "1.2.3.4");

        begin(0x1234, ANSWER | DNS_NXDOMAIN, 1, 1, 2, 0); /* the SOA is among others */
        ASKED;
        put_soa("@16", 60, 10);
        put_record("@16", 2, 60, "\1a\0", 3);
        soa = m.length;
        put_soa("@16", 60, 30);
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.ttl, 30);
        m.data[soa + 5] = 3; /* not of class CHAOS */
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.ttl, 0);

        for (int wrong = -1; wrong < 2; wrong += 2) { /* an SOA record that is too short or too long */
                begin(0x1234, ANSWER | DNS_NXDOMAIN, 1, 0, 1, 0);
                ASKED;
                soa = m.length;
                put_soa("@16", 60, 30);
                m.data[soa + 11] = (uint8_t)(m.data[soa + 11] + wrong);
                put("\0", 1);
                CHECK_INT(read_answer(&a), -EBADMSG);
        }
}

TEST(many_addresses_are_bounded)
{
        struct dns_answer a;

        begin(0x1234, ANSWER, 1, 256, 0, 0);
        ASKED;
        for (uint32_t i = 0; i < 256; i++)
                put_a("@12", 1000 - i, "1.2.3.4");
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.n, DNS_ADDRESSES_MAX);
        CHECK_INT(a.ttl, 1000 - 255);
        m.data[7] = 1; /* 257 */
        m.data[6] = 1;
        put_a("@12", 1, "1.2.3.4");
        CHECK_INT(read_answer(&a), -EBADMSG);
}

TEST(cnames_are_followed_inside_the_answer)
{
        struct dns_answer a;
        char name[32], next[32];

        begin(0x1234, ANSWER, 1, 4, 0, 0); /* in any order */
        ASKED;
        put_a("c.cdn.example", 90, "1.2.3.4");
        put_cname("b.cdn.example", 50, "C.CDN.example");
        put_cname("@12", 70, "b.cdn.example");
        put_a("d.cdn.example", 1, "10.0.0.1");
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.n, 1);
        CHECK_STR(written(&a, 0), "1.2.3.4");
        CHECK_INT(a.ttl, 50);

        for (unsigned n = 15; n <= 18; n++) { /* 16 at most */
                begin(0x1234, ANSWER, 1, n + 1, 0, 0);
                ASKED;
                for (unsigned i = 0; i < n; i++) {
                        snprintf(name, sizeof(name), i ? "n%u" : "@12", i);
                        snprintf(next, sizeof(next), "n%u", i + 1);
                        put_cname(name, 60, next);
                }
                put_a(next, 60, "1.2.3.4");
                CHECK_INT(read_answer(&a), n <= 16 ? 0 : -EBADMSG);
                CHECK_INT(a.n, n <= 16);
        }
        begin(0x1234, ANSWER, 1, 1, 0, 0); /* a loop of one */
        ASKED;
        put_cname("@12", 60, "@12");
        CHECK_INT(read_answer(&a), -EBADMSG);
        begin(0x1234, ANSWER, 1, 2, 0, 0); /* of two */
        ASKED;
        put_cname("@12", 60, "b.example");
        put_cname("b.example", 60, "www.EXAMPLE.com");
        CHECK_INT(read_answer(&a), -EBADMSG);
        begin(0x1234, ANSWER, 1, 1, 0, 0); /* the CNAME has no address: treated as no data */
        ASKED;
        put_cname("@12", 60, "b.example");
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.n, 0);
        CHECK_INT(a.ttl, 0);
        begin(0x1234, ANSWER, 1, 2, 0, 0); /* a dot inside a label does not make another name */
        ASKED;
        put_record("@12", 5, 60, "\6b.evil\0", 8);
        put_a("b.evil", 60, "1.2.3.4");
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.n, 0);
}

TEST(negative_answers_are_kept_for_the_time_of_the_soa)
{
        static const struct {
                uint32_t ttl, minimum, is;
        } cases[] = {{900, 300, 300}, {60, 3600, 60}, {0, 300, 0}, {0x80000000, 300, 0}};

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                for (unsigned code = DNS_OK; code <= DNS_NXDOMAIN; code += DNS_NXDOMAIN) {
                        struct dns_answer a;

                        begin(0x1234, ANSWER | code, 1, 0, 1, 0);
                        ASKED;
                        put_soa("@16", cases[i].ttl, cases[i].minimum);
                        CHECK_INT(read_answer(&a), 0);
                        CHECK_INT(a.code, code);
                        CHECK_INT(a.n, 0);
                        CHECK_INT(a.ttl, cases[i].is);
                        for (size_t cut = m.length - 1; cut > 0; cut--)
                                CHECK_INT(read_answer_of(cut, "www.example.com", DNS_A, &a), -EBADMSG);
                }
        struct dns_answer a;
        begin(0x1234, ANSWER | DNS_SERVFAIL, 1, 0, 0, 0);
        ASKED;
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.code, DNS_SERVFAIL);
        CHECK_INT(a.ttl, 0);
        begin(0x1234, ANSWER | DNS_NXDOMAIN, 1, 1, 0, 0); /* NXDOMAIN with records counts as NXDOMAIN */
        ASKED;
        put_a("@12", 60, "1.2.3.4");
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.n, 0);
}

TEST(truncated_answers_say_so_only)
{
        struct dns_answer a;

        begin(0x1234, ANSWER | 0x0200, 1, 9, 9, 9);
        ASKED;
        put("\300\14\0\1\0", 5); /* cut anywhere */
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.truncated, 1);
        CHECK_INT(a.n, 0);
        CHECK_INT(a.ttl, 0);
}

TEST(answers_to_other_questions_are_ignored)
{
        static const struct {
                unsigned id, flags, questions;
                const char *name;
                unsigned type, class;
        } cases[] = {
                {0x1235, ANSWER, 1, "www.example.com", DNS_A, 1},
                {0x1234, 0x0100, 1, "www.example.com", DNS_A, 1}, /* a question */
                {0x1234, ANSWER | 0x0800, 1, "www.example.com", DNS_A, 1},
                {0x1234, ANSWER, 0, "www.example.com", DNS_A, 1},
                {0x1234, ANSWER, 2, "www.example.com", DNS_A, 1},
                {0x1234, ANSWER, 1, "ww.example.com", DNS_A, 1},
                {0x1234, ANSWER, 1, "www.example.com.evil", DNS_A, 1},
                {0x1234, ANSWER, 1, "www.example", DNS_A, 1},
                {0x1234, ANSWER, 1, "", DNS_A, 1},
                {0x1234, ANSWER, 1, "@12", DNS_A, 1},
                {0x1234, ANSWER, 1, "www.example.com", DNS_AAAA, 1},
                {0x1234, ANSWER, 1, "www.example.com", 255, 1},
                {0x1234, ANSWER, 1, "www.example.com", DNS_A, 3},
                {0x1234, ANSWER, 1, "www.example.com", DNS_A, 0x8001},
                {0x1234, ANSWER | 0x0200 | 0x0800, 1, "www.example.com", DNS_A, 1},
        };
        struct dns_answer a;

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                begin(cases[i].id, cases[i].flags, cases[i].questions, 1, 0, 0);
                put_question(cases[i].name, cases[i].type, cases[i].class);
                put_a("www.example.com", 60, "1.2.3.4");
                CHECK_INT(read_answer(&a), -EBADMSG);
                CHECK_INT(a.n, 0);
        }
        begin(0x1234, ANSWER, 1, 1, 0, 0);
        put_question("WWW.eXample.com", DNS_A, 1); /* case does not matter */
        put_a("www.example.com", 60, "1.2.3.4");
        CHECK_INT(read_answer(&a), 0);
        CHECK_INT(a.n, 1);
        for (size_t cut = 0; cut < m.length; cut++)
                CHECK_INT(read_answer_of(cut, "www.example.com", DNS_A, &a), -EBADMSG);
}

TEST(broken_answers_are_refused)
{
        /* The header announces one record after the question, which begins at byte 33. */
        static const struct {
                const char *wire;
                size_t length;
        } cases[] = {
                {WIRE("")},
                {WIRE("\300")},
                {WIRE("\300\14")},
                {WIRE("\300\14\0\1\0\1\0\0\0\74\0\4\1\2\3")}, /* shorter than its length field */
                {WIRE("\300\14\0\1\0\1\0\0\0\74\377\377\1\2\3\4")},
                {WIRE("\300\14\0\1\0\1\0\0\0\74\0\3\1\2\3")}, /* not the length of an address */
                {WIRE("\300\14\0\1\0\1\0\0\0\74\0\5\1\2\3\4\5")},
                {WIRE("\300\14\0\1\0\1\0\0\0\74\0\0")},
                {WIRE("\300\41\0\1\0\1\0\0\0\74\0\4\1\2\3\4")},  /* a pointer to itself */
                {WIRE("\300\43\0\1\0\1\0\0\0\74\0\4\1\2\3\4")},  /* forward */
                {WIRE("\377\377\0\1\0\1\0\0\0\74\0\4\1\2\3\4")}, /* far beyond the end */
                {WIRE("\300\0\0\1\0\1\0\0\0\74\0\4\1\2\3\4")},   /* into the header */
                {WIRE("\300\13\0\1\0\1\0\0\0\74\0\4\1\2\3\4")},
                {WIRE("\3www\300\41\0\1\0\1\0\0\0\74\0\4\1\2\3\4")}, /* a loop: points to its own start */
                {WIRE("\3www\300\42\0\1\0\1\0\0\0\74\0\4\1\2\3\4")}, /* into itself */
                {WIRE("\100\14\0\1\0\1\0\0\0\74\0\4\1\2\3\4")}, /* other types of labels are no pointers */
                {WIRE("\200\14\0\1\0\1\0\0\0\74\0\4\1\2\3\4")},
                {WIRE("\100a\0\1\0\1\0\0\0\74\0\4\1\2\3\4")},
                {WIRE("\300\14\0\5\0\1\0\0\0\74\0\2\300\57")},   /* CNAME: to itself */
                {WIRE("\300\14\0\5\0\1\0\0\0\74\0\3\300\14\0")}, /* something after it */
                {WIRE("\300\14\0\5\0\1\0\0\0\74\0\1\1a\0")},     /* longer than its record */
                {WIRE("\300\14\0\5\0\1\0\0\0\74\0\0")},
        };
        struct dns_answer a;

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                begin(0x1234, ANSWER, 1, 1, 0, 0);
                ASKED;
                CHECK_INT(m.length, 33);
                put(cases[i].wire, cases[i].length);
                CHECK_INT(read_answer(&a), -EBADMSG);
        }
        begin(0x1234, ANSWER, 1, 65535, 65535, 65535); /* wrong record counts */
        ASKED;
        put_a("@12", 60, "1.2.3.4");
        CHECK_INT(read_answer(&a), -EBADMSG);
        begin(0x1234, ANSWER, 1, 2, 0, 0);
        ASKED;
        put_a("@12", 60, "1.2.3.4");
        CHECK_INT(read_answer(&a), -EBADMSG);
        CHECK_INT(a.n, 0);
}

/* A chain of pointers, each a step back, that makes a name longer than there is, or jumps too often. */
TEST(pointers_are_bounded)
{
        struct dns_answer a;
        size_t last = 0;

        begin(0x1234, ANSWER, 1, 1, 0, 0);
        ASKED;
        put_question("", 99, 1); /* data of a record that hides them */
        put16(0);
        put16(0);
        put16(0);
        size_t length_at = m.length - 2, data_at = m.length;
        m.data[m.length++] = 0;
        last = data_at;
        for (int i = 0; i < 200; i++) { /* \1a and a pointer to the one before */
                size_t here = m.length;

                put("\1a", 2);
                put16(0xc000u | (unsigned)last);
                last = here;
        }
        m.data[length_at] = (uint8_t)((m.length - data_at) >> 8);
        m.data[length_at + 1] = (uint8_t)(m.length - data_at);
        CHECK_INT(read_answer(&a), 0); /* that part is not read */
        m.data[7] = 2;
        put16(0xc000u | (unsigned)last);
        put16(DNS_A);
        put16(1);
        put("\0\0\0\74\0\4\1\2\3\4", 10);
        CHECK_INT(read_answer(&a), -EBADMSG);
}
