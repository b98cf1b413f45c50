/* Patterns of policy lists, and the messages for invalid ones. */
#include "egress/policy/policy.h"
#include "test.h"

TEST(valid_patterns_are_accepted)
{
        static const struct {
                const char *text;
                bool private_only;
        } cases[] = {
                {"example.com"},
                {"EXAMPLE.com."},
                {"*.example.com"},
                {"*.com"},
                {"localhost"},
                {"example.com:1"},
                {"example.com:65535"},
                {"*.example.com:8443"},
                {"xn--bcher-kva.example"},
                {"_srv.example.com"},
                {"1.2.3.4"},
                {"1.2.3.4:22"},
                {"::1"},
                {"2001:db8::1"},
                {"[2001:db8::1]"},
                {"[2001:db8::1]:443"},
                {"::ffff:1.2.3.4"},
                {"10.0.0.0/8", true},
                {"10.0.0.0/8:5432", true},
                {"10.0.0.1/32", true},
                {"128.0.0.0/1", true},
                {"fd00::/8", true},
                {"[fd00::]/8", true},
                {"[fd00::]/8:443", true},
                {"::1/128", true},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                CHECK_STR(policy_check_pattern(POLICY_PRIVATE, cases[i].text), NULL);
                for (enum policy_list list = POLICY_ALLOWED; list < POLICY_PRIVATE; list++) {
                        const char *wrong = policy_check_pattern(list, cases[i].text);

                        if ((wrong != NULL) != cases[i].private_only)
                                CHECK_STR(wrong, cases[i].text);
                        if (wrong != NULL)
                                CHECK(strncmp(wrong, "networks are for", 16) == 0);
                }
        }
}

TEST(invalid_patterns_are_refused_with_a_reason)
{
        static const struct {
                const char *text, *why; /* begin of it */
        } cases[] = {
                {"", "a pattern has something"},
                {"*", "* alone"},
                {"*.", "a name has labels"},
                {"*.*", "a * is only allowed"},
                {"**.example.com", "a * is only allowed"},
                {"*example.com", "a * is only allowed"},
                {"a.*.com", "a * is only allowed"},
                {"example.*", "a * is only allowed"},
                {"*.*.example.com", "a * is only allowed"},
                {"*.example.com.*", "a * is only allowed"},
                {"*:443", "a * is only allowed"},
                {"*.:443", "a name has labels"},
                {"*.1.2.3.4", "an address is written"},
                {"*.[::1]", "this is not an IPv6 address"},
                {".example.com", "a name has labels"},
                {"example..com", "a name has labels"},
                {"example.com..", "a name has labels"},
                {"-a.com", "a name has labels"},
                {" example.com", "a name has labels"},
                {"example.com ", "a name has labels"},
                {"example .com", "a name has labels"},
                {"b\xc3\xbc"
                 "cher.example",
                 "a name has letters, digits and hyphens; write it as xn--"},
                {"https://example.com", "a pattern is a name, not a URL"},
                {"http://example.com/x", "a pattern is a name, not a URL"},
                {"example.com/", "a pattern is a name without a path"},
                {"example.com/24", "a pattern is a name without a path"},
                {"me@example.com", "a pattern must not contain a user"},
                {"example.com:", "a port is"},
                {"example.com:0", "a port is"},
                {"example.com:65536", "a port is"},
                {"example.com:99999", "a port is"},
                {"example.com:4294967376", "a port is"}, /* 80, if it wraps */
                {"example.com:080", "a port is"},
                {"example.com:+80", "a port is"},
                {"example.com:-1", "a port is"},
                {"example.com: 80", "a port is"},
                {"example.com:80 ", "a port is"},
                {"example.com:http", "a port is"},
                {"example.com:80:80", "this is not an IPv6 address"},
                {"example.com:80-90", "a port is"},
                {"example.com:*", "a port is"},
                {"1.2.3.4:0", "a port is"},
                {"1.2.3.4:65536", "a port is"},
                {"[::1]:", "a port is"},
                {"[::1]:x", "a port is"},
                {"[::1]x", "after an address"},
                {"127.1", "an address is written"},
                {"0x7f.1", "an address is written"},
                {"2130706433", "an address is written"},
                {"017700000001", "an address is written"},
                {"1.2.3.04", "an address is written"},
                {"1.2.3.256", "an address is written"},
                {"[1.2.3.4]", "this is not an IPv6 address"},
                {"[::1", "this is not an IPv6 address"},
                {"fe80::1%eth0", "this is not an IPv6 address"},
                {"[fe80::1%25eth0]:80", "this is not an IPv6 address"},
                {"1:2:3:4:5:6:7:8:443", "this is not an IPv6 address"},
                {"10.0.0.0/", "a network's length"},
                {"10.0.0.0/0", "a network's length"},
                {"10.0.0.0/08", "a network's length"},
                {"10.0.0.0/33", "a network's length"},
                {"10.0.0.0/129", "a network's length"},
                {"10.0.0.0/4294967304", "a network's length"}, /* 8, if it wraps */
                {"10.0.0.0/-1", "a network's length"},
                {"10.0.0.0/255.0.0.0", "a network's length"},
                {"10.0.0.0/24.0", "after an address"},
                {"10.0.0.1/8", "a network has only zeros"},
                {"10.0.0.0/6", "a network has only zeros"},
                {"10.0.0.0/8:0", "a port is"},
                {"10.0.0.0/8 ", "after an address"},
                {"fd00::/0", "a network's length"},
                {"fd00::/129", "a network's length"},
                {"fd00::1/8", "a network has only zeros"},
                {"fd00::/8:443", "an IPv6 address with a port"},
                {"::ffff:10.0.0.0/104", "a network's length"}, /* that is an IPv4 network: /8 */
        };
        char long_name[EGRESS_PATTERN_MAX + 8];

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                const char *wrong = policy_check_pattern(POLICY_PRIVATE, cases[i].text);

                if (wrong == NULL || strncmp(wrong, cases[i].why, strlen(cases[i].why)) != 0) {
                        CHECK_STR(wrong, cases[i].why);
                        CHECK_STR(cases[i].text, "");
                }
                CHECK(policy_check_pattern(POLICY_ALLOWED, cases[i].text) != NULL);
                CHECK(policy_check_pattern(POLICY_BLOCKED, cases[i].text) != NULL);
        }
        memset(long_name, 'a', sizeof(long_name));
        for (size_t i = 50; i < sizeof(long_name); i += 50)
                long_name[i] = '.';
        long_name[sizeof(long_name) - 1] = '\0';
        CHECK_STR(policy_check_pattern(POLICY_ALLOWED, long_name), "a name has 253 characters at most");
        long_name[260] = '\0';
        CHECK(policy_check_pattern(POLICY_ALLOWED, long_name) != NULL);
        long_name[252] = '\0';
        CHECK_STR(policy_check_pattern(POLICY_ALLOWED, long_name), NULL);
}
