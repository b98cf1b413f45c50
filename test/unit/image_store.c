/* The functions that read the image store, and helper functions of its writer. */
#include "image/store/store.h"

#include "base/foreign_json.h"
#include "image/unpack/paths.h"
#include "image/unpack/programs.h"
#include "image/unpack/tree.h"
#include "sys/file.h"
#include "test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "0123456aaaabcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char area[64];

static int make_area(void)
{
        snprintf(area, sizeof area, "%s/cella-unit-XXXXXX", test_directory());
        return mkdtemp(area) ? sys_openat(AT_FDCWD, area, O_RDONLY | O_DIRECTORY, 0) : -1;
}

static void drop_area(int dir)
{
        CHECK(tree_empty(dir) == 0);
        sys_close(dir);
        CHECK(rmdir(area) == 0);
}

static void put(int dir, const char *path, const char *text)
{
        int fd = sys_openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        CHECK(fd >= 0 && sys_write_all(fd, text, strlen(text)) == 0);
        sys_close(fd);
}

TEST(every_name_is_a_file_and_back)
{
        static const char *const good[] = {"x", "docker.io/library/python:3.12-slim",
                                           "localhost:5000/a/b_c:Tag", "a@sha256:" ID, "[::1]:5000/x:y"};
        static const char *const bad[] = {"",    "host",  ".",    "..",   ".x", "/x",
                                          "a b", "a%2Fb", "a\nb", "a\\b", "a*", "\xc3\xa4"};
        char file[256], name[256];
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
                CHECK(image_name_file(good[i], file) == 0);
                CHECK(!strchr(file, '/') && strlen(file) <= IMAGE_NAME_MAX);
                CHECK(image_name_of_file(file, name) == 0);
                CHECK_STR(name, good[i]);
        }
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                CHECK(image_name_file(bad[i], file) == -EINVAL);
        char many[300];
        memset(many, 'a', sizeof many - 1);
        many[sizeof many - 1] = '\0';
        CHECK(image_name_file(many, file) == -ENAMETOOLONG);
        CHECK(image_name_of_file("a%2fb", name) == -EINVAL);
        CHECK(image_name_of_file(".", name) == -EINVAL);
        CHECK(image_name_of_file("file_abc%", name) == -EINVAL);
}

TEST(short_names_leave_out_the_defaults_of_docker)
{
        CHECK_STR(image_name_short("docker.io/library/python:3"), "python:3");
        CHECK_STR(image_name_short("docker.io/a/b:1"), "a/b:1");
        CHECK_STR(image_name_short("ghcr.io/library/x:1"), "ghcr.io/library/x:1");
        CHECK_STR(image_name_short("x"), "x");
}

TEST(the_path_of_the_store_follows_option_and_variable)
{
        char path[256];
        struct cella_err err = {0};
        setenv("CELLA_STATE", "/from/variable", 1);
        CHECK(image_store_path(NULL, path, sizeof path, &err) == 0);
        CHECK_STR(path, "/from/variable/images");
        CHECK(image_store_path("/given", path, sizeof path, &err) == 0);
        CHECK_STR(path, "/given/images");
        CHECK(image_store_path("relative", path, sizeof path, &err) == -EINVAL);
        CHECK(image_store_path("/given", path, 10, &err) == -ENAMETOOLONG);
        unsetenv("CELLA_STATE");
}

/* Records of a document end with "|" here. */
#define FIRST "cella-image 1|"
#define META(id) FIRST "id " id "|cwd /|env A=1|created_ms 5|"

/* Copies a document and ends its records with NUL. */
static char *document(const char *text)
{
        char *copy = strdup(text);
        for (char *p = copy; (p = strchr(p, '|')); p++)
                *p = '\0';
        return copy;
}

static void put_document(int dir, const char *path, const char *text)
{
        int fd = sys_openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        char *copy = document(text);
        CHECK(fd >= 0 && sys_write_all(fd, copy, strlen(text)) == 0);
        free(copy);
        sys_close(fd);
}

