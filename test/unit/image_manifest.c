#include "image/registry/manifest.h"

#include "test.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
#define D(last) "\"digest\":\"sha256:" HEX last "\""
#define CONFIG "{\"mediaType\":\"application/vnd.oci.image.config.v1+json\"," D("0") ",\"size\":100}"
#define LAYER(type, last, size) "{\"mediaType\":\"" type "\"," D(last) ",\"size\":" size "}"
#define GZIP "application/vnd.oci.image.layer.v1.tar+gzip"
#define OCI_IMAGE "application/vnd.oci.image.manifest.v1+json"
#define OCI_LIST "application/vnd.oci.image.index.v1+json"
#define DOCKER_IMAGE "application/vnd.docker.distribution.manifest.v2+json"
#define IMAGE(layers) "{\"schemaVersion\":2,\"config\":" CONFIG ",\"layers\":[" layers "]}"
#define ENTRY(last, platform) "{\"mediaType\":\"" OCI_IMAGE "\"," D(last) ",\"size\":500" platform "}"
#define FOR(os, arch, more) ",\"platform\":{\"os\":\"" os "\",\"architecture\":\"" arch "\"" more "}"
#define LIST(entries) "{\"schemaVersion\":2,\"manifests\":[" entries "]}"

static struct manifest m;
static struct cella_err err;

static int reading_as(const char *text, const char *type, const char *platform)
{
        struct platform want;
        char *copy = strdup(text);
        err = (struct cella_err){0};
        m = (struct manifest){0};
        CHECK_INT(platform_parse(platform, &want, &err), 0);
        int r = manifest_read(copy, strlen(copy), type, &want, &m, &err);
        if ((r < 0) != (err.msg[0] != '\0'))
                CHECK(!"a message with each failure, and only then");
        free(copy);
        return r;
}

static int reading(const char *text)
{
        return reading_as(text, NULL, "linux/amd64");
}

TEST(images_of_both_kinds_are_read)
{
        CHECK_INT(reading(IMAGE(LAYER(GZIP, "1", "10") "," LAYER("application/vnd.oci.image.layer.v1.tar",
                                                                 "2", "20"))),
                  0);
        CHECK_INT(m.kind, MANIFEST_IMAGE);
        CHECK_INT(m.n_layers, 2);
        CHECK_STR(m.config.digest, "sha256:" HEX "0");
        CHECK_STR(m.layers[0].digest, "sha256:" HEX "1");
        CHECK_INT(m.layers[1].size, 20);
        CHECK_INT(m.bytes, 30);
        CHECK_INT(reading_as("{\"schemaVersion\":2,\"mediaType\":\"" DOCKER_IMAGE
                             "\",\"config\":{\"mediaType\":"
                             "\"application/vnd.docker.container.image.v1+json\"," D(
                                     "0") ",\"size\":1},\"layers\":[" LAYER("application/"
                                                                            "vnd.docker.image.rootfs.diff."
                                                                            "tar.gzip",
                                                                            "3", "5") "]}",
                             DOCKER_IMAGE, "linux/amd64"),
                  0);
        CHECK_INT(m.n_layers, 1);
        CHECK_INT(reading(IMAGE(LAYER("application/vnd.oci.image.layer.v1.tar+zstd", "1", "0"))), 0);
}

static const char list[] = LIST(
        ENTRY("1", FOR("linux", "arm64", ",\"variant\":\"v8\"")) "," ENTRY("2", FOR("linux", "amd64", "")) "," ENTRY(
                "3",
                FOR("linux", "arm",
                    ",\"variant\":\"v6\"")) "," ENTRY("4",
                                                      FOR("linux", "arm",
                                                          ",\"variant\":\"v7\"")) "," ENTRY("5",
                                                                                            FOR("unknown",
                                                                                                "unknown",
                                                                                                "")) "," ENTRY("6",
                                                                                                               FOR("windows",
                                                                                                                   "amd64",
                                                                                                                   "")));

