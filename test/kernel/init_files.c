/* test/kernel/init_files.c -- file operations in a real sandbox, with good and bad input. */
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init_box.h"
#include "sys/process.h"

#define OP(...) (&(struct operation){__VA_ARGS__})
#define READ(p) OP(.operation = INIT_READ, .length = UINT64_MAX, .path = (p))
#define WRITE(p) OP(.operation = INIT_WRITE, .length = UINT64_MAX, .mode = 0644, .path = (p))
#define REMOVE(p) OP(.operation = INIT_REMOVE, .path = (p))
#define REMOVE_ALL(p) OP(.operation = INIT_REMOVE, .flags = INIT_RECURSIVE, .path = (p))
#define UNTAR(p) OP(.operation = INIT_UNTAR, .path = (p))
#define TAR(p) OP(.operation = INIT_TAR, .path = (p))

static char big[8 << 20], other[9 << 20];

/* The content of a file as INIT_READ gives it. */
static int get(struct box *box, const struct operation *o, struct init_stat *st, char *text, size_t size)
{
        size_t used = 0;
        int r = box_get(box, o, big, sizeof big, &used);
        if (r == 0 && used >= sizeof *st) {
                memcpy(st, big, sizeof *st);
                used -= sizeof *st;
                if (used >= size)
                        used = size - 1;
                memcpy(text, big + sizeof *st, used);
                text[used] = '\0';
        }
        return r;
}

static const char *content(struct box *box, const char *path)
{
        static char text[1000];
        struct init_stat st;
        return get(box, READ(path), &st, text, sizeof text) == 0 ? text : "(cannot be read)";
}

BOX_TEST(a_file_is_written_and_read, NULL)
{
        struct init_stat st = {0};
        char text[100];
        CHECK_INT(box_put(box, WRITE("hello.txt"), "hello", 5), 0);
        CHECK_INT(get(box, READ("/workspace/hello.txt"), &st, text, sizeof text), 0);
        CHECK_STR(text, "hello");
        CHECK_INT(st.bytes, 5);
        CHECK_INT(st.mode, S_IFREG | 0644);
        CHECK_INT(st.name_len, 0);
        CHECK(st.inode != 0);
        CHECK(st.modified_ns / 1000000000 > time(NULL) - 100 &&
              st.modified_ns / 1000000000 <= time(NULL) + 1);
        CHECK_INT(get(box, OP(.operation = INIT_READ, .offset = 1, .length = 3, .path = "hello.txt"), &st,
                      text, sizeof text),
                  0);
        CHECK_STR(text, "ell");
        CHECK_INT(get(box, OP(.operation = INIT_READ, .offset = 100, .length = 3, .path = "hello.txt"), &st,
                      text, sizeof text),
                  0);
        CHECK_STR(text, "");
        CHECK_INT(box_ask(box, "test \"$(cat hello.txt)\" = hello && test -O hello.txt"), 0);
        CHECK_INT(box_put(box, WRITE("empty"), "", 0), 0);
        CHECK_STR(content(box, "empty"), "");
}

BOX_TEST(a_large_file_goes_both_ways, NULL)
{
        size_t used = 0, len = 7 << 20;
        for (size_t i = 0; i < len; i++)
                other[i] = (char)(i * 2654435761u >> 13);
        CHECK_INT(box_put(box, WRITE("large"), other, len), 0);
        CHECK_INT(box_get(box, READ("large"), big, sizeof big, &used), 0);
        CHECK_INT(used, len + sizeof(struct init_stat));
        CHECK(!memcmp(big + sizeof(struct init_stat), other, len));
}

BOX_TEST(errors_of_reading_are_reported, NULL)
{
        char text[10];
        size_t used;
        struct init_stat st;
        CHECK_INT(box_ask(box,
                          "mkfifo pipe; ln -s loop loop; mkdir secret; echo x > secret/f; chmod 0 secret; "
                          "echo y > hidden; chmod 0 hidden; ln -s /etc/passwd link; "
                          "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'"),
                  0);
        CHECK_INT(box_get(box, READ("nothing"), text, sizeof text, &used), ENOENT);
        CHECK_INT(box_get(box, READ("/workspace"), text, sizeof text, &used), EISDIR);
        CHECK_INT(box_get(box, READ("pipe"), text, sizeof text, &used), EINVAL);
        CHECK_INT(box_get(box, READ("sock"), text, sizeof text, &used), EINVAL);
        CHECK_INT(box_get(box, READ("/dev/zero"), text, sizeof text, &used), EINVAL);
        CHECK_INT(box_get(box, READ("loop"), text, sizeof text, &used), ELOOP);
        CHECK_INT(box_get(box, READ("secret/f"), text, sizeof text, &used), EACCES);
        CHECK_INT(box_get(box, READ("hidden"), text, sizeof text, &used), EACCES);
        CHECK_INT(box_get(box, READ("/etc/passwd/x"), text, sizeof text, &used), ENOTDIR);
        CHECK_INT(box_get(box, READ("/proc/1/environ"), text, sizeof text, &used), ENOENT); /* hidden */
        CHECK_INT(get(box, READ("link"), &st, other, 1000), 0);
        CHECK(strstr(other, "root:x:0") != NULL);
        CHECK_INT(box_get(box, OP(.operation = INIT_READ, .offset = UINT64_MAX, .path = "/etc/passwd"), text,
                          sizeof text, &used),
                  EINVAL);
        CHECK_INT(box_ask(box, "chmod 700 secret"), 0);
        box_operate(box, 5, OP(.operation = 77, .path = "x"), 0);
        CHECK_INT(box_end(box, 5), -ENOSYS);
        box_operate(box, 5, OP(.operation = INIT_READ, .path = "x"), -1);
        CHECK_INT(box_end(box, 5), -EPROTO);
}

