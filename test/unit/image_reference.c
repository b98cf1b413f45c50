#include "image/store/reference.h"

#include "test.h"

/* How a name is written out, or what is wrong with it. */
static const char *full(const char *text)
{
        static char name[REFERENCE_SIZE];
        struct reference r;
        struct cella_err err = {0};
        if (reference_parse(text, &r, &err) < 0)
                return err.kind == CELLA_INVALID_REQUEST && err.hint[0] ? "refused"
                                                                        : "refused without a word";
        reference_write(&r, name);
        return name;
}

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

TEST(references_get_the_defaults_of_docker)
{
        CHECK_STR(full("python"), "docker.io/library/python:latest");
        CHECK_STR(full("python:3.12-slim"), "docker.io/library/python:3.12-slim");
        CHECK_STR(full("bitnami/redis"), "docker.io/bitnami/redis:latest");
        CHECK_STR(full("docker.io/python"), "docker.io/library/python:latest");
        CHECK_STR(full("index.docker.io/library/python:3"), "docker.io/library/python:3");
        CHECK_STR(full("registry-1.docker.io/a/b"), "docker.io/a/b:latest");
        CHECK_STR(full("ghcr.io/a/b/c:v1"), "ghcr.io/a/b/c:v1");
        CHECK_STR(full("GHCR.io/a"), "ghcr.io/a:latest");
        CHECK_STR(full("localhost/x"), "localhost/x:latest");
        CHECK_STR(full("localhost:5000/x:y"), "localhost:5000/x:y");
        CHECK_STR(full("127.0.0.1:5000/x"), "127.0.0.1:5000/x:latest");
        CHECK_STR(full("[::1]:5000/x"), "[::1]:5000/x:latest");
        CHECK_STR(full("host:5000/a__b/c--d/e.f_g"), "host:5000/a__b/c--d/e.f_g:latest");
}

TEST(a_digest_stands_for_itself)
{
        CHECK_STR(full("a@sha256:" HEX), "docker.io/library/a@sha256:" HEX);
        CHECK_STR(full("q.io/a:b@sha256:" HEX), "q.io/a:b@sha256:" HEX);
        CHECK_STR(full("a@sha256:" HEX "0"), "refused");
        CHECK_STR(full("a@sha256:0123"), "refused");
        CHECK_STR(full("a@sha512:" HEX HEX), "refused");
        CHECK_STR(full("a@SHA256:" HEX), "refused");
        CHECK_STR(full("a@"), "refused");
        CHECK(digest_is_valid("sha256:" HEX));
        CHECK(!digest_is_valid("sha256:" HEX "/../x"));
        CHECK(!digest_is_valid(NULL));
}

TEST(invalid_references_are_refused)
{
        static const char *const bad[] = {
                "",           "/",         ":",           "a:",         ":a",        "a/",     "/a",
                "a//b",       "../a",      "a/../b",      "a/./b",      ".",         "..",     "-a",
                "a-",         "a..b",      "a___b",       "a b",        "a\nb",      "a:b c",  "a:.b",
                "a:-b",       "A",         "Host/a",      "a/B",        "a?b",       "a#b",    "a%2fb",
                "http://a/b", "a.b:0/c",   "a.b:65536/c", "a.b:/c",     "a.b:x/c",   "-a.b/c", "a-.b/c",
                "a..b/c",     "u@h.io/a",  "u:p@h.io/a",  "[::1/x",     "[x]:1/x",   "[]/x",   "h.io:1:2/a",
                "a:b:c",      "h.io/a:b/", "a\x7f",       "\xc3\xa4/b", "h.io/a:b/c"};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                if (strcmp(full(bad[i]), "refused") != 0)
                        printf("FAIL '%s'\n", bad[i]);
                CHECK_STR(full(bad[i]), "refused");
        }
}

TEST(lengths_are_bounded)
{
        char text[2000];
        memset(text, 'a', sizeof text);
        text[255 - 8] = '\0';
        CHECK(strcmp(full(text), "refused") != 0);
        text[255 - 8] = 'a';
        text[256 - 8] = '\0';
        CHECK_STR(full(text), "refused");
        text[256 - 8] = 'a';
        text[1999] = '\0';
        CHECK_STR(full(text), "refused");
        memcpy(text, "a:", 2);
        text[2 + 128] = '\0';
        CHECK(strcmp(full(text), "refused") != 0);
        text[2 + 128] = 'a';
        text[2 + 129] = '\0';
        CHECK_STR(full(text), "refused");
        memset(text, 'a', sizeof text);
        strcpy(text + 64, ".io/a"); /* a label of 64 */
        CHECK_STR(full(text), "refused");
        strcpy(text + 63, ".io/a");
        CHECK(strcmp(full(text), "refused") != 0);
}

TEST(loopback_addresses_are_known_in_all_forms)
{
        static const char *const near[] = {"localhost",       "localhost:5000", "127.0.0.1",
                                           "127.1.2.3:80",    "[::1]:1",        "[::1]",
                                           "0.0.0.0:1",       "[::]",           "[0:0::1]:1",
                                           "LocalHost",       "localhost.:1",   "[::ffff:127.0.0.1]:5000",
                                           "[::ffff:7f00:1]", "[::127.0.0.1]",  "[::ffff:0.0.0.0]"};
        static const char *const far[] = {"localhost.evil",
                                          "127.0.0.1.evil",
                                          "127.0.0.1x",
                                          "127.0.0.256",
                                          "127.1",
                                          "1.127.0.0",
                                          "[::2]",
                                          "xlocalhost",
                                          "127.0.0.01",
                                          "docker.io",
                                          "",
                                          "[::1]x",
                                          "[::ffff:8.8.8.8]",
                                          "10.0.0.0",
                                          "[::1:127.0.0.1]",
                                          "[127.0.0.1]"};
        for (size_t i = 0; i < sizeof near / sizeof *near; i++)
                CHECK(reference_host_is_loopback(near[i]));
        for (size_t i = 0; i < sizeof far / sizeof *far; i++)
                CHECK(!reference_host_is_loopback(far[i]));
}

TEST(docker_io_is_another_host)
{
        struct reference r;
        struct cella_err err;
        CHECK_INT(reference_parse("python", &r, &err), 0);
        CHECK_STR(reference_host(&r), "registry-1.docker.io");
        CHECK_INT(reference_parse("ghcr.io/x", &r, &err), 0);
        CHECK_STR(reference_host(&r), "ghcr.io");
}
