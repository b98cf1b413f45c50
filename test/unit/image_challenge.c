#include "image/registry/challenge.h"

#include "test.h"

static struct challenge c;

static int reading(const char *value)
{
        c = (struct challenge){0};
        return challenge_read(value, &c);
}

TEST(answers_of_real_registries_are_understood)
{
        CHECK_INT(reading("Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\","
                          "scope=\"repository:library/python:pull\""),
                  0);
        CHECK_INT(c.scheme, CHALLENGE_BEARER);
        CHECK_STR(c.realm, "https://auth.docker.io/token");
        CHECK_STR(c.service, "registry.docker.io");
        CHECK_INT(reading("Basic realm=\"Registry Realm\""), 0);
        CHECK_INT(c.scheme, CHALLENGE_BASIC);
        CHECK_INT(reading("bearer Realm = https , SERVICE= \"a\\\"b\" ,error=\"x, y=z\""), 0);
        CHECK_STR(c.realm, "https");
        CHECK_STR(c.service, "a\"b");
        CHECK_INT(reading("Basic"), 0);
        CHECK_INT(c.scheme, CHALLENGE_BASIC);
        CHECK_INT(reading(""), 0);
        CHECK_INT(c.scheme, CHALLENGE_NONE);
}

TEST(the_best_of_several_is_taken)
{
        static const char *const several[] = {
                "Basic realm=\"a\", Bearer realm=\"https://b\",service=\"s\"",
                "Bearer realm=\"https://b\",service=\"s\", Basic realm=\"a\"",
                "Negotiate, Bearer realm=\"https://b\",service=\"s\", Digest realm=\"d\", nonce=\"n\"",
                "Negotiate YWJj==, Bearer realm=\"https://b\",service=\"s\"",
                ", ,Bearer realm=\"https://b\",,service=\"s\",",
        };
        for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
                CHECK_INT(reading(several[i]), 0);
                CHECK_INT(c.scheme, CHALLENGE_BEARER);
                CHECK_STR(c.realm, "https://b");
                CHECK_STR(c.service, "s");
        }
        /* Over several headers, too. */
        CHECK_INT(reading("Basic realm=\"a\""), 0);
        CHECK_INT(challenge_read("Bearer realm=\"https://b\"", &c), 0);
        CHECK_INT(challenge_read("Basic realm=\"a\"", &c), 0);
        CHECK_STR(c.realm, "https://b");
}

TEST(a_bearer_without_a_realm_is_none)
{
        CHECK_INT(reading("Bearer service=\"x\""), 0);
        CHECK_INT(c.scheme, CHALLENGE_NONE);
}

TEST(input_of_another_form_changes_nothing)
{
        static const char *const bad[] = {
                "realm=\"x\"",
                "Bearer realm=\"x",
                "Bearer realm=\"x\\",
                "Bearer realm=\"x\" service=\"y\"",
                "Bearer realm=\"x\",realm=\"y\"",
                "Bearer realm=\"x\ny\"",
                "Bearer realm=\"x\"y",
                "Bearer \"x\"",
                "\"Bearer\"",
                "Bearer realm=\"\xc3\xa4\"",
                "Bearer realm==x",
                "Bearer=x",
                "Averyveryveryveryverylongschemenamethatnobodyhas x=y",
        };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                c = (struct challenge){.scheme = CHALLENGE_BASIC, .realm = "before"};
                if (challenge_read(bad[i], &c) != -EINVAL)
                        printf("FAIL '%s'\n", bad[i]);
                CHECK_INT(challenge_read(bad[i], &c), -EINVAL);
                CHECK_INT(c.scheme, CHALLENGE_BASIC);
                CHECK_STR(c.realm, "before");
        }
}

TEST(lengths_are_bounded)
{
        char text[4000] = "Bearer realm=\"";
        size_t n = strlen(text);
        memset(text + n, 'a', 3000);
        strcpy(text + n + CHALLENGE_REALM_SIZE - 1, "\"");
        CHECK_INT(reading(text), 0);
        memset(text + n, 'a', 3000);
        strcpy(text + n + CHALLENGE_REALM_SIZE, "\"");
        CHECK_INT(reading(text), -EINVAL);
}
