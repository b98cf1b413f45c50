/* Packing and unpacking, and hostile archives that try to write outside of the directory. */
#include "cli/client/tar.h"

#include <ftw.h>
#include <limits.h>
#include <sys/sysmacros.h>

static void begin_place(void), end_place(void);
#define TEST_BEFORE begin_place
#define TEST_AFTER end_place
#include "test.h"

/* ---- a place: outer/ with a secret, outer/in/ is what is unpacked into ---- */

static char outer[64], *archive;
static size_t archive_len, archive_size;
static int in_fd = -1;
static struct tar_unpack_options limits; /* begin_place() sets them */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
        (void)st, (void)flag, (void)ftw;
        return remove(path);
}

static void end_place(void)
{
        if (in_fd >= 0) {
                close(in_fd);
                nftw(outer, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        }
        in_fd = -1;
        free(archive);
        archive = NULL;
        archive_len = archive_size = 0;
}

static void begin_place(void)
{
        end_place();
        umask(022);
        snprintf(outer, sizeof outer, "/tmp/cella-unit-tar-XXXXXX");
        CHECK(mkdtemp(outer) != NULL);
        CHECK_INT(chdir(outer), 0);
        CHECK_INT(mkdir("in", 0755), 0);
        FILE *f = fopen("secret", "w");
        fputs("untouched", f);
        fclose(f);
        in_fd = open("in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        limits = (struct tar_unpack_options){.bytes_max = 1 << 30, .entries_max = 1000};
}

static const char *content(const char *path)
{
        static char text[4096];
        FILE *f = fopen(path, "r");
        if (!f)
                return NULL;
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        return text;
}

static bool exists(const char *path)
{
        struct stat st;
        return lstat(path, &st) == 0;
}

static unsigned mode_of(const char *path)
{
        struct stat st;
        return lstat(path, &st) == 0 ? (unsigned)st.st_mode & 07777 : 0;
}

/* ---- archives ---- */

static int keep(void *userdata, const char *data, size_t len, struct cella_err *err)
{
        (void)userdata, (void)err;
        if (archive_len + len > archive_size) {
                archive_size = (archive_len + len) * 2;
                archive = realloc(archive, archive_size);
        }
        memcpy(archive + archive_len, data, len);
        archive_len += len;
        return 0;
}

static void add_raw(char type, const char *name, const char *link, const char *data, size_t len,
                    unsigned mode)
{
        struct tar_header h = {.type = type, .magic = "ustar", .version = {'0', '0'}};
        char number[24];
        static const char zeros[TAR_BLOCK];
        memcpy(h.name, name, strnlen(name, sizeof h.name));
        memcpy(h.link, link, strnlen(link, sizeof h.link));
        snprintf(h.mode, sizeof h.mode, "%07o", mode);
        snprintf(number, sizeof number, "%011zo", len);
        memcpy(h.size, number, sizeof h.size);
        memcpy(h.mtime, "00000000000", 12);
        snprintf(number, sizeof number, "%06o", tar_checksum(&h));
        memcpy(h.checksum, number, 7);
        keep(NULL, (const char *)&h, sizeof h, NULL);
        keep(NULL, data, len, NULL);
        keep(NULL, zeros, (TAR_BLOCK - len % TAR_BLOCK) % TAR_BLOCK, NULL);
}

static void add(char type, const char *name, const char *link, const char *text)
{
        add_raw(type, name, link, text, strlen(text), type == '5' ? 0755 : 0644);
}

static struct cella_err err;
static unsigned skipped;
static struct tar_left_out left_out;

/* In pieces of so many bytes. */
static int unpack(size_t piece)
{
        struct tar_unpack *u = NULL;
        err = (struct cella_err){0};
        int r = tar_unpack_new(in_fd, &limits, &u, &err);
        for (size_t at = 0; r == 0 && at < archive_len; at += piece)
                r = tar_unpack_feed(u, archive + at, archive_len - at < piece ? archive_len - at : piece,
                                    &err);
        if (r == 0)
                r = tar_unpack_end(u, &left_out, &err);
        tar_unpack_free(u);
        return r;
}

static void finish(void)
{
        static const char end[2 * TAR_BLOCK];
        keep(NULL, end, sizeof end, NULL);
}

TEST(packing_and_unpacking_give_the_same_files)
{
        char path[600], name[201];
        CHECK_INT(mkdir("src", 0755), 0);
        CHECK_INT(mkdir("src/d", 0750), 0);
        CHECK_INT(mkdir("src/empty", 0755), 0);
        memset(name, 'n', 200);
        name[200] = '\0';
        snprintf(path, sizeof path, "src/d/%s", name);
        CHECK_INT(mkdir(path, 0755), 0);
        snprintf(path, sizeof path, "src/d/%s/%s", name, name);
        FILE *f = fopen(path, "w");
        fputs("far down", f);
        fclose(f);
        f = fopen("src/odd \n\xff name", "w");
        for (int i = 0; i < 100000; i++)
                fputc(i % 251, f);
        fclose(f);
        f = fopen("src/program", "w");
        fclose(f);
        CHECK_INT(chmod("src/program", 04755), 0);
        CHECK_INT(symlink("../secret", "src/link"), 0);
        snprintf(path, sizeof path, "%s/%s", name, name);
        CHECK_INT(symlink(path, "src/long-link"), 0);
        CHECK_INT(mkfifo("src/fifo", 0644), 0);
        int dir = open("src", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK_INT(tar_pack(dir, keep, NULL, &skipped, &err), 0);
        close(dir);
        CHECK_INT(skipped, 1);
        limits.keep_links = true;
        for (size_t piece = 1; piece <= 100000; piece = piece * 7 + 3) {
                CHECK_INT(unpack(piece), 0);
                CHECK_INT(system("rm -f src/fifo; diff -r --no-dereference src in >&2"), 0);
                CHECK_INT(mode_of("in/program"), 0755);
                CHECK_INT(mode_of("in/d"), 0750);
                CHECK_INT(system("rm -rf in/*"), 0);
        }
}

TEST(tar_unpacks_our_archives)
{
        CHECK_INT(system("mkdir -p src/a/b && echo hi > src/a/b/c && ln -s b src/a/l && "
                         "f=src/a/$(printf '%0200d' 1) && echo long > $f"),
                  0);
        int dir = open("src", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        CHECK_INT(tar_pack(dir, keep, NULL, &skipped, &err), 0);
        close(dir);
        FILE *f = popen("tar -x -C in -f -", "w");
        fwrite(archive, 1, archive_len, f);
        CHECK_INT(pclose(f), 0);
        CHECK_INT(system("diff -r --no-dereference src in >&2"), 0);
}

TEST(archives_of_other_programs_are_understood)
{
        static const char *const formats[] = {"ustar", "gnu", "pax", "v7"};
        for (size_t i = 0; i < 4; i++) {
                char command[200], buffer[4096];
                begin_place();
                CHECK_INT(system("mkdir -p src/a/b && echo hi > src/a/b/c && ln -s b src/a/l && chmod 700 "
                                 "src/a/b/c"),
                          0);
                if (i == 1 || i == 2)
                        CHECK_INT(system("f=src/a/$(printf '%0200d' 1) && echo long > $f && ln -s $(printf "
                                         "'%0150d' 2) src/k"),
                                  0);
                snprintf(command, sizeof command, "tar -c -H %s -C src -f - .", formats[i]);
                FILE *f = popen(command, "r");
                for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
                        keep(NULL, buffer, n, NULL);
                CHECK_INT(pclose(f), 0);
                CHECK_INT(unpack(1000), 0);
                CHECK_INT(system("diff -r --no-dereference src in >&2"), 0);
                CHECK_INT(mode_of("in/a/b/c"), 0700);
                end_place();
        }
}

/* Each archive must leave the secret unchanged and create nothing outside. */
static void refused(int expected)
{
        finish();
        CHECK_INT(unpack(512), expected);
        CHECK_STR(content("secret"), "untouched");
        CHECK(!exists("new"));
        CHECK(!exists("/tmp/cella-unit-tar-new"));
        end_place();
}

TEST(absolute_names_are_refused)
{
        add('0', "/tmp/cella-unit-tar-new", "", "x");
        refused(-EPERM);
}

TEST(names_that_lead_up_are_refused)
{
        static const char *const names[] = {"../new",   "a/../../new",      "..",
                                            "./../new", "a/b/../../../new", "../secret"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                begin_place();
                add('0', names[i], "", "x");
                refused(-EPERM);
                begin_place();
                add('5', names[i], "", "");
                refused(-EPERM);
                begin_place();
                add('2', names[i], "x", "");
                refused(-EPERM);
        }
}

TEST(pax_and_gnu_names_that_lead_up_are_refused)
{
        add('x', "pax", "", "15 path=../new\n");
        add('0', "harmless", "", "x");
        refused(-EPERM);
        begin_place();
        add('L', "././@LongLink", "", "../new");
        add('0', "harmless", "", "x");
        refused(-EPERM);
}

TEST(a_prefix_that_leads_up_is_refused)
{
        add('0', "new", "", "x");
        struct tar_header *h = (struct tar_header *)archive;
        char number[8];
        memcpy(h->prefix, "..", 3);
        snprintf(number, sizeof number, "%06o", tar_checksum(h));
        memcpy(h->checksum, number, 7);
        refused(-EPERM);
}

TEST(nothing_is_written_through_a_link)
{
        static const char *const targets[] = {"..", "/tmp", ".", "../."};
        static const struct {
                char type;
                const char *name, *link, *data;
        } seconds[] = {{'0', "link/new", "", "x"},
                       {'5', "link/new", "", ""},
                       {'2', "link/new", "x", ""},
                       {'5', "link", "", ""}};
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
                for (size_t k = 0; k < sizeof seconds / sizeof *seconds; k++) {
                        begin_place();
                        limits.keep_links = true;
                        add('2', "link", targets[i], "");
                        add(seconds[k].type, seconds[k].name, seconds[k].link, seconds[k].data);
                        refused(-EPERM);
                }
}

TEST(links_that_lead_out_are_known)
{
        static const struct {
                const char *path, *target;
                bool out;
        } cases[] = {
                {"l", "f", false},         {"l", "a/b/c", false},       {"l", ".", false},
                {"l", "./f", false},       {"l", "a//b/", false},       {"l", "...", false},
                {"l", "..a/..b", false},   {"a/l", "..", false},        {"a/l", "../f", false},
                {"a/b/l", "../..", false}, {"a/b/l", "../../x", false}, {"./a/./l", ".././f", false},
                {"l", "/", true},          {"l", "/etc/passwd", true},  {"l", "..", true},
                {"l", "../in/f", true},    {"a/l", "../..", true},      {"./l", "..", true},
                {".//l", "../x", true},    {"a//l", "../../x", true},   {"l", "./..", true},
                {"l", "a/..", true},       {"l", "a/b/c/../..", true},  {"a/b/l", "../c/../d", true},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                CHECK_INT(tar_link_leads_out(cases[i].path, cases[i].target), cases[i].out);
}

TEST(links_that_lead_out_are_left_out)
{
        add('5', "a/", "", "");
        add('2', "out", "../secret", "");
        add('2', "absolute", "/etc/passwd", "");
        add('2', "a/up", "..", "");
        add('2', "a/out", "../..", "");
        add('2', "steps", "a/up/..", ""); /* a/up is in/, and a/up/.. is outer/ */
        add('2', "dangling", "nothing", "");
        finish();
        CHECK_INT(unpack(512), 0);
        CHECK_INT(left_out.links, 4);
        CHECK_INT(left_out.special, 0);
        CHECK(exists("in/a/up") && exists("in/dangling"));
        CHECK(!exists("in/out") && !exists("in/absolute") && !exists("in/a/out") && !exists("in/steps"));
}

TEST(a_link_that_is_left_out_does_not_remove_a_file)
{
        CHECK_INT(system("echo mine >in/f"), 0);
        add('2', "f", "../secret", "");
        finish();
        CHECK_INT(unpack(512), 0);
        CHECK_STR(content("in/f"), "mine\n");
}

TEST(special_files_that_were_there_are_not_written_to_or_replaced)
{
        CHECK_INT(mkfifo("in/f", 0644), 0);
        add('0', "f", "", "x");
        finish();
        CHECK_INT(unpack(512), -EEXIST);
        begin_place();
        CHECK_INT(mkfifo("in/f", 0644), 0);
        add('2', "f", "g", "");
        finish();
        CHECK_INT(unpack(512), -EEXIST);
        struct stat st;
        CHECK(lstat("in/f", &st) == 0 && S_ISFIFO(st.st_mode));
}

TEST(the_bytes_are_limited)
{
        limits.bytes_max = 10;
        add('0', "a", "", "12345");
        add('0', "b", "", "67890");
        add('0', "c", "", "");
        finish();
        CHECK_INT(unpack(512), 0);
        CHECK_STR(content("in/b"), "67890");
        add('0', "unused", "", ""); /* the archive ended before */
        begin_place();
        limits.bytes_max = 10;
        add('0', "a", "", "12345");
        add('0', "b", "", "678901");
        finish();
        CHECK_INT(unpack(512), -EFBIG);
        CHECK(strstr(err.hint, "--max-bytes") != NULL);
        CHECK_STR(content("in/a"), "12345");
        CHECK(!exists("in/b"));
        begin_place(); /* the sum of the sizes must not overflow */
        limits.bytes_max = UINT64_MAX;
        add('0', "a", "", "12345");
        add('x', "pax", "", "27 size=9000000000000000000\n");
        add('0', "b", "", "x");
        CHECK_INT(unpack(512), -EPROTO); /* the archive ends in the middle of an entry */
        CHECK(!exists("in/b"));
}

TEST(the_entries_are_limited)
{
        static const char *const names[] = {"a", "b", "c"};
        for (unsigned kind = 0; kind < 3; kind++) {
                begin_place();
                limits.entries_max = 2;
                for (size_t i = 0; i < 3; i++)
                        add("052"[kind], names[i], kind == 2 ? "x" : "", "");
                finish();
                CHECK_INT(unpack(512), -EFBIG);
                CHECK(strstr(err.hint, "--max-entries") != NULL);
                CHECK(exists("in/b") && !exists("in/c"));
        }
        begin_place(); /* directories that no entry names */
        limits.entries_max = 4;
        add('0', "a/b/c/d/e/f", "", "x");
        finish();
        CHECK_INT(unpack(512), -EFBIG);
        CHECK(!exists("in/a/b/c/d/e"));
}

TEST(headers_without_an_entry_end)
{
        for (int i = 0; i < 100; i++)
                add('x', "pax", "", "");
        add('0', "f", "", "x");
        finish();
        CHECK_INT(unpack(512), -EPROTO);
}

TEST(an_incomplete_file_does_not_replace_the_old_one)
{
        CHECK_INT(system("echo mine >in/f"), 0);
        add('0', "f", "", "theirs");
        archive_len -= TAR_BLOCK - 3;
        CHECK_INT(unpack(512), -EPROTO);
        CHECK_STR(content("in/f"), "mine\n");
        CHECK_INT(system("test \"$(ls -A in)\" = f"), 0); /* and no temporary file */
}

TEST(a_link_that_was_there_is_not_followed_either)
{
        CHECK_INT(symlink("..", "in/link"), 0);
        add('0', "link/new", "", "x");
        refused(-EPERM);
}

TEST(a_link_in_the_place_of_a_file_is_replaced)
{
        limits.keep_links = true;
        add('2', "f", "../secret", "");
        add('0', "f", "", "mine");
        finish();
        CHECK_INT(unpack(512), 0);
        CHECK_STR(content("secret"), "untouched");
        CHECK_STR(content("in/f"), "mine");
}

TEST(a_file_that_was_there_is_replaced_and_not_written_to)
{
        CHECK_INT(link("secret", "in/f"), 0);
        add('0', "f", "", "mine");
        finish();
        CHECK_INT(unpack(512), 0);
        CHECK_STR(content("secret"), "untouched");
        CHECK_STR(content("in/f"), "mine");
}

TEST(hard_links_and_devices_are_left_out)
{
        add('1', "hard", "../secret", "");
        add('1', "hard2", "/etc/passwd", "");
        add('3', "char", "", "");
        add('4', "block", "", "");
        add('6', "fifo", "", "");
        add('Z', "strange", "", "skipped content");
        add('0', "file", "", "good");
        finish();
        CHECK_INT(unpack(512), 0);
        CHECK_INT(left_out.special, 6);
        CHECK(!exists("in/hard") && !exists("in/hard2") && !exists("in/char") && !exists("in/block"));
        CHECK(!exists("in/fifo") && !exists("in/strange"));
        CHECK_STR(content("in/file"), "good");
}

TEST(no_mode_is_more_than_0777)
{
        add_raw('0', "f", "", "x", 1, 06755);
        add_raw('5', "d", "", "", 0, 07777);
        add_raw('5', "closed", "", "", 0, 0);
        add_raw('0', "closed/f", "", "x", 1, 0600);
        finish();
        CHECK_INT(unpack(512), 0);
        CHECK_INT(mode_of("in/f"), 0755);
        CHECK_INT(mode_of("in/d"), 0755);
        CHECK_INT(mode_of("in/closed"), 0700);
        CHECK_STR(content("in/closed/f"), "x");
}

TEST(a_directory_is_not_replaced_by_a_file)
{
        add('5', "d", "", "");
        add('0', "d/keep", "", "x");
        add('0', "d", "", "x");
        finish();
        CHECK(unpack(512) < 0);
        CHECK_STR(content("in/d/keep"), "x");
}

TEST(names_without_a_file_are_refused_or_do_nothing)
{
        add('0', "", "", "x");
        refused(-EPROTO);
        begin_place();
        add('0', "./.", "", "x");
        refused(-EPROTO);
        begin_place();
        add('5', "./", "", "");
        add('5', "", "", "");
        finish();
        CHECK_INT(unpack(512), 0);
}

TEST(too_deep_and_too_long_is_refused)
{
        char name[3000], record[3100];
        for (size_t i = 0; i < 400; i += 2)
                memcpy(name + i, "d/", 2);
        name[400] = '\0';
        snprintf(record, sizeof record, "%d path=%s\n", 4 + 5 + 400 + 1, name);
        add('x', "pax", "", record);
        add('0', "x", "", "x");
        refused(-EPERM);
        begin_place();
        memset(name, 'n', 300);
        name[300] = '\0';
        snprintf(record, sizeof record, "%d path=%s\n", 4 + 5 + 300 + 1, name);
        add('x', "pax", "", record);
        add('0', "x", "", "x");
        refused(-EPERM);
}

TEST(broken_archives_are_refused)
{
        static const char *const pax[] = {"path=x\n",     "99 path=x\n",          "3 \n",
                                          "0 path=x\n",   "10 path=xxxxx",        "8 pathx\n",
                                          "11 size=1z\n", "99999999999 path=x\n", "4 =\n\n"};
        for (size_t i = 0; i < sizeof pax / sizeof *pax; i++) {
                begin_place();
                add('x', "pax", "", pax[i]);
                add('0', "f", "", "x");
                finish();
                CHECK_INT(unpack(512), -EPROTO);
        }
        begin_place();
        add('0', "f", "", "x");
        archive[0] = 'g'; /* the checksum no longer fits its field */
        refused(-EPROTO);
        begin_place();
        add('0', "f", "", "x");
        memcpy(((struct tar_header *)archive)->size, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
        snprintf(((struct tar_header *)archive)->checksum, 8, "%06o",
                 tar_checksum((struct tar_header *)archive));
        refused(-EPROTO);
        begin_place();
        add_raw('x', "pax", "", archive ? archive : "", 0, 0);
}

TEST(an_archive_that_stops_is_refused)
{
        add('0', "f", "", "some content");
        size_t whole = archive_len;
        for (size_t len = 1; len < whole; len += 100) {
                archive_len = len;
                CHECK_INT(unpack(512), -EPROTO);
        }
        archive_len = whole; /* without the blocks of zeros at its end it is complete all the same */
        CHECK_INT(unpack(512), 0);
}

TEST(a_file_that_claims_to_be_huge_is_refused)
{
        add('x', "pax", "", "27 size=9000000000000000000\n");
        add('0', "f", "", "x");
        finish();
        CHECK(unpack(512) < 0);
}