static const char *chosen(const char *platform)
{
        return reading_as(list, NULL, platform) < 0 ? NULL : m.chosen.digest + 7 + 63;
}

TEST(a_list_is_chosen_from_by_platform)
{
        CHECK_STR(chosen("linux/amd64"), "2");
        CHECK_INT(m.kind, MANIFEST_LIST);
        CHECK_INT(m.chosen.size, 500);
        CHECK_STR(chosen("linux/arm64"), "1");
        CHECK_STR(chosen("linux/arm64/v8"), "1");
        CHECK_STR(chosen("linux/arm"), "4");
        CHECK_STR(chosen("linux/arm/v6"), "3");
        CHECK_STR(chosen("windows/amd64"), "6");
        CHECK_STR(chosen("linux/amd64/v3"), NULL);
}

TEST(the_available_platforms_are_listed_if_none_fits)
{
        CHECK_INT(reading_as(list, NULL, "linux/s390x"), -ENOENT);
        CHECK_INT(err.kind, CELLA_NOT_FOUND);
        CHECK(strstr(err.msg, "linux/s390x") && strstr(err.msg, "linux/arm64/v8, linux/amd64, linux/arm/v6"));
        CHECK(!strstr(err.msg, "unknown") && err.hint[0]);
}

TEST(the_only_entry_of_a_list_needs_no_platform)
{
        CHECK_INT(reading(LIST(ENTRY("7", ""))), 0);
        CHECK_STR(m.chosen.digest, "sha256:" HEX "7");
        CHECK_INT(reading(LIST(ENTRY("7", "") "," ENTRY("8", ""))), -ENOENT);
        CHECK_INT(reading(LIST("")), -ENOENT);
}

TEST(ambiguous_manifests_are_refused)
{
        CHECK_INT(reading("{\"schemaVersion\":2,\"config\":" CONFIG ",\"layers\":[" LAYER(
                          GZIP, "1", "1") "],\"manifests\":[" ENTRY("1", FOR("linux", "amd64", "")) "]}"),
                  -EBADMSG);
        CHECK_INT(reading("{\"schemaVersion\":2,\"config\":" CONFIG
                          ",\"manifests\":[" ENTRY("1", FOR("linux", "amd64", "")) "]}"),
                  -EBADMSG);
        CHECK_INT(reading_as(list, OCI_IMAGE, "linux/amd64"), -EBADMSG);
        CHECK_INT(reading_as(list, OCI_LIST, "linux/amd64"), 0);
        CHECK_INT(reading_as(IMAGE(LAYER(GZIP, "1", "1")), OCI_LIST, "linux/amd64"), -EBADMSG);
        CHECK_INT(reading("{\"schemaVersion\":2,\"mediaType\":\"" OCI_LIST "\",\"config\":" CONFIG
                          ",\"layers\":[" LAYER(GZIP, "1", "1") "]}"),
                  -EBADMSG);
}

