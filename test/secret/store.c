/* test/secret/store.c -- the sealed store: what survives, who may have it, and what happens to one that was
 * changed, cut, moved, or left by a process that was killed. */
#include "secret/store.h"

#include <limits.h>
#include <sys/ptrace.h>

#include "../unit/directory.h"
#include "secret/seal.h"

static struct cella_err err;
/* ---- a directory for each test ---- */

static struct secret_store *opened(void)
{
        struct secret_store *store = NULL;
        memset(&err, 0, sizeof err);
        CHECK_INT(secret_store_open(directory, NULL, &store, &err), 0);
        CHECK_STR(err.msg, "");
        if (!store)
                exit(EXIT_FAILURE);
        return store;
}

static size_t read_whole(const char *name, char *data, size_t size)
{
        int fd = open(in_directory(name), O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, data, size) : -1;
        close(fd);
        return n < 0 ? 0 : (size_t)n;
}

static void write_whole(const char *name, const void *data, size_t len)
{
        int fd = open(in_directory(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        CHECK_INT(write(fd, data, len), len);
        close(fd);
}

/* ---- shorthands ---- */

static void set(struct secret_store *store, const char *name, const char *value)
{
        memset(&err, 0, sizeof err);
        CHECK_INT(secret_store_set(store, name, value, strlen(value), NULL, &err), 0);
        CHECK_STR(err.msg, "");
}

static void check_value(struct secret_store *store, const char *name, const char *should)
{
        AUTO(secret_free) struct secret *secret = NULL;
        CHECK_INT(secret_store_get(store, name, &secret, &err), 0);
        CHECK_STR(secret ? secret->value : NULL, should);
        CHECK_INT(secret ? secret->len : 0, strlen(should));
}

/* Opening must fail with this error, and with a hint. */
static void check_refused(const struct secret_key_source *source, int num, const char *words)
{
        AUTO(secret_store_close) struct secret_store *store = NULL;
        memset(&err, 0, sizeof err);
        int r = secret_store_open(directory, source, &store, &err);
        CHECK_INT(r, num);
        CHECK(store == NULL);
        CHECK(err.msg[0] != '\0');
        if (words && !strstr(err.msg, words))
                CHECK_STR(err.msg, words);
}

static const struct {
        const char *name, *value;
} three[] = {
        {"API_KEY", "value number one"}, {"db.password-2", "value number two"}, {"_x", "value number 3"}};

static void set_three(struct secret_store *store)
{
        for (size_t i = 0; i < 3; i++)
                set(store, three[i].name, three[i].value);
}

/* ---- normal use ---- */

TEST(secrets_survive)
{
        AUTO(secret_store_close) struct secret_store *store = opened();
        struct stat st;
        bool made = false;
        CHECK_INT(secret_store_count(store), 0);
        CHECK_INT(access(in_directory(SECRET_KEY_FILE), F_OK),
                  -1); /* the key is made with the first secret */
        set_three(store);
        CHECK_INT(secret_store_set(store, "API_KEY", "another value", 13, &made, &err), 0);
        CHECK(!made);
        CHECK_INT(secret_store_set(store, "new", "nnnnnnnn", 8, &made, &err), 0);
        CHECK(made);
        CHECK_INT(secret_store_remove(store, "new", &err), 0);
        secret_store_close(store);

        store = opened();
        CHECK_INT(secret_store_count(store), 3);
        CHECK_STR(secret_store_about(store, 0)->name, "API_KEY"); /* by name */
        CHECK_STR(secret_store_about(store, 1)->name, "_x");
        CHECK_STR(secret_store_about(store, 2)->name, "db.password-2");
        CHECK(secret_store_about(store, 3) == NULL);
        const struct secret_about *about = secret_store_about(store, 0);
        CHECK(about->created_ms > 1500000000000 && about->changed_ms >= about->created_ms);
        check_value(store, "API_KEY", "another value");
        check_value(store, "db.password-2", "value number two");
        static const char *const files[] = {SECRET_FILE, SECRET_KEY_FILE};
        for (size_t i = 0; i < 2; i++) {
                CHECK_INT(stat(in_directory(files[i]), &st), 0);
                CHECK_INT(st.st_mode & 07777, 0600);
        }
}

TEST(values_are_not_in_any_file)
{
        AUTO(secret_store_close) struct secret_store *store = opened();
        static const char *const names[] = {SECRET_FILE, SECRET_KEY_FILE, SECRET_FILE ".lock"};
        static char data[65536];
        set_three(store);
        for (size_t i = 0; i < 3; i++) {
                size_t len = read_whole(names[i], data, sizeof data);
                CHECK(memmem(data, len, "value", 5) == NULL);
        }
}

TEST(names_and_values_have_bounds)
{
        AUTO(secret_store_close) struct secret_store *store = opened();
        static char large[SECRET_VALUE_MAX + 1];
        memset(large, 'x', sizeof large);
        static const struct {
                const char *name;
                int should;
        } names[] = {
                {"a", 0},
                {"_", 0},
                {"Z9.-_", 0},
                {"a234567890123456789012345678901234567890123456789012345678901234", 0},
                {"a2345678901234567890123456789012345678901234567890123456789012345", -EINVAL},
                {"", -EINVAL},
                {"9a", -EINVAL},
                {"-a", -EINVAL},
                {".a", -EINVAL},
                {"a b", -EINVAL},
                {"a/b", -EINVAL},
                {"a\n", -EINVAL},
                {"\xc3\xa9", -EINVAL},
                {"a{", -EINVAL},
        };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                memset(&err, 0, sizeof err);
                CHECK_INT(secret_store_set(store, names[i].name, "value", 5, NULL, &err), names[i].should);
                CHECK((err.hint[0] != '\0') == (names[i].should < 0));
        }
        static const struct {
                const char *value;
                size_t len;
                int should;
        } values[] = {{"", 0, -EINVAL},           {"abc", 3, -EINVAL},  {"abcd", 4, 0},
                      {"  a \n", 5, -EINVAL},     {"    ", 4, -EINVAL}, {"ab\0cd", 5, -EINVAL},
                      {"\xff\xfe\xfd\xfc", 4, 0}, {large, 65536, 0},    {large, 65537, -EFBIG}};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                memset(&err, 0, sizeof err);
                CHECK_INT(secret_store_set(store, "value", values[i].value, values[i].len, NULL, &err),
                          values[i].should);
                CHECK(!strstr(err.msg, "abc") && !strstr(err.hint, "abc")); /* not quoted */
        }
        AUTO(secret_free) struct secret *secret = NULL;
        CHECK_INT(secret_store_get(store, "value", &secret, &err), 0);
        CHECK(secret && secret->len == 65536 && !memcmp(secret->value, large, 65536));
}

