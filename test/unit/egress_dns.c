/* DNS: questions of sandboxes, which are hostile, our answers to them, and our own questions. */
#include <errno.h>

#include "egress_dns_message.h"

TEST(questions_are_read)
{
        struct dns_question q;

        begin(0xbeef, 0x0100, 1, 0, 0, 1);
        put_question("wWw.Example.COM", DNS_AAAA, 1);
        CHECK_INT(m.length, 12 + 17 + 4);
        put("\0\0\x29\x04\xd0\0\0\0\0\0\0", 11); /* OPT */
        CHECK_INT(read_question(m.length, &q), 0);
        CHECK_INT(q.id, 0xbeef);
        CHECK_INT(q.type, DNS_AAAA);
        CHECK_INT(q.class, 1);
        CHECK_INT(q.flags, 0x0100);
        CHECK_INT(q.has_name, 1);
        CHECK_STR(q.name, "www.example.com");
        CHECK_STR(q.shown, "www.example.com");
        CHECK_INT(q.end, 12 + 17 + 4);
        for (size_t i = 0; i < q.end; i++) {
                struct dns_question cut;

                CHECK_INT(read_question(i, &cut), -EINVAL);
                CHECK_INT(cut.end, i < 12 ? 0 : 12);
        }
}

TEST(names_that_cannot_be_host_names_are_shown_safely)
{
        static const struct {
                const char *wire;
                size_t length;
                const char *shown;
        } cases[] = {
                {WIRE("\0"), "."},
                {WIRE("\3a.b\3com\0"), "a?b.com"}, /* a dot inside a label is not a separator */
                {WIRE("\7a\0b.com\3net\0"), "a?b?com.net"},
                {WIRE("\3a\xff\x80\3com\0"), "a??.com"},
                {WIRE("\4a\"\\\x7f\3com\0"), "a\"\\?.com"},
                {WIRE("\1*\3com\0"), "*.com"},
                {WIRE("\2-a\3com\0"), "-a.com"},
                {WIRE("\3a b\3com\0"), "a?b.com"},
                {WIRE("\003"
                      "127\0010\0010\0011\0"),
                 "127.0.0.1"},
                {WIRE("\0042130\0"), "2130"},
                {WIRE("\0040x7f\0"), "0x7f"},
                {WIRE("\2\r\n\3com\0"), "??.com"},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct dns_question q;

                begin(1, 0x0100, 1, 0, 0, 0);
                put(cases[i].wire, cases[i].length);
                put16(DNS_A);
                put16(1);
                CHECK_INT(read_question(m.length, &q), 0);
                CHECK_INT(q.has_name, 0);
                CHECK_STR(q.name, "");
                CHECK_STR(q.shown, cases[i].shown);
        }
}

TEST(names_of_up_to_253_bytes_are_read)
{
        struct dns_question q;

        for (unsigned last = 50; last < 64; last++) {
                begin(1, 0x0100, 1, 0, 0, 0);
                for (int i = 0; i < 4; i++) {
                        unsigned length = i < 3 ? 63 : last;

                        m.data[m.length++] = (uint8_t)length;
                        memset(m.data + m.length, 'a' + i, length);
                        m.length += length;
                }
                put_question("", DNS_A, 1);
                CHECK_INT(read_question(m.length, &q), last <= 61 ? 0 : -EINVAL);
                if (last <= 61) {
                        CHECK_INT(strlen(q.name), 64 * 3 + last);
                        CHECK_INT(strlen(q.shown), 64 * 3 + last);
                }
        }
        /* 127 labels of a byte each */
        begin(1, 0x0100, 1, 0, 0, 0);
        for (int i = 0; i < 127; i++)
                put("\1.", 2);
        put_question("", DNS_A, 1);
        CHECK_INT(read_question(m.length, &q), 0);
        CHECK_INT(q.has_name, 0);
        CHECK_INT(strlen(q.shown), 253);
}