BOX_TEST(a_path_may_be_long_but_not_endless, NULL)
{
        static char path[INIT_PATH_MAX + 10];
        memset(path, 'a', sizeof path - 1);
        box_operate(box, 5, READ(path), 0);
        CHECK_INT(box_end(box, 5), -ENAMETOOLONG);
        path[INIT_PATH_MAX - 1] = '\0';
        box_operate(box, 5, READ(path), 0);
        CHECK_INT(box_errno(box, 5), ENAMETOOLONG);
        path[255] = '\0';
        CHECK_INT(box_put(box, WRITE(path), "x", 1), 0);
        CHECK_STR(content(box, path), "x");
}

BOX_TEST(writing_replaces_and_keeps_the_mode, NULL)
{
        CHECK_INT(box_ask(box, "echo old > f; chmod 750 f; ln f other; ln -s f link; mkdir d; "
                               "ln -s ../target d/dangling"),
                  0);
        CHECK_INT(box_put(box, WRITE("link"), "new", 3), 0);
        CHECK_INT(box_ask(box, "test -L link && test $(stat -c %a f) = 750 && test $(cat f) = new && "
                               "test $(cat other) = old"),
                  0);
        CHECK_INT(box_put(box, WRITE("d/dangling"), "came", 4), 0);
        CHECK_INT(box_ask(box, "test $(cat target) = came && test $(ls -A | wc -l) = 5"), 0);
        CHECK_INT(box_put(box, OP(.operation = INIT_WRITE, .length = 3, .mode = 0601, .path = "exact"),
                          "abcdef", 6),
                  0);
        CHECK_STR(content(box, "exact"), "abc");
        CHECK_INT(box_ask(box, "test $(stat -c %a exact) = 601"), 0);
        CHECK_INT(box_put(box, OP(.operation = INIT_WRITE, .length = 3, .mode = 06755, .path = "suid"), "abc",
                          3),
                  0);
        CHECK_INT(box_ask(box, "test $(stat -c %a suid) = 755"), 0);
}

BOX_TEST(errors_of_writing_are_reported_and_leave_no_file, NULL)
{
        CHECK_INT(box_ask(box, "echo old > f; mkdir d; mkfifo pipe; ln -s loop loop; ln -s pipe to-pipe"), 0);
        CHECK_INT(box_put(box, WRITE("d"), "x", 1), EISDIR);
        CHECK_INT(box_put(box, WRITE("new/"), "x", 1), EISDIR);
        CHECK_INT(box_put(box, WRITE("/"), "x", 1), EISDIR);
        CHECK_INT(box_put(box, WRITE("d/.."), "x", 1), EISDIR);
        CHECK_INT(box_put(box, WRITE("pipe"), "x", 1), EINVAL);
        CHECK_INT(box_put(box, WRITE("to-pipe"), "x", 1), EINVAL);
        CHECK_INT(box_put(box, WRITE("/dev/null"), "x", 1), EINVAL);
        CHECK_INT(box_put(box, WRITE("loop"), "x", 1), ELOOP);
        CHECK_INT(box_put(box, WRITE("no/such/f"), "x", 1), ENOENT);
        CHECK_INT(box_put(box, WRITE("f/x"), "x", 1), ENOTDIR);
        CHECK_INT(box_put(box, WRITE("/etc/new"), "x", 1), EROFS);
        CHECK_INT(box_put(box, WRITE("/usr/new"), "x", 1), EROFS);
        CHECK_INT(box_put(box, OP(.operation = INIT_WRITE, .length = 9, .path = "f"), "short", 5), ENODATA);
        CHECK_INT(box_put(box, OP(.operation = INIT_WRITE, .length = 9, .offset = 8, .path = "f"), "x", 1),
                  EFBIG);
        CHECK_INT(box_put(box, OP(.operation = INIT_WRITE, .length = UINT64_MAX, .offset = 8, .path = "f"),
                          "123456789", 9),
                  EFBIG);
        CHECK_INT(box_put(box, OP(.operation = INIT_WRITE, .length = UINT64_MAX, .offset = 8, .path = "g"),
                          "12345678", 8),
                  0);
        CHECK_STR(content(box, "f"), "old\n");
        CHECK_INT(box_ask(box, "test $(ls -A | wc -l) = 6"), 0);
        CHECK_INT(box_put(box,
                          OP(.operation = INIT_WRITE, .flags = INIT_MAKE_PARENTS, .length = UINT64_MAX,
                             .mode = 0644, .path = "a/b//c/f"),
                          "deep", 4),
                  0);
        CHECK_STR(content(box, "/workspace/a/b/c/f"), "deep");
        CHECK_INT(
                box_put(box,
                        OP(.operation = INIT_WRITE, .flags = INIT_MAKE_PARENTS, .length = 1, .path = "f/b/c"),
                        "x", 1),
                ENOTDIR);
}

static void small_disk(struct cella_options *options)
{
        options->limits.disk_bytes = 1 << 20;
}

BOX_TEST(a_full_disk_is_reported_and_leaves_no_files, small_disk)
{
        CHECK_INT(box_put(box, WRITE("f"), "old", 3), 0);
        int r = box_put(box, WRITE("f"), other, 4 << 20);
        CHECK(r == ENOSPC || r == EFBIG);
        CHECK_STR(content(box, "f"), "old");
        CHECK_INT(box_ask(box, "test $(ls -A | wc -l) = 1; dd if=/dev/zero of=x bs=1k count=900 2>/dev/null"),
                  0);
}