TEST(unknown_secrets_are_not_found)
{
        AUTO(secret_store_close) struct secret_store *store = opened();
        struct secret *secret = NULL;
        set_three(store);
        CHECK_INT(secret_store_get(store, "api_key", &secret, &err), -ENOENT);
        CHECK_INT(err.kind, CELLA_NOT_FOUND);
        CHECK(secret == NULL);
        CHECK_INT(secret_store_remove(store, "", &err), -ENOENT);
        CHECK_INT(secret_store_count(store), 3);
        for (size_t i = 0; i < 3; i++)
                CHECK_INT(secret_store_remove(store, three[i].name, &err), 0);
        CHECK_INT(secret_store_count(store), 0);
        secret_store_close(store);
        store = opened();
        CHECK_INT(secret_store_count(store), 0);
}

TEST(the_number_of_secrets_is_limited)
{
        static struct seal_entry *entries[SECRETS_MAX - 1];
        struct secret_key key = {.bytes = "0123456789abcdef0123456789abcde"};
        struct seal *seal = NULL;
        unsigned char *data = NULL;
        size_t len = 0;
        AUTO(secret_store_close) struct secret_store *store = opened();
        secret_store_close(store);
        CHECK_INT(seal_new(&key, &seal), 0); /* all but one at once: each change is an fsync */
        for (int i = 0; i < SECRETS_MAX - 1; i++) {
                struct secret_about about = {.created_ms = i, .changed_ms = i};
                snprintf(about.name, sizeof about.name, "s%03d", i);
                CHECK_INT(seal_close(seal, &about, "some value", 10, &entries[i]), 0);
        }
        CHECK_INT(seal_write(seal, entries, SECRETS_MAX - 1, &data, &len), 0);
        write_whole(SECRET_FILE, data, len);
        write_whole(SECRET_KEY_FILE, key.bytes, sizeof key.bytes);
        for (int i = 0; i < SECRETS_MAX - 1; i++)
                free(entries[i]);
        free(data);
        seal_free(seal);

        store = opened();
        CHECK_INT(secret_store_count(store), SECRETS_MAX - 1);
        set(store, "s5", "the last one");
        CHECK_INT(secret_store_set(store, "onemore", "value", 5, NULL, &err), -ENOSPC);
        CHECK_INT(err.kind, CELLA_OVER_CAPACITY);
        set(store, "s500", "changed"); /* an existing secret can still be changed */
        secret_store_close(store);
        store = opened();
        CHECK_INT(secret_store_count(store), SECRETS_MAX);
        check_value(store, "s500", "changed");
        check_value(store, "s5", "the last one");
        check_value(store, "s998", "some value");
}