TEST(images_are_found_by_name_and_by_id)
{
        int dir = make_area();
        struct image *image = NULL;
        struct image **list;
        size_t n;
        struct cella_err err = {0};
        CHECK(image_find("/nonexistent/store", "x", &image, &err) == -ENOENT && err.kind == CELLA_NOT_FOUND);
        CHECK(strstr(err.hint, "cella image pull x"));
        CHECK(image_list("/nonexistent/store", &list, &n, &err) == 0 && n == 0);
        image_list_free(list, n);
        mkdirat(dir, "refs", 0700);
        mkdirat(dir, "meta", 0700);
        put_document(dir, "meta/" ID, META(ID));
        put(dir, "refs/docker.io%2Flibrary%2Fpython:3", ID "\n");
        put(dir, "refs/mine", ID "\n");
        put(dir, "refs/nothing", OTHER "\n");
        put(dir, "refs/odd", "../../etc/passwd\n");
        static const char *const good[] = {"python:3", "docker.io/python:3", "mine",
                                           ID,         "sha256:" ID,         "0123456"};
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
                CHECK(image_find(area, good[i], &image, &err) == 0);
                CHECK_STR(image->id, ID);
                CHECK_STR(image->env[0], "A=1");
                CHECK(!strncmp(image->root, area, strlen(area)));
                image = image_free(image);
        }
        static const char *const bad[] = {"python:4", "012",  "nothing", "odd",
                                          "host",     "../x", "",        "0123456789abcdef1"};
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                CHECK(image_find(area, bad[i], &image, &err) < 0 && !image);
        put(dir, "meta/" OTHER ".json", "{}");
        CHECK(image_find(area, "nothing", &image, &err) == -ENOENT && err.kind == CELLA_NOT_FOUND);
        CHECK_STR(err.hint, "cella image gc converts it");
        put_document(dir, "meta/" OTHER, META(OTHER));
        CHECK(image_find(area, "0123456", &image, &err) == -ENOENT);
        CHECK(image_find(area, "0123456a", &image, &err) == 0);
        image = image_free(image);
        put_document(dir, "meta/" OTHER, META(ID)); /* the document has another id */
        CHECK(image_find(area, OTHER, &image, &err) < 0);
        CHECK(image_list(area, &list, &n, &err) == 0 && n == 1);
        CHECK_STR(list[0]->names[0], "docker.io/library/python:3");
        CHECK_STR(list[0]->names[1], "mine");
        CHECK(!list[0]->names[2]);
        image_list_free(list, n);
        drop_area(dir);
}

TEST(invalid_records_of_the_store_are_refused)
{
        static const char *const bad[] = {
                "",
                "|",
                "{}",
                FIRST,
                FIRST "id " ID "|",
                "cella-image 2|id " ID "|cwd /|",
                "id " ID "|cwd /|",
                META(OTHER),
                FIRST "id " ID "|cwd /",
                FIRST "id " ID "|id " ID "|cwd /|",
                FIRST "id " ID "|cwd relative|",
                FIRST "id " ID "|cwd /|env novalue|",
                FIRST "id " ID "|cwd /|env =x|",
                FIRST "id " ID "|cwd /|cmd \xff|",
                FIRST "id " ID "|cwd /|uid -1|",
                FIRST "id " ID "|cwd /|uid 1x|",
                FIRST "id " ID "|cwd /|uid 4294967295|",
                FIRST "id " ID "|cwd /|bytes 18446744073709551617|",
                FIRST "id " ID "|cwd /|bytes 00000000000000000001|",
                FIRST "id " ID "|cwd /|unknown x|",
                FIRST "id " ID "|cwd /||",
                FIRST "id " ID "|cwd /|label x|",
                FIRST "id " ID "|cwd /|=x|",
                FIRST "id " ID "|cwd /|cmd x|=x|",
                FIRST "id " ID "|cwd /|runtime sh|=sh|",
                FIRST "id " ID "|cwd /|label x|=1|label x|=2|",
                FIRST "id " ID "|cwd /|runtime sh|=/bin/sh|runtime sh|=/bin/dash|",
        };
        struct cella_err err;
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                struct image *image = NULL;
                err = (struct cella_err){0};
                char *text = document(bad[i]);
                CHECK(image_parse(text, strlen(bad[i]), ID, "/s", &image, &err) < 0 && !image);
                free(text);
                CHECK(err.kind == CELLA_INTERNAL && err.hint[0]);
        }
}

TEST(documents_are_read_back_unchanged)
{
        static const char *env[] = {"A=1", "B=line\nbreak", "C=", NULL}, *cmd[] = {"", "\xc3\xa4 =", NULL},
                          *layers[] = {"sha256:" ID, NULL}, *none[] = {NULL};
        static const struct image_pair labels[] = {{"a b", "=c"}, {"", ""}}, programs[] = {{"sh", "/bin/sh"}};
        const struct image image = {.id = ID,
                                    .digest = "",
                                    .platform = "linux/amd64",
                                    .source = "pull",
                                    .created_ms = 1,
                                    .bytes = INT64_MAX,
                                    .names = none,
                                    .layers = layers,
                                    .env = env,
                                    .cwd = "/",
                                    .user = "a",
                                    .uid = 0x7ffffffe,
                                    .entrypoint = none,
                                    .cmd = cmd,
                                    .labels = labels,
                                    .n_labels = 2,
                                    .runtimes = programs,
                                    .n_runtimes = 1};
        AUTO(image_free) struct image *again = NULL;
        size_t len = 0, n = 0;
        char *text = image_write(&image, &len);
        CHECK(text && image_parse(text, len, ID, NULL, &again, NULL) == 0);
        for (; env[n]; n++)
                CHECK_STR(again->env[n], env[n]);
        CHECK(!again->env[n] && !again->entrypoint[0] && !again->names[0]);
        CHECK_STR(again->cmd[0], "");
        CHECK_STR(again->cmd[1], cmd[1]);
        CHECK(!again->cmd[2]);
        CHECK_STR(again->layers[0], layers[0]);
        CHECK(again->bytes == INT64_MAX && again->uid == image.uid && again->n_labels == 2);
        CHECK_STR(again->labels[0].name, "a b");
        CHECK_STR(again->labels[0].value, "=c");
        CHECK_STR(image_runtime(again, "sh"), "/bin/sh");
        free(text);
}