BOX_TEST(a_write_that_is_killed_did_not_happen, NULL)
{
        int in[2];
        CHECK_INT(box_put(box, WRITE("f"), "old", 3), 0);
        CHECK_INT(pipe2(in, O_CLOEXEC), 0);
        box_operate(box, 5, WRITE("f"), in[0]);
        CHECK_INT(write(in[1], "new", 3), 3);
        usleep(50000);
        box_signal(box, SIGTERM, 5); /* has no effect on an operation */
        CHECK(!box_readable(box, 50));
        box_signal(box, SIGKILL, 5);
        CHECK_INT(box_end(box, 5), SIGKILL);
        CHECK_STR(content(box, "f"), "old");
        CHECK_INT(box_ask(box, "test $(ls -A | wc -l) = 1"), 0);
        close(in[0]);
        close(in[1]);
}

BOX_TEST(operations_go_on_beside_commands, NULL)
{
        int in[2];
        CHECK_INT(pipe2(in, O_CLOEXEC), 0);
        box_script(box, 1, INIT_TELL_STARTED, "while :; do sleep 1; done", -1);
        CHECK_INT(box_hear_type(box, 1), INIT_STARTED);
        box_operate(box, 2, WRITE("slow"), in[0]);
        CHECK_INT(box_put(box, WRITE("fast"), "x", 1), 0);
        box_script(box, 3, 0, "kill -STOP -1", -1); /* also helpers: SIGCONT continues them */
        CHECK_INT(box_put(box, WRITE("faster"), "x", 1), 0);
        CHECK_INT(write(in[1], "abc", 3), 3);
        close(in[0]);
        close(in[1]);
        CHECK_INT(box_errno(box, 2), 0);
        CHECK_STR(content(box, "slow"), "abc");
        box_signal(box, SIGKILL, 1);
        CHECK_INT(box_end(box, 1), SIGKILL);
        box_signal(box, SIGKILL, 3);
        box_end(box, 3);
}

/* ---- directories ----------------------------------------------------------------- */

BOX_TEST(stat_describes_a_link_itself, NULL)
{
        struct init_stat st;
        char data[200] = {0};
        size_t used = 0;
        CHECK_INT(box_ask(box, "ln -s some/where link; mkdir d; chmod 1750 d"), 0);
        CHECK_INT(box_get(box, OP(.operation = INIT_STAT, .path = "link"), data, sizeof data, &used), 0);
        memcpy(&st, data, sizeof st);
        CHECK_INT(st.mode & S_IFMT, S_IFLNK);
        CHECK_INT(used, sizeof st + 10);
        CHECK_INT(st.name_len, 10);
        CHECK(!memcmp(data + sizeof st, "some/where", 10));
        CHECK_INT(box_get(box, OP(.operation = INIT_STAT, .path = "d"), data, sizeof data, &used), 0);
        memcpy(&st, data, sizeof st);
        CHECK_INT(st.mode, S_IFDIR | 01750);
        CHECK_INT(used, sizeof st);
        CHECK_INT(box_get(box, OP(.operation = INIT_STAT, .path = ""), data, sizeof data, &used), 0);
        CHECK_INT(box_get(box, OP(.operation = INIT_STAT, .path = "no"), data, sizeof data, &used), ENOENT);
}

static unsigned count_entries(const char *data, size_t used, const char *wanted, struct init_stat *ret)
{
        unsigned n = 0;
        for (size_t at = 0; at + sizeof(struct init_stat) <= used; n++) {
                struct init_stat st;
                memcpy(&st, data + at, sizeof st);
                at += sizeof st;
                if (wanted && st.name_len == strlen(wanted) && !memcmp(data + at, wanted, st.name_len))
                        *ret = st;
                at += st.name_len;
                CHECK(at <= used);
        }
        return n;
}

BOX_TEST(a_directory_is_listed, NULL)
{
        struct init_stat st = {0};
        size_t used = 0;
        CHECK_INT(box_ask(box, "mkdir d; echo abc > d/f; ln -s f d/l; mkdir d/s; mkfifo d/p; "
                               "mkdir many; cd many; seq 3000 | xargs touch"),
                  0);
        CHECK_INT(box_get(box, OP(.operation = INIT_READ_DIR, .path = "d"), big, sizeof big, &used), 0);
        CHECK_INT(count_entries(big, used, "f", &st), 4);
        CHECK_INT(st.bytes, 4);
        CHECK(S_ISREG(st.mode));
        count_entries(big, used, "l", &st);
        CHECK(S_ISLNK(st.mode));
        CHECK_INT(box_get(box, OP(.operation = INIT_READ_DIR, .path = "many"), big, sizeof big, &used), 0);
        CHECK_INT(count_entries(big, used, NULL, NULL), 3000);
        CHECK_INT(box_get(box, OP(.operation = INIT_READ_DIR, .length = 3000, .path = "many"), big,
                          sizeof big, &used),
                  0);
        CHECK_INT(box_get(box, OP(.operation = INIT_READ_DIR, .length = 2999, .path = "many"), big,
                          sizeof big, &used),
                  EOVERFLOW);
        CHECK_INT(count_entries(big, used, NULL, NULL), 2999);
        CHECK_INT(box_get(box, OP(.operation = INIT_READ_DIR, .path = "d/f"), big, sizeof big, &used),
                  ENOTDIR);
        CHECK_INT(box_get(box, OP(.operation = INIT_READ_DIR, .path = "d/s"), big, sizeof big, &used), 0);
        CHECK_INT(used, 0);
}