/* ---- a modified file ---- */

TEST(every_changed_bit_is_noticed)
{
        struct secret_store *store = opened();
        static char data[4096];
        set_three(store);
        secret_store_close(store);
        size_t len = read_whole(SECRET_FILE, data, sizeof data);
        CHECK(len > 100);
        for (size_t i = 0; i < len; i++) {
                char was = data[i];
                data[i] ^= (char)(1 << (i % 8));
                write_whole(SECRET_FILE, data, len);
                struct secret_store *bad = NULL;
                memset(&err, 0, sizeof err);
                int r = secret_store_open(directory, NULL, &bad, &err);
                CHECK(r == -EBADMSG || r == -EPROTO || r == -EKEYREJECTED);
                CHECK(bad == NULL && err.msg[0] && err.hint[0]);
                data[i] = was;
        }
        write_whole(SECRET_FILE, data, len);
        secret_store_close(opened());
}

TEST(every_other_length_is_noticed)
{
        struct secret_store *store = opened();
        static char data[4096];
        set_three(store);
        secret_store_close(store);
        size_t len = read_whole(SECRET_FILE, data, sizeof data);
        for (size_t n = 0; n <= len + 40; n++) {
                if (n == len)
                        continue;
                write_whole(SECRET_FILE, data, n);
                check_refused(NULL, -EBADMSG, "damaged");
        }
        write_whole(SECRET_FILE, data, len);
        secret_store_close(opened());
}

/* Returns the offset of an entry in the file; the format is described in seal.h. */
static size_t entry_at(const char *data, size_t which, size_t *ret_len)
{
        size_t at = 32;
        for (;; which--) {
                const unsigned char *p = (const unsigned char *)data + at;
                *ret_len = 22 + p[0] + 24 + (size_t)(p[2] | p[3] << 8) + 16;
                if (which == 0)
                        return at;
                at += *ret_len;
        }
}