TEST(malformed_questions_are_refused)
{
        static const struct {
                unsigned flags, questions, answers, authority;
                const char *wire;
                size_t length;
                unsigned end;
        } cases[] = {
                {0x8100, 1, 0, 0, WIRE("\1a\0\0\1\0\1"), 0},  /* an answer is never answered */
                {0x0800, 1, 0, 0, WIRE("\1a\0\0\1\0\1"), 12}, /* other opcodes */
                {0x2800, 1, 0, 0, WIRE("\1a\0\0\6\0\1"), 12}, /* UPDATE */
                {0x0300, 1, 0, 0, WIRE("\1a\0\0\1\0\1"), 12}, /* truncated */
                {0x0100, 0, 0, 0, WIRE(""), 12},
                {0x0100, 0, 0, 0, WIRE("\1a\0\0\1\0\1"), 12},
                {0x0100, 2, 0, 0, WIRE("\1a\0\0\1\0\1\1b\0\0\1\0\1"), 12}, /* two questions */
                {0x0100, 65535, 0, 0, WIRE("\1a\0\0\1\0\1"), 12},
                {0x0100, 1, 1, 0, WIRE("\1a\0\0\1\0\1"), 12},
                {0x0100, 1, 0, 1, WIRE("\1a\0\0\1\0\1"), 12},
                {0x0100, 1, 0, 0, WIRE(""), 12},
                {0x0100, 1, 0, 0, WIRE("\1a"), 12},
                {0x0100, 1, 0, 0, WIRE("\1a\0"), 12},
                {0x0100, 1, 0, 0, WIRE("\1a\0\0\1\0"), 12},
                {0x0100, 1, 0, 0, WIRE("\77a\0\0\1\0\1"), 12},       /* longer than the message */
                {0x0100, 1, 0, 0, WIRE("\300\14\0\1\0\1"), 12},      /* a pointer to itself */
                {0x0100, 1, 0, 0, WIRE("\300\0\0\1\0\1"), 12},       /* into the header */
                {0x0100, 1, 0, 0, WIRE("\1a\300\14\0\1\0\1"), 12},   /* a loop */
                {0x0100, 1, 0, 0, WIRE("\300\22\0\1\0\1\1a\0"), 12}, /* forward */
                {0x0100, 1, 0, 0, WIRE("\100a\0\0\1\0\1"), 12},      /* label types that do not exist */
                {0x0100, 1, 0, 0, WIRE("\200a\0\0\1\0\1"), 12},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct dns_question q;

                begin(7, cases[i].flags, cases[i].questions, cases[i].answers, cases[i].authority, 0);
                put(cases[i].wire, cases[i].length);
                CHECK_INT(read_question(m.length, &q), -EINVAL);
                CHECK_INT(q.end, cases[i].end);
                if (q.end > 0) { /* FORMERR: a header alone */
                        uint8_t answer[DNS_MESSAGE_MAX];

                        CHECK_INT(dns_write_answer(m.data, &q, DNS_FORMERR, NULL, 0, 0, answer), 12);
                        CHECK_INT(memcmp(answer, "\0\7", 2), 0);
                        CHECK_INT(answer[2] & 0x80, 0x80);
                        CHECK_INT(answer[3] & 0x0f, DNS_FORMERR);
                        CHECK_INT(memcmp(answer + 4, "\0\0\0\0\0\0\0\0", 8), 0);
                }
        }
        struct dns_question none = {0};
        uint8_t answer[DNS_MESSAGE_MAX];
        CHECK_INT(dns_write_answer(m.data, &none, DNS_OK, NULL, 0, 0, answer), 0);
}