BOX_TEST(directories_are_made, NULL)
{
        CHECK_INT(box_do(box, OP(.operation = INIT_MAKE_DIR, .path = "d", .mode = 0711)), 0);
        CHECK_INT(box_ask(box, "test $(stat -c %a d) = 711; echo > f"), 0);
        CHECK_INT(box_do(box, OP(.operation = INIT_MAKE_DIR, .path = "d")), EEXIST);
        CHECK_INT(box_do(box, OP(.operation = INIT_MAKE_DIR, .path = "x/y/z")), ENOENT);
        CHECK_INT(box_do(box, OP(.operation = INIT_MAKE_DIR, .flags = INIT_MAKE_PARENTS, .path = "x/y/z")),
                  0);
        CHECK_INT(box_do(box, OP(.operation = INIT_MAKE_DIR, .flags = INIT_MAKE_PARENTS, .path = "x/y/z")),
                  0);
        CHECK_INT(box_do(box, OP(.operation = INIT_MAKE_DIR, .flags = INIT_MAKE_PARENTS, .path = "f")),
                  EEXIST);
        CHECK_INT(box_do(box, OP(.operation = INIT_MAKE_DIR, .flags = INIT_MAKE_PARENTS, .path = "f/x")),
                  ENOTDIR);
        CHECK_INT(box_do(box, OP(.operation = INIT_MAKE_DIR, .path = "/etc/x")), EROFS);
        CHECK_INT(box_ask(box, "test -d x/y/z"), 0);
}

BOX_TEST(files_are_moved, NULL)
{
        CHECK_INT(box_ask(box, "echo 1 > a; echo 2 > b; mkdir d; echo 3 > d/c"), 0);
        CHECK_INT(
                box_do(box, OP(.operation = INIT_MOVE, .flags = INIT_NO_REPLACE, .path = "a", .path2 = "b")),
                EEXIST);
        CHECK_INT(box_do(box, OP(.operation = INIT_MOVE, .path = "a", .path2 = "b")), 0);
        CHECK_STR(content(box, "b"), "1\n");
        CHECK_INT(box_do(box, OP(.operation = INIT_MOVE, .path = "a", .path2 = "b")), ENOENT);
        CHECK_INT(box_do(box,
                         OP(.operation = INIT_MOVE, .flags = INIT_NO_REPLACE, .path = "b", .path2 = "d/e")),
                  0);
        CHECK_STR(content(box, "d/e"), "1\n");
        CHECK_INT(box_do(box, OP(.operation = INIT_MOVE, .path = "d", .path2 = "d/x")), EINVAL);
        CHECK_INT(box_do(box, OP(.operation = INIT_MOVE, .path = "d/c", .path2 = "")), ENOENT);
}

BOX_TEST(files_and_trees_are_removed, NULL)
{
        CHECK_INT(box_ask(box, "echo 1 > f; ln -s / root; mkdir e d; mkdir -p d/x/y/z d/w; echo 1 > d/x/y/f; "
                               "ln -s / d/x/root; mkdir d/closed; echo 1 > d/closed/f; chmod 0 d/closed; "
                               "mkfifo d/pipe; echo 1 > /tmp/stays; ln -s /tmp d/tmp"),
                  0);
        CHECK_INT(box_do(box, REMOVE("f")), 0);
        CHECK_INT(box_do(box, REMOVE("f")), ENOENT);
        CHECK_INT(box_do(box, REMOVE("root")), 0);
        CHECK_INT(box_do(box, REMOVE("e")), 0);
        CHECK_INT(box_do(box, REMOVE("d")), ENOTEMPTY);
        CHECK_INT(box_do(box, REMOVE_ALL("d")), 0);
        CHECK_INT(box_ask(box, "test $(ls -A | wc -l) = 0 && test -f /tmp/stays && test -d /usr/bin"), 0);
        CHECK_INT(box_do(box, REMOVE("/etc/passwd")), EROFS);
}

BOX_TEST(the_workspace_itself_stays, NULL)
{
        CHECK_INT(box_do(box, REMOVE("")), 0);
        CHECK_INT(box_ask(box, "mkdir -p a/b; echo 1 > a/b/c; echo 2 > d"), 0);
        CHECK_INT(box_do(box, REMOVE("/workspace")), ENOTEMPTY);
        CHECK_INT(box_do(box, REMOVE_ALL("/workspace/")), 0);
        CHECK_INT(box_ask(box, "test $(ls -A | wc -l) = 0 && echo > new"), 0);
        CHECK_INT(box_do(box, REMOVE_ALL(".")), 0);
        CHECK_INT(box_ask(box, "test $(ls -A | wc -l) = 0"), 0);
}

static void many_inodes(struct cella_options *options)
{
        options->limits.disk_inodes = 100000;
        options->limits.open_files = 128;
}

BOX_TEST(a_tree_of_any_depth_is_removed, many_inodes)
{
        size_t used;
        CHECK_INT(box_ask(box,
                          "python3 -c '\n"
                          "import os\n"
                          "os.mkdir(\"deep\")\n"
                          "os.chdir(\"deep\")\n"
                          "for i in range(5000):\n"
                          "  os.mkdir(\"dddddddddd\"); open(\"f\", \"w\").close(); os.chdir(\"dddddddddd\")\n"
                          "'"),
                  0);
        CHECK_INT(box_get(box, TAR("deep"), other, sizeof other, &used), ELOOP);
        CHECK_INT(box_do(box, REMOVE_ALL("deep")), 0);
        CHECK_INT(box_ask(box, "test $(ls -A | wc -l) = 0"), 0);
}

/* ---- archives -------------------------------------------------------------------- */

/* Runs a command on the host and returns its output. */
static size_t host(const char *command, char *data, size_t size)
{
        FILE *f = popen(command, "r");
        size_t n = f ? fread(data, 1, size, f) : 0;
        CHECK_INT(f ? pclose(f) : -1, 0);
        return n;
}