TEST(entries_cannot_be_swapped_or_taken_from_an_older_file)
{
        struct secret_store *store = opened();
        static char data[4096], older[4096], mixed[4096];
        set(store, "first", "same length 1");
        set(store, "other", "same length 2");
        size_t len = read_whole(SECRET_FILE, older, sizeof older);
        set(store, "first", "same length 3");
        secret_store_close(store);
        CHECK_INT(read_whole(SECRET_FILE, data, sizeof data), len);
        size_t size, other, first = entry_at(data, 0, &size);
        other = entry_at(data, 1, &size);
        CHECK_INT(other, first + size);

        memcpy(mixed, data, len); /* whole entries */
        memcpy(mixed + first, data + other, size);
        memcpy(mixed + other, data + first, size);
        write_whole(SECRET_FILE, mixed, len);
        check_refused(NULL, -EBADMSG, "damaged");
        memcpy(mixed, data, len); /* what is sealed in them */
        memcpy(mixed + first + 27, data + other + 27, size - 27);
        write_whole(SECRET_FILE, mixed, len);
        check_refused(NULL, -EBADMSG, "damaged");
        memcpy(mixed, data, len); /* an older value */
        memcpy(mixed + first, older + first, size);
        write_whole(SECRET_FILE, mixed, len);
        check_refused(NULL, -EBADMSG, "damaged");
        memcpy(mixed, data, len); /* another version */
        mixed[8] = 0;
        write_whole(SECRET_FILE, mixed, len);
        check_refused(NULL, -EBADMSG, "damaged");
        mixed[8] = 2;
        write_whole(SECRET_FILE, mixed, len);
        check_refused(NULL, -EPROTO, "version 2");
        CHECK(strstr(err.hint, "newer") != NULL);
        write_whole(SECRET_FILE, data, len);
        secret_store_close(opened());
}

TEST(a_store_that_is_no_regular_file_is_refused)
{
        struct secret_store *store = opened();
        set_three(store);
        secret_store_close(store);
        CHECK_INT(rename(in_directory(SECRET_FILE), in_directory("elsewhere")), 0);
        CHECK_INT(symlink("elsewhere", in_directory(SECRET_FILE)), 0);
        check_refused(NULL, -ELOOP, NULL);
        CHECK_INT(unlink(in_directory(SECRET_FILE)), 0);
        CHECK_INT(mkfifo(in_directory(SECRET_FILE), 0600), 0);
        check_refused(NULL, -EBADMSG, "not a secrets file");
        CHECK_INT(unlink(in_directory(SECRET_FILE)), 0);
        CHECK_INT(rename(in_directory("elsewhere"), in_directory(SECRET_FILE)), 0);
        secret_store_close(opened());
}

/* ---- keys ---- */

TEST(another_key_is_named_as_the_cause)
{
        struct secret_store *store = opened();
        char key[80];
        set_three(store);
        secret_store_close(store);
        size_t len = read_whole(SECRET_KEY_FILE, key, sizeof key);
        CHECK_INT(len, 65);
        key[3] = key[3] == '0' ? '1' : '0';
        write_whole(SECRET_KEY_FILE, key, len);
        check_refused(NULL, -EKEYREJECTED, "another key");
        CHECK_INT(unlink(in_directory(SECRET_KEY_FILE)), 0);
        check_refused(NULL, -EKEYREJECTED, "the key of the stored secrets is missing");
        CHECK(strstr(err.hint, SECRET_KEY_FILE) != NULL);
        CHECK_INT(access(in_directory(SECRET_KEY_FILE), F_OK), -1); /* and no new key was made */
}

TEST(a_key_others_can_read_is_refused)
{
        struct secret_store *store = opened();
        set_three(store);
        secret_store_close(store);
        static const unsigned modes[] = {0640, 0604, 0620, 0602, 0610, 0601, 0700, 0644, 0666};
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
                CHECK_INT(chmod(in_directory(SECRET_KEY_FILE), modes[i]), 0);
                check_refused(NULL, -EPERM, "mode");
                CHECK(strstr(err.hint, "chmod 600") != NULL);
        }
        CHECK_INT(chmod(in_directory(SECRET_KEY_FILE), 0400), 0);
        secret_store_close(opened());
        CHECK_INT(chmod(in_directory(SECRET_KEY_FILE), 0600), 0);
        if (geteuid() == 0) {
                CHECK_INT(chown(in_directory(SECRET_KEY_FILE), 12345, 0), 0);
                check_refused(NULL, -EPERM, "belongs to uid 12345");
                CHECK(strstr(err.hint, "chown") != NULL);
        }
        CHECK_INT(unlink(in_directory(SECRET_KEY_FILE)), 0);
        CHECK_INT(symlink("/dev/null", in_directory(SECRET_KEY_FILE)), 0);
        check_refused(NULL, -ELOOP, "symbolic link");
        CHECK_INT(unlink(in_directory(SECRET_KEY_FILE)), 0);
        CHECK_INT(mkdir(in_directory(SECRET_KEY_FILE), 0700), 0);
        check_refused(NULL, -EINVAL, "not a file");
}