TEST(invalid_image_names_are_refused_and_shown)
{
        CHECK_INT(reading("{\"schemaVersion\":2,\"config\":{\"mediaType\":\"application/"
                          "vnd.cncf.helm.config.v1+json\"," D("0") ",\"size\":1},\"layers\":[" LAYER(
                                  GZIP, "1", "1") "]}"),
                  -EBADMSG);
        CHECK(strstr(err.msg, "helm"));
        CHECK_INT(
                reading(IMAGE(LAYER("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "1", "1"))),
                -EBADMSG);
        CHECK(strstr(err.msg, "foreign"));
        CHECK_INT(reading("{\"schemaVersion\":1,\"name\":\"x\"}"), -EBADMSG);
        CHECK(strstr(err.msg, "schema 1") && err.hint[0]);
}

TEST(broken_manifests_are_refused)
{
        static const char *const bad[] = {
                "",
                "[]",
                "{}",
                "null",
                "{\"schemaVersion\":2}",
                "{\"schemaVersion\":2,\"layers\":[]}",
                "{\"schemaVersion\":2,\"layers\":{},\"config\":{}}",
                "{\"schemaVersion\":\"2\",\"manifests\":[]}",
                IMAGE(""),
                IMAGE("{}"),
                IMAGE("1"),
                IMAGE(LAYER(GZIP, "1", "-1")),
                IMAGE(LAYER(GZIP, "1", "1.5")),
                IMAGE(LAYER(GZIP, "1", "\"1\"")),
                IMAGE(LAYER(GZIP, "1\\u0000", "1")),
                IMAGE(LAYER(GZIP, "x", "1")),
                IMAGE(LAYER(GZIP, "11", "1")),
                LIST("{}") "x",
                "{\"schemaVersion\":2,\"config\":1,\"layers\":[" LAYER(GZIP, "1", "1") "]}",
                "{\"schemaVersion\":2,\"manifests\":{}}",
        };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                if (reading(bad[i]) != -EBADMSG)
                        printf("FAIL '%s': %s\n", bad[i], err.msg);
                CHECK_INT(reading(bad[i]), -EBADMSG);
        }
}

TEST(sizes_and_numbers_are_bounded)
{
        static char text[400000];
        CHECK_INT(reading(IMAGE(LAYER(GZIP, "1", "34359738369"))), -EFBIG);
        CHECK_INT(err.kind, CELLA_TOO_LARGE);
        CHECK_INT(reading(IMAGE(LAYER(GZIP, "1", "34359738368") "," LAYER(GZIP, "2", "34359738368"))), 0);
        CHECK_INT(reading(IMAGE(LAYER(GZIP, "1", "34359738368") "," LAYER(GZIP, "2", "34359738368") "," LAYER(
                          GZIP, "3", "1"))),
                  -EFBIG);
        CHECK_INT(reading(IMAGE(LAYER(GZIP, "1", "99999999999999999999"))), -EBADMSG);
        for (int n = 127; n <= 128; n++) {
                strcpy(text, "{\"schemaVersion\":2,\"config\":" CONFIG ",\"layers\":[");
                for (int i = 0; i < n; i++)
                        strcat(strcat(text, i ? "," : ""), LAYER(GZIP, "1", "1"));
                strcat(text, "]}");
                CHECK_INT(reading(text), n == 127 ? 0 : -E2BIG);
        }
        strcpy(text, "{\"schemaVersion\":2,\"manifests\":[");
        for (int i = 0; i < 1025; i++)
                strcat(strcat(text, i ? "," : ""), ENTRY("1", ""));
        CHECK_INT(reading(strcat(text, "]}")), -E2BIG);
}

TEST(platforms_are_parsed)
{
        static const char *const bad[] = {
                "", "linux", "linux/", "/amd64", "linux/amd64/v1/x", "Linux/amd64", "linux/amd 64", "a//b"};
        struct platform p, here;
        char text[MANIFEST_PLATFORM_SIZE];
        CHECK_INT(platform_parse("linux/arm/v7", &p, &err), 0);
        platform_write(&p, text);
        CHECK_STR(text, "linux/arm/v7");
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                CHECK_INT(platform_parse(bad[i], &p, &err), -EINVAL);
        platform_of_this_machine(&here);
        CHECK_STR(here.os, "linux");
        CHECK_INT(platform_parse("linux/x86_64", &p, &err), 0);
        CHECK_INT(platform_parse("linux/amd64/v1", &here, &err), 0);
        CHECK(platform_equal(&p, &here));
}

TEST(a_configuration_says_its_platform)
{
        struct platform p;
        char good[] = "{\"os\":\"linux\",\"architecture\":\"arm64\",\"variant\":\"v8\"}",
             without[] = "{\"os\":\"linux\"}";
        char odd[] = "{\"os\":\"linux\",\"architecture\":\"a\\nb\"}";
        CHECK_INT(manifest_config_platform(good, strlen(good), &p, &err), 0);
        CHECK_STR(p.variant, "v8");
        CHECK_INT(manifest_config_platform(without, strlen(without), &p, &err), -EBADMSG);
        CHECK_INT(manifest_config_platform(odd, strlen(odd), &p, &err), -EBADMSG);
}