#define TREE                                                                                                 \
        "mkdir -p src/sub/empty && cd src && echo hello > hello.txt && chmod 755 hello.txt && "              \
        "ln -s hello.txt link && ln -s ../hello.txt sub/link && : > sub/empty-file && "                      \
        "head -c 100000 /dev/urandom > sub/random && ln hello.txt sub/hard && "                              \
        "n=$(printf %0200d 7) && echo long > sub/$n && mkdir $n && mkdir $n/$n && echo deep > $n/$n/$n && "  \
        "ln -s $n/$n/$n longlink && echo x > 'name with space' && echo y > 'umläut' && "                    \
        "printf z > \"$(printf 'new\\nline')\" && touch -d @1000000000 hello.txt && cd .."

TEST(archives_of_tar_are_unpacked)
{
        static const char *const formats[] = {"ustar", "pax", "gnu", "v7"};
        for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
                AUTO(box_done) struct box box = box_new_with(NULL);
                char command[2000], sums[2][4000];
                /* Old formats cannot store all attributes. */
                bool all = i == 1 || i == 2;
                snprintf(command, sizeof command,
                         "d=$(mktemp -d) && cd $d && %s && %s && tar --format=%s -cf t -C src . "
                         "&& cat t && rm -rf $d",
                         TREE, all ? "true" : "rm -rf src/00* src/sub/00* src/longlink", formats[i]);
                size_t len = host(command, other, sizeof other);
                CHECK(len > 100000);
                CHECK_INT(box_put(&box, UNTAR("out/dir"), other, len), 0);
                const char *sum =
                        "cd out/dir && find . -type f | sort | xargs -d '\\n' -n 1 sha256sum 2>/dev/null "
                        "| grep -v new | sort; find . -type l -printf '%p %l\\n' | sort; "
                        "stat -c '%a %Y %h' hello.txt; find . | wc -l";
                CHECK_INT(box_run(&box, sum, sums[0], sizeof sums[0]), 0);
                snprintf(command, sizeof command,
                         "d=$(mktemp -d) && cd $d && cat > t && mkdir -p out/dir && tar -xf t -C out/dir && "
                         "(%s) && rm "
                         "-rf $d",
                         sum);
                int in[2];
                CHECK_INT(pipe2(in, 0), 0);
                pid_t writer = fork();
                if (writer == 0) {
                        close(in[0]);
                        _exit(sys_write_all(in[1], other, len) < 0);
                }
                close(in[1]);
                int saved = dup(0);
                dup2(in[0], 0);
                close(in[0]);
                sums[1][host(command, sums[1], sizeof sums[1] - 1)] = '\0';
                dup2(saved, 0);
                close(saved);
                waitpid(writer, NULL, 0);
                CHECK_STR(sums[0], sums[1]);
        }
}

BOX_TEST(tar_understands_our_archives, NULL)
{
        char inside[8000], outside[8000], command[500], file[] = "/tmp/cella-test-XXXXXX";
        size_t used = 0;
        const char *sum =
                "find . -type f -exec sha256sum '{}' + | sort; find . -type l -printf '%p %l\\n' | sort; "
                "find . -mindepth 1 ! -type l -printf '%p %m\\n' | sort; stat -c %Y hello.txt";
        CHECK_INT(box_ask(box, TREE " && rm src/sub/hard && mkfifo src/pipe"), 0);
        CHECK_INT(box_get(box, TAR("src"), other, sizeof other, &used), 0);
        CHECK_INT(used % 512, 0);
        snprintf(command, sizeof command, "cd src && rm pipe && (%s)", sum);
        CHECK_INT(box_run(box, command, inside, sizeof inside), 0);
        int fd = mkstemp(file);
        CHECK_INT(sys_write_all(fd, other, used), 0);
        close(fd);
        snprintf(command, sizeof command,
                 "d=$(mktemp -d) && cd $d && umask 0 && tar -xpf %s 2>&1 && (%s) && rm -rf $d %s", file, sum,
                 file);
        outside[host(command, outside, sizeof outside - 1)] = '\0';
        CHECK_STR(inside, outside);
        /* The same with our own unpacker. */
        CHECK_INT(box_put(box, UNTAR("copy"), other, used), 0);
        CHECK_INT(box_ask(box, "diff -r src copy"), 0);
        CHECK_INT(box_get(box, TAR("src/hello.txt"), other, sizeof other, &used), 0);
        CHECK_INT(used, 4 * 512);
        CHECK_STR(other, "hello.txt");
        CHECK_INT(box_get(box, TAR("src/link"), other, sizeof other, &used), 0);
        CHECK_STR(other, "link");
        CHECK_INT(other[156], '0');
}

BOX_TEST(errors_of_packing_are_reported, NULL)
{
        size_t used = 0;
        CHECK_INT(box_ask(box,
                          "mkfifo pipe; mkdir d e; head -c 5000 /dev/zero > d/f; echo x > e/f; chmod 0 e/f"),
                  0);
        CHECK_INT(box_get(box, TAR("no"), other, sizeof other, &used), ENOENT);
        CHECK_INT(box_get(box, TAR("pipe"), other, sizeof other, &used), EINVAL);
        CHECK_INT(box_get(box, TAR("e"), other, sizeof other, &used), EACCES);
        CHECK_INT(box_get(box, OP(.operation = INIT_TAR, .offset = 5000, .path = "d"), other, sizeof other,
                          &used),
                  EFBIG);
        CHECK_INT(box_get(box, OP(.operation = INIT_TAR, .offset = 512 + 5120 + 1024, .path = "d"), other,
                          sizeof other, &used),
                  0);
        CHECK_INT(used, 512 + 5120 + 1024);
}

static void huge_disk(struct cella_options *options)
{
        options->limits.disk_bytes = UINT64_C(20) << 30;
}