TEST(a_credential_comes_before_the_file)
{
        static const struct {
                const char *key;
                size_t len;
                bool good;
        } keys[] = {
                {"00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF", 64, true},
                {"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 65, true},
                {"ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=\r\n", 46, true},
                {"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
                 "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff",
                 32, true},
                {"", 0, false},
                {"hunter2\n", 8, false},
                {"00112233445566778899aabbccddeeff00112233445566778899aabbccddeef", 63, false},
                {"0g112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 64, false},
                {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32, false},
        };
        secret_store_close(opened());
        const struct secret_key_source source = {.fd = -1, .credentials = directory};
        struct secret_store *store = NULL;
        write_whole(SECRET_KEY_CREDENTIAL, keys[0].key, keys[0].len);
        CHECK_INT(secret_store_open(directory, &source, &store, &err), 0);
        set_three(store);
        store = secret_store_close(store);
        CHECK_INT(access(in_directory(SECRET_KEY_FILE), F_OK), -1); /* no key file was needed */
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {   /* the same, written in other ways */
                write_whole(SECRET_KEY_CREDENTIAL, keys[i].key, keys[i].len);
                if (!keys[i].good) {
                        check_refused(&source, -EINVAL, "not contain a key");
                        continue;
                }
                CHECK_INT(secret_store_open(directory, &source, &store, &err), 0);
                check_value(store, "_x", "value number 3");
                store = secret_store_close(store);
        }
        /* As a descriptor, from a process that may read the file. */
        write_whole(SECRET_KEY_CREDENTIAL, keys[1].key, keys[1].len);
        const struct secret_key_source given = {
                .fd = open(in_directory(SECRET_KEY_CREDENTIAL), O_RDONLY | O_CLOEXEC)};
        for (int i = 0; i < 2; i++) {
                CHECK_INT(secret_store_open(directory, &given, &store, &err), 0);
                store = secret_store_close(store);
        }
        close(given.fd);
        CHECK_INT(unlink(in_directory(SECRET_KEY_CREDENTIAL)), 0);
        check_refused(&source, -EKEYREJECTED, "the key of the stored secrets is missing");
}

/* ---- several processes ---- */

TEST(a_second_process_cannot_open_the_store)
{
        struct secret_store *store = opened();
        int status = 0;
        set_three(store);
        pid_t child = fork();
        if (child == 0) {
                struct secret_store *mine = NULL;
                _exit(secret_store_open(directory, NULL, &mine, &err) == -EBUSY && err.hint[0] ? 0 : 1);
        }
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        secret_store_close(store);

        /* A killed process holds no lock. */
        int ready[2];
        char byte;
        CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
        child = fork();
        if (child == 0) {
                struct secret_store *mine = NULL;
                if (secret_store_open(directory, NULL, &mine, &err) == 0 && write(ready[1], "x", 1) == 1)
                        pause();
                _exit(1);
        }
        CHECK_INT(read(ready[0], &byte, 1), 1);
        check_refused(NULL, -EBUSY, "another process");
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        close(ready[0]);
        close(ready[1]);
        secret_store_close(opened());
}

/* Changes a secret in a child that is killed at its step-th stop at a system call.  Returns false if the
 * child finished first. */
static bool change_and_die(void (*change)(struct secret_store *), int step)
{
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
                struct secret_store *store = NULL;
                signal(SIGALRM, SIG_DFL);
                alarm(60);
                if (secret_store_open(directory, NULL, &store, &err) < 0 ||
                    ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
                        _exit(2);
                raise(SIGSTOP);
                change(store);
                _exit(0);
        }
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK(WIFSTOPPED(status));
        for (int i = 0; i < step && WIFSTOPPED(status); i++)
                if (ptrace(PTRACE_SYSCALL, child, 0, 0) < 0 || waitpid(child, &status, 0) != child)
                        break;
        if (WIFEXITED(status)) {
                CHECK_INT(WEXITSTATUS(status), 0);
                return false;
        }
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return true;
}

static void change_one(struct secret_store *store)
{
        secret_store_set(store, "API_KEY", "the new value", 13, NULL, &err);
}

static void remove_the_other(struct secret_store *store)
{
        secret_store_remove(store, "_x", &err);
}

static void set_the_first(struct secret_store *store)
{
        secret_store_set(store, "first", "the first value", 15, NULL, &err);
}

static void check_one_of(struct secret_store *store, const char *name, const char *one, const char *other,
                         unsigned *counts)
{
        struct secret *secret = NULL;
        int r = secret_store_get(store, name, &secret, &err);
        const char *is = r == 0 ? secret->value : "gone";
        CHECK(!strcmp(is, one) || !strcmp(is, other));
        counts[!strcmp(is, other)]++;
        secret_free(secret);
}

TEST(a_kill_at_any_step_leaves_the_old_or_the_new_store)
{
        static const struct {
                void (*change)(struct secret_store *);
                const char *name, *before, *after;
        } table[] = {
                {set_the_first, "first", "gone", "the first value"}, /* the key is made, too */
                {change_one, "API_KEY", "value number one", "the new value"},
                {remove_the_other, "_x", "value number 3", "gone"},
        };
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                unsigned counts[2] = {0, 0};
                int step = 0;
                for (bool killed = true; killed && step < 2000; step++) {
                        directory_remove();
                        directory_make();
                        struct secret_store *store = opened();
                        if (i > 0)
                                set_three(store);
                        secret_store_close(store);
                        killed = change_and_die(table[i].change, step);
                        store = opened();
                        check_one_of(store, table[i].name, table[i].before, table[i].after, counts);
                        if (i > 0)
                                check_value(store, "db.password-2", "value number two");
                        set(store, "later", "it still works");
                        secret_store_close(store);
                        store = opened();
                        check_value(store, "later", "it still works");
                        secret_store_close(store);
                }
                CHECK(step > 10 && step < 2000);
                CHECK(counts[0] > 4 && counts[1] > 1);
        }
}

TEST(a_failed_write_keeps_the_old_store)
{
        AUTO(secret_store_close) struct secret_store *store = opened();
        set_three(store);
        CHECK_INT(chmod(directory, 0500), 0);
        if (geteuid() == 0) { /* a mode does not stop root: a directory in place of the file does */
                CHECK_INT(chmod(directory, 0700), 0);
                CHECK_INT(mkdir(in_directory(SECRET_FILE ".new"), 0700), 0);
        }
        CHECK(secret_store_set(store, "API_KEY", "the new value", 13, NULL, &err) < 0);
        CHECK(strstr(err.msg, "cannot write") != NULL);
        check_value(store, "API_KEY", "value number one");
        CHECK(secret_store_set(store, "fourth", "the new value", 13, NULL, &err) < 0);
        CHECK(secret_store_remove(store, "_x", &err) < 0);
        CHECK_INT(secret_store_count(store), 3);
        CHECK_INT(chmod(directory, 0700), 0);
        rmdir(in_directory(SECRET_FILE ".new"));
        set(store, "API_KEY", "the new value");
        secret_store_close(store);
        store = opened();
        check_value(store, "API_KEY", "the new value");
}
