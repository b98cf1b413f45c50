#include "image/registry/credentials.h"

#include "test.h"

static struct credentials c;
static struct cella_err err;

static int parse(const char *text, const char *registry)
{
        char *copy = strdup(text);
        c = (struct credentials){0};
        err = (struct cella_err){0};
        int r = credentials_parse(copy, strlen(copy), registry, &c, &err);
        free(copy);
        return r;
}

/* am9lOnM6ZWNyZXQ= is joe:s:ecret */
#define JOE "{\"auth\":\"am9lOnM6ZWNyZXQ=\"}"

TEST(credentials_of_docker_login_are_found)
{
        static const char *const keys[] = {"q.io:5000", "https://q.io:5000", "http://q.io:5000/",
                                           "https://q.io:5000/v2/", "Q.io:5000/v1/"};
        char text[200];
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
                snprintf(text, sizeof text, "{\"auths\":{\"x.io\":{\"auth\":\"?\"},\"%s\":" JOE "}}",
                         keys[i]);
                CHECK_INT(parse(text, "q.io:5000"), 1);
                CHECK_STR(c.username, "joe");
                CHECK_STR(c.password, "s:ecret");
        }
        CHECK_INT(parse("{\"auths\":{\"https://index.docker.io/v1/\":" JOE "}}", "docker.io"), 1);
        CHECK_STR(c.username, "joe");
}

TEST(a_token_and_plain_members_are_taken)
{
        CHECK_INT(parse("{\"auths\":{\"q.io\":{\"auth\":\"am9lOg==\",\"identitytoken\":\"tok\"}}}", "q.io"),
                  1);
        CHECK_STR(c.identitytoken, "tok");
        CHECK_STR(c.username, "joe");
        CHECK_STR(c.password, "");
        CHECK_INT(parse("{\"auths\":{\"q.io\":{\"username\":\"u\",\"password\":\"p\"}}}", "q.io"), 1);
        CHECK_STR(c.password, "p");
}

TEST(credentials_of_another_host_are_not_used)
{
        static const char *const keys[] = {
                "q.io.evil", "xq.io", "q.io:443", "evil/q.io", "q.io/namespace", "https://evil/q.io", ""};
        char text[200];
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
                snprintf(text, sizeof text, "{\"auths\":{\"%s\":" JOE "}}", keys[i]);
                CHECK_INT(parse(text, "q.io"), 0);
                CHECK_STR(c.username, "");
        }
        CHECK_INT(parse("{\"auths\":{\"index.docker.io\":" JOE "}}", "q.io"), 0);
        CHECK_INT(parse("{\"auths\":{\"q.io\\u0000x\":" JOE "}}", "q.io"), -EINVAL);
        CHECK_STR(c.username, "");
}

TEST(a_helper_is_named_and_not_run)
{
        CHECK_INT(parse("{\"auths\":{\"q.io\":{}},\"credsStore\":\"desktop\"}", "q.io"), 1);
        CHECK_STR(c.helper, "desktop");
        CHECK_STR(c.username, "");
        CHECK_INT(parse("{\"credHelpers\":{\"q.io\":\"gcr\"}}", "q.io"), 1);
        CHECK_STR(c.helper, "gcr");
        /* There are no credentials for this registry. */
        CHECK_INT(parse("{\"auths\":{\"q.io\":{}},\"credsStore\":\"desktop\"}", "r.io"), 0);
        CHECK_INT(parse("{\"auths\":{\"q.io\":" JOE "},\"credsStore\":\"desktop\"}", "q.io"), 1);
        CHECK_STR(c.helper, "");
        CHECK_STR(c.username, "joe");
}

TEST(invalid_credential_files_are_refused_or_empty)
{
        CHECK_INT(parse("{", "q.io"), -EINVAL);
        CHECK(err.msg[0]);
        CHECK_INT(parse("{}", "q.io"), 0);
        CHECK_INT(parse("[]", "q.io"), 0);
        CHECK_INT(parse("{\"auths\":[]}", "q.io"), 0);
        CHECK_INT(parse("{\"auths\":{\"q.io\":{}}}", "q.io"), 0);
        CHECK_INT(parse("{\"auths\":{\"q.io\":{\"auth\":\"not base64\"}}}", "q.io"), -EINVAL);
        CHECK(!strstr(err.msg, "base64"));
        CHECK_INT(parse("{\"auths\":{\"q.io\":{\"auth\":\"am9l\"}}}", "q.io"), -EINVAL);
        /* A line's end in a header's value would be another header. */
        CHECK_INT(parse("{\"auths\":{\"q.io\":{\"username\":\"a\\r\\nX: y\",\"password\":\"p\"}}}", "q.io"),
                  -EINVAL);
        CHECK_INT(parse("{\"auths\":{\"q.io\":{\"identitytoken\":\"a\\nb\"}}}", "q.io"), -EINVAL);
}

TEST(the_credentials_file_is_found_as_by_docker)
{
        char path[200], directory[64];
        snprintf(directory, sizeof directory, "%s/cella-credentials-XXXXXX", test_directory());
        if (!mkdtemp(directory)) {
                CHECK(!"mkdtemp");
                return;
        }
        setenv("DOCKER_CONFIG", directory, 1);
        CHECK_INT(credentials_path(path, sizeof path), 0);
        CHECK(!strncmp(path, directory, strlen(directory)) && strstr(path, "/config.json"));
        CHECK_INT(credentials_path(path, 10), -ENAMETOOLONG);
        CHECK_INT(credentials_path(path, sizeof path), 0);
        CHECK_INT(credentials_read(path, "q.io", &c, &err), 0); /* no file */
        FILE *f = fopen(path, "w");
        fputs("{\"auths\":{\"q.io\":" JOE "}}", f);
        fclose(f);
        CHECK_INT(credentials_read(path, "q.io", &c, &err), 1);
        CHECK_STR(c.password, "s:ecret");
        credentials_done(&c);
        CHECK_STR(c.password, "");
        f = fopen(path, "w");
        CHECK_INT(ftruncate(fileno(f), 2 << 20), 0);
        fclose(f);
        CHECK_INT(credentials_read(path, "q.io", &c, &err), -EFBIG);
        unlink(path);
        CHECK_INT(mkfifo(path, 0600), 0); /* must not wait for anybody */
        CHECK_INT(credentials_read(path, "q.io", &c, &err), -EINVAL);
        unlink(path);
        rmdir(directory);
        unsetenv("DOCKER_CONFIG");
        setenv("HOME", "/h", 1);
        CHECK_INT(credentials_path(path, sizeof path), 0);
        CHECK_STR(path, "/h/.docker/config.json");
}