BOX_TEST(files_over_8_gib_are_packed, huge_disk)
{
        int out[2];
        CHECK_INT(box_ask(box, "truncate -s 9G f"), 0);
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_operate(box, 5, TAR("f"), out[1]);
        close(out[1]);
        CHECK_INT(read_all(out[0], other, 2048), 2048);
        close(out[0]);
        CHECK_INT(other[156], 'x');
        CHECK(!strncmp(other + 512, "19 size=9663676416\n", 19));
        CHECK_INT(other[1024 + 156], '0');
        CHECK_INT(box_errno(box, 5), EPIPE);
}

/* A header with a good checksum; the caller may then spoil it. */
static char *header(char *at, char type, const char *name, const char *link, size_t size)
{
        unsigned sum = 0;
        memset(at, 0, 512);
        strncpy(at, name, 100);
        strcpy(at + 100, "0000644");
        strcpy(at + 108, "0000000");
        strcpy(at + 116, "0000000");
        snprintf(at + 124, 12, "%011zo", size);
        strcpy(at + 136, "00000000000");
        at[156] = type;
        strncpy(at + 157, link, 100);
        memcpy(at + 257, "ustar\00000", 8);
        memset(at + 148, ' ', 8);
        for (int i = 0; i < 512; i++)
                sum += (unsigned char)at[i];
        snprintf(at + 148, 8, "%06o", sum);
        return at + 512;
}

static char *finish(char *at)
{
        memset(at, 0, 1024);
        return at + 1024;
}

BOX_TEST(hostile_archives_are_refused, NULL)
{
        static const struct {
                const char *name;
                char type;
                const char *link;
        } bad[] = {
                {"../out", '0', ""},
                {"a/../../out", '0', ""},
                {"a/..", '5', ""},
                {"/tmp/out", '0', ""},
                {"/", '5', ""},
                {"", '0', ""},
                {"a", '3', ""},
                {"a", '4', ""},
                {"a", '6', ""},
                {"a", 'S', ""},
                {"a", 'Z', ""},
                {"a", '2', ""},
                {"a", '1', "/etc/passwd"},
                {"a", '1', "../f"},
                {".", '0', ""},
                {"./", '2', "x"},
        };
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                char *end = finish(
                        header(header(other, '0', "good", "", 0), bad[i].type, bad[i].name, bad[i].link, 0));
                int r = box_put(box, UNTAR("d"), other, (size_t)(end - other));
                CHECK_INT(r, EINVAL);
                if (r != EINVAL)
                        printf("   '%s' '%c' '%s'\n", bad[i].name, bad[i].type, bad[i].link);
        }
        CHECK_INT(box_ask(box,
                          "test $(find . | wc -l) = 3 && test -f d/good && test $(ls -A /tmp | wc -l) = 0"),
                  0);
}

BOX_TEST(archives_that_plant_links_do_not_write_through_them, NULL)
{
        char *p;
        /* A link may have any target inside the sandbox, as in a Python environment. */
        p = finish(header(header(header(other, '2', "abs", "/tmp", 0), '2', "up", "../..", 0), '0', "abs/f",
                          "", 0));
        CHECK_INT(box_put(box, UNTAR("l"), other, (size_t)(p - other)), ENOTDIR);
        CHECK_INT(box_ask(box, "test -L l/abs && test -L l/up && test ! -e /tmp/f"), 0);
        /* A link to a directory of the tree, then a file behind it. */
        p = finish(header(header(header(other, '5', "real", "", 0), '2', "way", "real", 0), '0', "way/f", "",
                          0));
        CHECK_INT(box_put(box, UNTAR("d"), other, (size_t)(p - other)), ENOTDIR);
        CHECK_INT(box_ask(box, "test ! -e d/real/f"), 0);
        /* An existing link leads out of the directory. */
        CHECK_INT(box_ask(box, "mkdir /tmp/victim e; ln -s /tmp/victim e/way; ln -s /tmp/victim/f e/f; "
                               "echo safe > /tmp/victim/f; ln /workspace/keep e/h 2>/dev/null; echo 1 > "
                               "keep; ln keep e/k"),
                  0);
        p = finish(header(other, '0', "way/f", "", 0));
        CHECK_INT(box_put(box, UNTAR("e"), other, (size_t)(p - other)), ENOTDIR);
        /* In the place of a link or of one name of several, there is a new file. */
        p = header(header(other, '0', "f", "", 0), '0', "k", "", 3);
        memset(p, 0, 512);
        memcpy(p, "new", 3);
        p = finish(p + 512);
        CHECK_INT(box_put(box, UNTAR("e"), other, (size_t)(p - other)), 0);
        CHECK_INT(box_ask(box, "test $(cat /tmp/victim/f) = safe && test ! -L e/f && test $(cat keep) = 1 && "
                               "test $(cat e/k) = new"),
                  0);
        /* A hard link through a link, and one to a link: the link itself. */
        p = finish(header(other, '1', "hard", "way/f", 0));
        CHECK_INT(box_put(box, UNTAR("e"), other, (size_t)(p - other)), ENOTDIR);
        p = finish(header(other, '1', "hard", "way", 0));
        CHECK_INT(box_put(box, UNTAR("e"), other, (size_t)(p - other)), 0);
        CHECK_INT(box_ask(box, "test -L e/hard"), 0);
        /* A directory where a link is. */
        p = finish(header(other, '5', "way", "", 0));
        CHECK_INT(box_put(box, UNTAR("e"), other, (size_t)(p - other)), ENOTDIR);
}

static size_t pax(char *at, const char *records, size_t len)
{
        char *p = header(at, 'x', "x", "", len);
        memset(p, 0, 512);
        memcpy(p, records, len);
        return 1024;
}

