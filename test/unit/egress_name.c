/* Host names that a policy list and a resolver could read differently. */
#include "egress/policy/name.h"

#include "test.h"

#define LABEL63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"
#define NAME253                                                                                              \
        LABEL63 "." LABEL63 "." LABEL63 "."                                                                  \
                "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffg"

TEST(names_are_normalised)
{
        static const struct {
                const char *text, *name;
        } cases[] = {
                {"example.com", "example.com"},
                {"EXAMPLE.Com", "example.com"},
                {"example.com.", "example.com"},
                {"ExAmPlE.cOm.", "example.com"},
                {"localhost", "localhost"},
                {"a", "a"},
                {"a.b.c.d.e.f", "a.b.c.d.e.f"},
                {"1password.com", "1password.com"},
                {"127.0.0.1.nip.io", "127.0.0.1.nip.io"}, /* a valid name; its addresses are checked later */
                {"0x7f.example", "0x7f.example"},
                {"3com.3com", "3com.3com"},
                {"xn--bcher-kva.example", "xn--bcher-kva.example"},
                {"XN--BCHER-KVA.example", "xn--bcher-kva.example"},
                {"_dmarc.example.com", "_dmarc.example.com"},
                {"_", "_"},
                {"a--b.c", "a--b.c"},
                {"example.0xg", "example.0xg"}, /* no number */
                {"example.1a", "example.1a"},
                {"example.0abc", "example.0abc"},
                {"example.axe", "example.axe"},
                {LABEL63 ".com", LABEL63 ".com"},
                {NAME253, NAME253},
                {NAME253 ".", NAME253},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                char name[NAME_MAX_BYTES] = "untouched", again[NAME_MAX_BYTES];

                CHECK_INT(name_normalise(cases[i].text, strlen(cases[i].text), name), 0);
                CHECK_STR(name, cases[i].name);
                CHECK_INT(name_normalise(name, strlen(name), again), 0);
                CHECK_STR(again, name);
        }
}

TEST(invalid_names_are_refused)
{
        static const char *const cases[] = {
                "",
                ".",
                "..",
                ".example.com",
                "example..com",
                "example.com..",
                "example.com...",
                "-example.com",
                "example-.com",
                "example.-com",
                "example.com-",
                "exa mple.com",
                " example.com",
                "example.com ",
                "example.com\t",
                "example.com\n",
                "example.com\r\n",
                "example.com:443",
                "example.com/",
                "example.com#",
                "example.com?",
                "user@example.com",
                "example.com%00",
                "%65xample.com",
                "example.com\\",
                "example,com",
                "exam*ple.com",
                "*.example.com",
                "*",
                "b\xc3\xbc"
                "cher.example", /* a U-label */
                "example\xe3\x80\x82"
                "com", /* the ideographic full stop, a dot for IDNA */
                "example\xef\xbc\x8e"
                "com",                    /* the full-width one */
                "\xef\xbd\x85xample.com", /* a full-width e */
                "exampl\xd0\xb5.com",     /* a Cyrillic e */
                "example.com\xc2\xad",    /* a soft hyphen, which IDNA leaves out */
                "example.com\x7f",
                "example.com\xff",
                LABEL63 "h.com",
                "a" NAME253,
                /* what some inet_aton() takes for an address */
                "127.0.0.1",
                "127.0.0.1.",
                "127.1",
                "127.0.1",
                "0x7f.1",
                "0X7F.1",
                "0x7f.0x0.0x0.0x1",
                "0x7f000001",
                "2130706433",
                "2130706433.",
                "017700000001",
                "0177.0.0.1",
                "0177.1",
                "0",
                "0x",
                "0.0x",
                "1.2.3.4.5",
                "300.300.300.300",
                "99999999999999999999",
                "example.123",
                "example.0x1f",
                "example.0X",
                "1.0xabcdef",
                "[::1]",
                "::1",
                "fe80::1%eth0",
                "[127.0.0.1]",
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                char name[NAME_MAX_BYTES] = "untouched";

                if (name_normalise(cases[i], strlen(cases[i]), name) != -EINVAL)
                        CHECK_STR(cases[i], "refused");
                CHECK_STR(name, "untouched");
        }
}

TEST(every_byte_but_those_of_names_is_refused_everywhere)
{
        for (int c = 0; c < 256; c++)
                for (size_t at = 0; at < 11; at++) {
                        char text[] = "example.com", name[NAME_MAX_BYTES];
                        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                    (c >= '0' && c <= '9') || c == '_';

                        text[at] = (char)c;
                        if (c == '-')
                                good = at != 0 && at != 6 && at != 8 && at != 10;
                        if (c == '.')
                                good = at != 0 && at != 6 && at != 8;
                        CHECK_INT(name_normalise(text, 11, name), good ? 0 : -EINVAL);
                }
}

TEST(a_nul_does_not_end_a_name)
{
        static const char evil[] = "allowed.example\0.evil.example";
        char name[NAME_MAX_BYTES];

        CHECK_INT(name_normalise(evil, sizeof(evil) - 1, name), -EINVAL);
        CHECK_INT(name_normalise(evil, strlen(evil) + 1, name), -EINVAL);
        CHECK_INT(name_normalise("\0", 1, name), -EINVAL);
        CHECK_INT(name_normalise(evil, strlen(evil), name), 0); /* only what is in `length` counts */
}