TEST(answers_repeat_the_question)
{
        struct address addresses[40];
        struct dns_question q;
        struct dns_answer a;
        uint8_t answer[DNS_MESSAGE_MAX];
        size_t length;

        for (size_t i = 0; i < 40; i++) {
                char text[46];

                snprintf(text, sizeof(text), i % 2 ? "fd00::%zx" : "198.18.0.%zu", i);
                CHECK_INT(address_parse(text, strlen(text), &addresses[i]), 0);
        }
        for (uint16_t type = DNS_A; type != 0; type = type == DNS_A ? DNS_AAAA : 0) {
                begin(0x1234, 0x0110, 1, 0, 0, 1);
                put_question("wWw.Example.COM", type, 1);
                put("\0\0\x29\x04\xd0\0\0\0\0\0\0", 11);
                CHECK_INT(read_question(m.length, &q), 0);
                length = dns_write_answer(m.data, &q, DNS_OK, addresses, 2, 60, answer);
                CHECK_INT(length, (size_t)q.end + 12 + (type == DNS_A ? 4 : 16));
                CHECK_INT(memcmp(answer + 12, m.data + 12, q.end - 12u),
                          0); /* the question is repeated unchanged, including upper case */
                CHECK_INT(dns_read_answer(answer, length, 0x1234, "www.example.com", type, &a), 0);
                CHECK_INT(a.code, DNS_OK);
                CHECK_INT(a.n, 1);
                CHECK_INT(a.ttl, 60);
                CHECK_STR(written(&a, 0), type == DNS_A ? "198.18.0.0" : "fd00::1");
                /* as many as fit */
                length = dns_write_answer(m.data, &q, DNS_OK, addresses, 40, 60, answer);
                CHECK(length <= 512);
                CHECK_INT(dns_read_answer(answer, length, 0x1234, "www.example.com", type, &a), 0);
                CHECK_INT(a.n, 16);
                /* none */
                length = dns_write_answer(m.data, &q, DNS_OK, NULL, 0, 60, answer);
                CHECK_INT(length, q.end);
                CHECK_INT(answer[3], 0x80);
                length = dns_write_answer(m.data, &q, DNS_NXDOMAIN, addresses, 40, 60, answer);
                CHECK_INT(length, q.end);
                CHECK_INT(answer[3], 0x80 | DNS_NXDOMAIN);
                CHECK_INT(answer[2], 0x81);
        }
        begin(0x1234, 0x0100, 1, 0, 0, 0); /* of another type: never addresses */
        put_question("www.example.com", 16, 1);
        CHECK_INT(read_question(m.length, &q), 0);
        CHECK_INT(dns_write_answer(m.data, &q, DNS_OK, addresses, 40, 60, answer), q.end);
}

TEST(written_questions_can_be_read)
{
        uint8_t question[DNS_MESSAGE_MAX];
        struct dns_question q;
        char name[NAME_MAX_BYTES];

        m.length = dns_write_question(0x1234, "www.example.com", DNS_A, question);
        memcpy(m.data, question, m.length);
        CHECK_INT(read_question(m.length, &q), 0);
        CHECK_INT(q.id, 0x1234);
        CHECK_INT(q.flags, 0x0100);
        CHECK_INT(q.type, DNS_A);
        CHECK_STR(q.name, "www.example.com");
        CHECK_INT(m.length, q.end + 11);
        CHECK_INT(memcmp(m.data + q.end, "\0\0\x29\x04\xd0\0\0\0\0\0\0", 11), 0);
        CHECK_INT(m.data[11], 1);

        memset(name, 'a', sizeof(name));
        name[63] = name[127] = name[191] = '.';
        name[253] = '\0';
        m.length = dns_write_question(1, name, DNS_AAAA, question);
        memcpy(m.data, question, m.length);
        CHECK_INT(read_question(m.length, &q), 0);
        CHECK_STR(q.name, name);
        CHECK_INT(dns_write_question(1, "", DNS_A, question), 0);
        CHECK_INT(dns_write_question(1, "a..b", DNS_A, question), 0);
        name[63] = 'a';
        CHECK_INT(dns_write_question(1, name, DNS_A, question), 0);
        char longer[400];
        memset(longer, 'a', sizeof(longer));
        for (size_t i = 50; i < sizeof(longer); i += 50)
                longer[i] = '.';
        for (size_t length = 254; length < sizeof(longer); length++) {
                char *exactly = strndup(longer, length);

                CHECK_INT(dns_write_question(1, exactly, DNS_A, question), 0);
                free(exactly);
        }
}