BOX_TEST(broken_archives_are_refused, NULL)
{
        static const struct {
                const char *records;
                size_t len;
                int errno_;
        } bad[] = {
                {"99 path=x\n", 10, EINVAL},
                {"0 path=x\n", 9, EINVAL},
                {"path=x\n", 7, EINVAL},
                {"10 path=x", 9, EINVAL},
                {"9 pathx\n", 9, EINVAL},
                {"13 path=a\0bc\n", 13, EINVAL},
                {"16 path=../../x\n", 16, EINVAL},
                {"13 path=/etc\n", 13, EINVAL},
                {"13 size=-100\n", 13, EINVAL},
                {"28 size=99999999999999999999\n", 29, EINVAL},
                {"25 GNU.sparse.major=1\n", 22, EINVAL},
                {"9999999999 path=x\n", 18, EINVAL},
                {"17 size=5000000\n", 17, EINVAL},
        };
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                size_t n = pax(other, bad[i].records, bad[i].len);
                char *p = finish(header(other + n, '0', "f", "", 0));
                int r = box_put(box, UNTAR("d"), other, (size_t)(p - other));
                CHECK_INT(r, bad[i].errno_);
                if (r != bad[i].errno_)
                        printf("   %zu: %s\n", i, bad[i].records);
        }
        char *p = finish(header(other, '0', "f", "", 0));
        CHECK_INT(box_put(box, UNTAR("d"), other, (size_t)(p - other)), 0);
        CHECK_INT(box_put(box, UNTAR("d"), other, 512), ENODATA);
        CHECK_INT(box_put(box, UNTAR("d"), other, 1024), ENODATA);
        CHECK_INT(box_put(box, UNTAR("d"), other, 100), ENODATA);
        CHECK_INT(box_put(box, UNTAR("d"), "", 0), ENODATA);
        other[0] ^= 1;
        CHECK_INT(box_put(box, UNTAR("d"), other, (size_t)(p - other)), EINVAL);
        p = finish(header(other, '0', "f", "", 100000));
        CHECK_INT(box_put(box, UNTAR("d"), other, (size_t)(p - other)), ENODATA);
        p = finish(header(other, 'L', "f", "", 100000));
        CHECK_INT(box_put(box, UNTAR("d"), other, (size_t)(p - other)), EINVAL);
        memset(other, 'x', 65536);
        CHECK_INT(box_put(box, UNTAR("d"), other, 65536), EINVAL);
        p = finish(header(other, '0', "f", "", 100));
        CHECK_INT(box_put(box, OP(.operation = INIT_UNTAR, .offset = 99, .path = "d"), other,
                          (size_t)(p - other)),
                  EFBIG);
        size_t n = pax(other, "19 size=9663676416\n", 19);
        p = finish(header(other + n, '0', "f", "", 0));
        CHECK_INT(box_put(box, OP(.operation = INIT_UNTAR, .offset = 1000, .path = "d"), other,
                          (size_t)(p - other)),
                  EFBIG);
        CHECK_INT(box_put(box, UNTAR("d"), other, (size_t)(p - other)), ENODATA);
        CHECK_INT(box_ask(box, "echo > file"), 0);
        CHECK_INT(box_put(box, UNTAR("file"), other, (size_t)(p - other)), ENOTDIR);
}

BOX_TEST(modes_in_archives_have_no_set_uid, NULL)
{
        char *p = header(other, '0', "f", "", 0);
        memcpy(other + 100, "0006755", 7);
        unsigned sum = 8 * ' ';
        for (int i = 0; i < 512; i++)
                sum += i >= 148 && i < 156 ? 0 : (unsigned char)other[i];
        snprintf(other + 148, 8, "%06o", sum);
        p = finish(p);
        CHECK_INT(box_put(box, UNTAR(""), other, (size_t)(p - other)), 0);
        CHECK_INT(box_ask(box, "test $(stat -c %a f) = 755"), 0);
}

/* ---- watching -------------------------------------------------------------------- */

struct watching {
        int fd;
        char text[65536]; /* "+name" created, "*" modified, "-" removed, ">" moved, "?" lost; / after
                             directories */
};

static void hear_changes(struct watching *w, const char *until)
{
        int64_t end = clock_us() + 3000000;
        static const char signs[] = " +*->?!";
        while (!strstr(w->text, until) && clock_us() < end) {
                struct init_event e;
                struct pollfd p = {w->fd, POLLIN, 0};
                if (poll(&p, 1, 100) <= 0)
                        continue;
                if (read_all(w->fd, (char *)&e, sizeof e) != sizeof e)
                        break;
                size_t at = strlen(w->text);
                w->text[at++] = signs[e.kind];
                read_all(w->fd, w->text + at, e.name_len);
                strcpy(w->text + at + e.name_len, e.directory ? "/\n" : "\n");
        }
        if (!strstr(w->text, until))
                printf("   (waited for '%s', got '%s')\n", until, w->text);
        CHECK(strstr(w->text, until) != NULL);
}

static int start_watch(struct box *box, struct watching *w, uint32_t tag, const char *path, uint32_t flags)
{
        int out[2];
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_operate(box, tag, OP(.operation = INIT_WATCH, .flags = flags, .path = path), out[1]);
        close(out[1]);
        w->fd = out[0];
        w->text[0] = '\0';
        hear_changes(w, "!\n");
        return out[0];
}