TEST(paths_are_normalised_and_dotdot_is_refused)
{
        char ret[TREE_PATH_MAX], many[2 * TREE_PATH_MAX];
        static const struct {
                const char *from, *to;
        } good[] = {{"a", "a"}, {"./a//b/./c/", "a/b/c"},      {"/", ""},      {"", ""},
                    {".", ""},  {"/etc/passwd", "etc/passwd"}, {"...", "..."}, {"a/..b", "a/..b"}};
        static const char *const bad[] = {"..", "../a", "a/..", "a/../b", "/../a", "./.."};
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
                CHECK(tree_path(good[i].from, ret) == 0);
                CHECK_STR(ret, good[i].to);
        }
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                CHECK(tree_path(bad[i], ret) == -EINVAL);
        memset(many, 'a', sizeof many - 1);
        many[sizeof many - 1] = '\0';
        CHECK(tree_path(many, ret) == -ENAMETOOLONG);
        for (size_t i = 200; i < sizeof many - 1; i += 200)
                many[i] = '/';
        CHECK(tree_path(many, ret) == -ENAMETOOLONG);
        for (size_t i = 1; i < sizeof many - 1; i += 2)
                many[i] = '/';
        CHECK(tree_path(many, ret) == -E2BIG);
}

TEST(lists_of_paths_keep_every_byte)
{
        static const char *const names[] = {"a/b",         "100%",       "with space", "\xff\xfe",
                                            "line\nbreak", "\"quoted\"", "%41"};
        struct paths paths = {0}, again = {0};
        size_t i = 0;
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
                CHECK(paths_add(&paths, names[k]) == 0);
        json_t *list = paths_to_json(&paths);
        CHECK(paths_from_json(list, &again) == 0);
        for (const char *p = paths_next(&again, NULL); p; p = paths_next(&again, p))
                CHECK_STR(p, names[i++]);
        CHECK(i == ARRAY_LEN(names));
        paths_done(&again);
        json_decref(list);
        CHECK(paths_from_json(NULL, &again) == -EINVAL);
        static const char *const bad[] = {"a/../../b", "%00", "%4"};
        for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
                list = json_pack("[s]", bad[k]);
                CHECK(paths_from_json(list, &again) == -EINVAL);
                json_decref(list);
        }
        paths_done(&paths);
        paths_done(&again);
}

TEST(trees_of_any_depth_are_removed)
{
        int dir = make_area(), at = sys_dup_above(dir, 0);
        for (int i = 0; i < 3000; i++) {
                CHECK(sys_mkdirat(at, "d", 0700) == 0);
                put(at, "f", "x");
                CHECK(symlinkat("/etc", at, "l") == 0);
                int below = sys_openat(at, "d", O_RDONLY | O_DIRECTORY, 0);
                sys_close(at);
                at = below;
        }
        CHECK(tree_depth(dir, at) == -E2BIG);
        sys_close(at);
        CHECK(tree_remove(dir, "d") == 0);
        CHECK(tree_remove(dir, "l") == 0 && access("/etc", F_OK) == 0);
        CHECK(tree_remove(dir, "never") == 0);
        drop_area(dir);
}

TEST(links_do_not_lead_out_of_a_tree)
{
        if (getenv("CELLA_TEST_SLOW"))
                SKIP("valgrind does not know openat2()");
        int dir = make_area();
        char up[128];
        snprintf(up, sizeof up, "../%s", strrchr(area, '/') + 1);
        CHECK(symlinkat("/etc", dir, "absolute") == 0 && symlinkat("..", dir, "up") == 0 &&
              sys_mkdirat(dir, "etc", 0700) == 0);
        put(dir, "etc/hostname", "inside");
        static const char *const paths[] = {"..", "../..", "absolute", "up", "up/up", "absolute/hostname"};
        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
                CHECK(tree_open(dir, paths[i], O_RDONLY) < 0);
        CHECK(tree_open(dir, up, O_RDONLY) < 0);
        char *text = NULL;
        size_t len;
        CHECK(tree_read(dir, "up/up/absolute/hostname", 100, &text, &len) == 0);
        CHECK_STR(text ? text : "", "inside");
        free(text);
        CHECK(tree_read(dir, "etc/hostname", 3, &text, &len) == -EFBIG);
        CHECK(tree_read(dir, "etc", 100, &text, &len) == -EINVAL);
        drop_area(dir);
}
