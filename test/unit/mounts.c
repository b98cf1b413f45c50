#include "wire/mounts.h"

#include <errno.h>
#include <string.h>

#include "test.h"

TEST(mounts_are_written_and_parsed)
{
        const struct mounts_item in[] = {{"/srv/a", "/data", false}, {"/srv/b c", "/out", true}};
        struct mounts_item out[2];
        char text[64];
        size_t len = 0;
        for (size_t i = 0; i < 2; i++)
                CHECK_INT(mounts_put(text, sizeof text, &len, &in[i]), 0);
        CHECK_INT(mounts_parse(text, len, out, 2), 2);
        for (size_t i = 0; i < 2; i++)
                CHECK(!strcmp(out[i].source, in[i].source) && !strcmp(out[i].target, in[i].target) &&
                      out[i].writable == in[i].writable);
        CHECK_INT(mounts_parse(text, len, out, 1), -EINVAL);
        CHECK_INT(mounts_parse(text, 0, out, 2), 0);
        for (size_t cut = 1; cut < len; cut++)
                if (cut != strlen("r/srv/a") + 1 + sizeof "/data")
                        CHECK_INT(mounts_parse(text, cut, out, 2), -EINVAL);
        size_t full = len;
        CHECK_INT(mounts_put(text, len + 10, &full, &in[0]), -E2BIG);
        CHECK_INT(full, len);
}

TEST(malformed_mounts_are_refused)
{
        struct mounts_item out[2];
        CHECK_INT(mounts_parse("x/a\0/b", 7, out, 2), -EINVAL);
        CHECK_INT(mounts_parse("ra\0/b", 6, out, 2), -EINVAL);
        CHECK_INT(mounts_parse("r/a\0b", 6, out, 2), -EINVAL);
        CHECK_INT(mounts_parse("\0\0", 2, out, 2), -EINVAL);
}

TEST(a_path_is_in_another_by_whole_components)
{
        CHECK(mounts_is_in("/a", "/a") && mounts_is_in("/a/b", "/a") && mounts_is_in("/a/b", "/a/") &&
              mounts_is_in("/a", "/"));
        CHECK(!mounts_is_in("/ab", "/a") && !mounts_is_in("/a", "/a/b") && !mounts_is_in("/", "/a"));
}

TEST(invalid_targets_are_refused)
{
        static const char *const bad[] = {"",         "a",     "/",   "/etc", "/etc/x",  "/usr/x",
                                          "/lib64/x", "/a//b", "/a/", "/a/.", "/a/../b", "/a\n"};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                CHECK(mounts_target_wrong(bad[i]) != NULL);
        CHECK(!mounts_target_wrong("/data") && !mounts_target_wrong("/etcetera") &&
              !mounts_target_wrong("/a/..b"));
}

TEST(mounts_of_the_server_are_apart)
{
        const struct mounts_item apart[] = {{"/s", "/a", false}, {"/s", "/ab", false}};
        const struct mounts_item nested[] = {{"/s", "/a/b", false}, {"/s", "/a", false}};
        const struct mounts_item twice[] = {{"/s", "/a", false}, {"/s", "/a", false}};
        const struct mounts_item workspace[] = {{"/s", "/workspace/x", false}};
        const struct mounts_item of_system[] = {{"/s", "/proc/x", false}};
        CHECK(!mounts_wrong(apart, 2) && !mounts_wrong(apart, 0));
        CHECK(mounts_wrong(nested, 2) && mounts_wrong(twice, 2) && mounts_wrong(workspace, 1) &&
              mounts_wrong(of_system, 1));
}