BOX_TEST(changes_are_reported, NULL)
{
        static struct watching w;
        CHECK_INT(box_ask(box, "mkdir -p d/sub/deep"), 0);
        start_watch(box, &w, 5, "d", INIT_RECURSIVE);
        CHECK_INT(box_ask(box, "echo x > d/f"), 0);
        hear_changes(&w, "+f\n");
        hear_changes(&w, "*f\n");
        CHECK_INT(box_ask(box, "mv d/f d/sub/g; rm d/sub/g; mkdir -p d/n1/n2/n3; echo x > d/n1/n2/n3/f"), 0);
        hear_changes(&w, ">f\n");
        hear_changes(&w, "+sub/g\n");
        hear_changes(&w, "-sub/g\n");
        hear_changes(&w, "+n1/\n");
        hear_changes(&w, "+n1/n2/n3/f\n");
        CHECK_INT(box_ask(box, "mv d/n1 d/sub/deep/m"), 0);
        hear_changes(&w, ">n1/\n");
        hear_changes(&w, "+sub/deep/m/n2/n3/f\n");
        CHECK_INT(box_ask(box, "echo y >> d/sub/deep/m/n2/n3/f"), 0);
        hear_changes(&w, "*sub/deep/m/n2/n3/f\n");
        CHECK_INT(box_ask(box, "rm -r d/sub/deep/m"), 0);
        hear_changes(&w, "-sub/deep/m/n2/n3/f\n");
        hear_changes(&w, "-sub/deep/m/\n");
        CHECK_INT(box_put(box, WRITE("d/whole"), "x", 1), 0);
        hear_changes(&w, "+whole\n");
        CHECK_INT(box_put(box, WRITE("d/whole"), "y", 1), 0);
        CHECK(strstr(w.text, "cella-tmp") == NULL);
        CHECK(strchr(w.text, '?') == NULL);
        box_signal(box, SIGKILL, 5);
        CHECK_INT(box_end(box, 5), SIGKILL);
        close(w.fd);
}

BOX_TEST(a_watch_ends_if_its_reader_or_its_directory_is_gone, NULL)
{
        static struct watching w;
        size_t used;
        CHECK_INT(box_ask(box, "mkdir d e; echo > f"), 0);
        close(start_watch(box, &w, 5, "d", 0));
        CHECK_INT(box_errno(box, 5), EPIPE);
        start_watch(box, &w, 6, "e", INIT_RECURSIVE);
        CHECK_INT(box_ask(box, "rmdir e"), 0);
        CHECK_INT(box_errno(box, 6), ENOENT);
        close(w.fd);
        CHECK_INT(box_get(box, OP(.operation = INIT_WATCH, .path = "f"), other, 100, &used), ENOTDIR);
        CHECK_INT(box_get(box, OP(.operation = INIT_WATCH, .path = "no"), other, 100, &used), ENOENT);
}

BOX_TEST(a_flat_watch_reports_its_directory_only, NULL)
{
        static struct watching w;
        CHECK_INT(box_ask(box, "mkdir s"), 0);
        start_watch(box, &w, 5, "", 0);
        CHECK_INT(box_ask(box,
                          "echo > s/inner; echo > outer; for i in 1 2 3 4 5 6 7 8 9; do echo >> outer; done; "
                          "echo > last"),
                  0);
        hear_changes(&w, "+last\n");
        CHECK(strstr(w.text, "+outer\n") != NULL);
        CHECK(strstr(w.text, "inner") == NULL);
        close(w.fd);
        CHECK_INT(box_errno(box, 5), EPIPE);
}

BOX_TEST(storms_are_bounded, many_inodes)
{
        static struct watching w;
        int out[2];
        CHECK_INT(box_ask(box, "seq -f d%g 5000 | xargs mkdir"), 0);
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        box_operate(box, 5, OP(.operation = INIT_WATCH, .flags = INIT_RECURSIVE, .path = ""), out[1]);
        close(out[1]);
        w.fd = out[0];
        w.text[0] = '\0';
        hear_changes(&w, "?\n"); /* more directories than watches */
        w.text[0] = '\0';
        CHECK_INT(box_ask(box, "for i in $(seq 300); do echo >> top; done"), 0);
        hear_changes(&w, "*top\n");
        usleep(100000);
        unsigned n = 0;
        struct pollfd p = {w.fd, POLLIN, 0};
        while (poll(&p, 1, 50) > 0) {
                struct init_event e;
                char name[100];
                if (read_all(w.fd, (char *)&e, sizeof e) != sizeof e || e.name_len > sizeof name)
                        break;
                read_all(w.fd, name, e.name_len);
                n++;
        }
        CHECK(n < 150);
        close(w.fd);
        CHECK_INT(box_errno(box, 5), EPIPE);
}

/* Runs `init --give` with this root.  Returns its exit status. */
static int give(const char *root)
{
        char *const argv[] = {"init", "--give", NULL}, *const env[] = {NULL};
        int status = -1, program = program_open_init();
        const pid_t pid = fork();
        if (pid == 0) {
                if (chroot(root) == 0 && chdir("/") == 0)
                        sys_execveat(program, "", argv, env, AT_EMPTY_PATH);
                _exit(99);
        }
        waitpid(pid, &status, 0);
        close(program);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int mode_of(const char *path)
{
        struct stat st;
        return lstat(path, &st) < 0 ? -1 : (int)(st.st_mode & 07777);
}

TEST(a_new_volume_is_given_but_nothing_behind_a_link)
{
        char root[] = "/tmp/init-files-XXXXXX", workspace[64], data[64];
        if (geteuid() != 0)
                SKIP("not started as root");
        CHECK(mkdtemp(root));
        snprintf(workspace, sizeof workspace, "%s/workspace", root);
        snprintf(data, sizeof data, "%s/data", root);
        CHECK_INT(mkdir(data, 0755), 0);
        CHECK_INT(mkdir(workspace, 0755), 0);
        CHECK_INT(give(root), 0);
        CHECK_INT(mode_of(workspace), 01777);
        CHECK_INT(rmdir(workspace), 0);
        CHECK_INT(symlink("/data", workspace), 0);
        CHECK_INT(give(root), 1);
        CHECK_INT(mode_of(data), 0755);
        CHECK_INT(unlink(workspace) | rmdir(data) | rmdir(root), 0);
}
