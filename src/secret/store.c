#include "secret/store.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "secret/mask.h"
#include "secret/seal.h"
#include "sys/file.h"

#define NEW_FILE SECRET_FILE ".new"
#define LOCK_FILE SECRET_FILE ".lock"
#define LOCK_TRIES 10 /* of 20 ms each: a process that was killed may hold it slightly longer */

struct secret_store {
        int directory, lock;
        struct seal *seal; /* NULL: there is no key yet, so there are no entries */
        struct seal_entry **entries;
        size_t n;
};

/* ---- opening ---- */

static int take_lock(struct secret_store *s, struct cella_err *err)
{
        s->lock = sys_openat(s->directory, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (s->lock < 0)
                return err_set(err, CELLA_INTERNAL, s->lock, "cannot open %s", LOCK_FILE);
        int r = sys_flock(s->lock, LOCK_EX | LOCK_NB);
        for (int i = 0; i < LOCK_TRIES && r == -EWOULDBLOCK; i++) {
                nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
                r = sys_flock(s->lock, LOCK_EX | LOCK_NB);
        }
        if (r == -EWOULDBLOCK) {
                err_say(err, CELLA_INTERNAL, -EBUSY, "another process has the secrets open");
                return err_hint(err, "only one daemon can use a state directory");
        }
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot lock %s", LOCK_FILE) : 0;
}

static int secret_store_read_all(int fd, unsigned char *data, size_t len)
{
        while (len > 0) {
                ssize_t n = sys_read(fd, data, len);
                if (n <= 0)
                        return n < 0 ? (int)n : -EIO; /* the file became shorter */
                data += n;
                len -= (size_t)n;
        }
        return 0;
}

/* Reads the whole file; the caller frees *ret.  Returns -ENOENT without setting *err. */
static int secret_store_read_file(const struct secret_store *s, unsigned char **ret, size_t *ret_len,
                                  struct cella_err *err)
{
        struct stat st;
        AUTO(sys_close) int fd = sys_openat(s->directory, SECRET_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        if (fd == -ENOENT)
                return fd;
        if (fd < 0 || fstat(fd, &st) < 0)
                return err_set(err, CELLA_INTERNAL, fd < 0 ? fd : -errno, "cannot open the file '%s'",
                               SECRET_FILE);
        if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > seal_file_max())
                return err_say(err, CELLA_INTERNAL, -EBADMSG,
                               "'%s' in the state directory is not a secrets file", SECRET_FILE);
        unsigned char *data = malloc((size_t)st.st_size + 1);
        int r = data ? secret_store_read_all(fd, data, (size_t)st.st_size) : -ENOMEM;
        if (r < 0) {
                free(data);
                return err_set(err, CELLA_INTERNAL, r, "cannot read the file '%s'", SECRET_FILE);
        }
        *ret = data;
        *ret_len = (size_t)st.st_size;
        return 0;
}

static int use_key(struct secret_store *s, const struct secret_key *key, struct cella_err *err)
{
        return seal_new(key, &s->seal) < 0 ? err_set(err, CELLA_INTERNAL, -ENOMEM, "secrets") : 0;
}

static int secret_store_load(struct secret_store *s, const struct secret_key_source *source,
                             struct cella_err *err)
{
        AUTO(secret_key_free) struct secret_key *key = NULL;
        unsigned char *data = NULL;
        size_t len = 0;
        int read = secret_store_read_file(s, &data, &len, err);
        if (read < 0 && read != -ENOENT)
                return read;
        int r = secret_key_read(s->directory, source, &key, err);
        if (r == -ENOENT && !key && read == 0) { /* never create a new key: existing secrets would be lost */
                err_say(err, CELLA_INTERNAL, -EKEYREJECTED, "the key of the stored secrets is missing");
                err_hint(err,
                         "restore %s in the state directory (or the credential %s); or move '%s' away and "
                         "set the secrets again",
                         SECRET_KEY_FILE, SECRET_KEY_CREDENTIAL, SECRET_FILE);
                r = -EKEYREJECTED;
        } else if (r == -ENOENT && !key) {
                r = 0;
        } else if (r == 0) {
                r = use_key(s, key, err);
        }
        if (r == 0 && read == 0)
                r = seal_read(s->seal, data, len, &s->entries, &s->n, err);
        free(data);
        return r;
}

int secret_store_open(const char *directory, const struct secret_key_source *source,
                      struct secret_store **ret, struct cella_err *err)
{
        AUTO(secret_store_close) struct secret_store *s = NULL;
        if (sodium_init() < 0)
                return err_say(err, CELLA_INTERNAL, -EIO, "libsodium cannot start");
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0)
                return err_set(err, CELLA_INTERNAL, fd, "cannot open %.150s", directory);
        s = calloc(1, sizeof *s);
        if (!s)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "secrets");
        s->lock = -1;
        s->directory = TAKE_FD(fd);
        int r = take_lock(s, err);
        if (r == 0)
                r = secret_store_load(s, source, err);
        if (r < 0)
                return r;
        *ret = TAKE(s);
        return 0;
}

struct secret_store *secret_store_close(struct secret_store *s)
{
        if (!s)
                return NULL;
        for (size_t i = 0; i < s->n; i++)
                free(s->entries[i]);
        free(s->entries);
        seal_free(s->seal);
        sys_close(s->lock);
        sys_close(s->directory);
        free(s);
        return NULL;
}

/* ---- writing ---- */

static int replace_file(const struct secret_store *s, const unsigned char *data, size_t len)
{
        sys_unlinkat(s->directory, NEW_FILE, 0); /* left over from a process that was killed */
        AUTO(sys_close)
        int fd = sys_openat(s->directory, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        int r = fd < 0 ? fd : sys_write_all(fd, data, len);
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        if (r == 0 && renameat(s->directory, NEW_FILE, s->directory, SECRET_FILE) < 0)
                r = -errno;
        if (r < 0)
                sys_unlinkat(s->directory, NEW_FILE, 0);
        return r;
}

/* Writes these entries; the store owns them afterwards.  *taken is true even if only the last step has
 * failed: the entries in memory are always those in the file. */
static int secret_store_commit(struct secret_store *s, struct seal_entry **entries, size_t n, bool *taken,
                               struct cella_err *err)
{
        unsigned char *data = NULL;
        size_t len = 0;
        int r = seal_write(s->seal, entries, n, &data, &len);
        if (r == 0)
                r = replace_file(s, data, len);
        free(data);
        *taken = r == 0;
        if (r == 0) {
                free(s->entries);
                s->entries = entries;
                s->n = n;
                if (fsync(s->directory) < 0)
                        r = -errno;
        }
        if (r == 0)
                return 0;
        err_set(err, CELLA_INTERNAL, r, "cannot write the file '%s'", SECRET_FILE);
        if (r == -ENOSPC || r == -EDQUOT)
                err_hint(err, "free space on the disk of the state directory");
        return r;
}

/* Returns the index of the name, or where it would be inserted. */
static size_t secret_store_find(const struct secret_store *s, const char *name, bool *ret_there)
{
        size_t low = 0, high = s->n;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (strcmp(s->entries[middle]->about.name, name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        *ret_there = low < s->n && !strcmp(s->entries[low]->about.name, name);
        return low;
}

static int secret_store_check_name(const char *name, struct cella_err *err)
{
        if (secret_name_valid(name, strlen(name)))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "'%.80s' cannot be the name of a secret", name);
        return err_hint(err, "a name is %s", SECRET_NAME_RULE);
}

int secret_value_check(const char *value, size_t len, struct cella_err *err)
{
        size_t from;
        _Static_assert(SECRET_VALUE_MIN >= MASK_VALUE_MIN && SECRET_VALUE_MAX <= MASK_VALUE_MAX,
                       "or it shows");
        if (len > SECRET_VALUE_MAX)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG,
                               "the value of a secret must have at most %d bytes", SECRET_VALUE_MAX);
        if (memchr(value, '\0', len)) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "the value of a secret must not contain a NUL");
                return err_hint(err, "it becomes an environment variable; use base64 for binary data");
        }
        if (mask_trim(value, len, &from) < SECRET_VALUE_MIN) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "the value of a secret must have at least %d bytes, without white space around it",
                        SECRET_VALUE_MIN);
                return err_hint(err,
                                "a shorter value cannot be masked in output: it would occur in any text");
        }
        return 0;
}

static int ensure_key(struct secret_store *s, struct cella_err *err)
{
        AUTO(secret_key_free) struct secret_key *key = NULL;
        if (s->seal)
                return 0;
        int r = secret_key_make(s->directory, &key, err);
        return r < 0 ? r : use_key(s, key, err);
}

static int64_t now_ms(void)
{
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns a copy of the list in which entry replaces the one at this index or is inserted before it. */
static struct seal_entry **list_with(const struct secret_store *s, struct seal_entry *entry, size_t at,
                                     bool there)
{
        struct seal_entry **list = malloc((s->n + 1) * sizeof(struct seal_entry *));
        if (!list)
                return NULL;
        for (size_t i = 0; i < at; i++)
                list[i] = s->entries[i];
        list[at] = entry;
        for (size_t i = at + there; i < s->n; i++)
                list[i + !there] = s->entries[i];
        return list;
}

int secret_store_set(struct secret_store *s, const char *name, const char *value, size_t len, bool *ret_made,
                     struct cella_err *err)
{
        struct seal_entry *entry = NULL, *old, **list;
        struct secret_about about = {.changed_ms = now_ms()};
        bool there, taken = false;
        int r = secret_store_check_name(name, err);
        if (r == 0)
                r = secret_value_check(value, len, err);
        if (r == 0)
                r = ensure_key(s, err);
        if (r < 0)
                return r;
        size_t at = secret_store_find(s, name, &there);
        if (!there && s->n >= SECRETS_MAX)
                return err_say(err, CELLA_OVER_CAPACITY, -ENOSPC, "there are already %d secrets, the maximum",
                               SECRETS_MAX);
        old = there ? s->entries[at] : NULL;
        memcpy(about.name, name, strlen(name));
        about.created_ms = old ? old->about.created_ms : about.changed_ms;
        r = seal_close(s->seal, &about, value, len, &entry);
        list = r == 0 ? list_with(s, entry, at, there) : NULL;
        if (!list) {
                free(entry);
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "secret");
        }
        r = secret_store_commit(s, list, s->n + !there, &taken, err);
        if (!taken)
                free(list);
        free(taken ? old : entry);
        if (r == 0 && ret_made)
                *ret_made = !there;
        return r;
}

static int secret_store_not_found(const char *name, struct cella_err *err)
{
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "no secret '%.80s'", name);
        return err_hint(err, "'cella secret ls' lists the secrets");
}

int secret_store_remove(struct secret_store *s, const char *name, struct cella_err *err)
{
        bool there, taken = false;
        size_t at = secret_store_find(s, name, &there);
        if (!there)
                return secret_store_not_found(name, err);
        struct seal_entry *old = s->entries[at], **list = malloc(s->n * sizeof(struct seal_entry *));
        if (!list)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "secret");
        memcpy(list, s->entries, at * sizeof(struct seal_entry *));
        memcpy(list + at, s->entries + at + 1, (s->n - at - 1) * sizeof(struct seal_entry *));
        int r = secret_store_commit(s, list, s->n - 1, &taken, err);
        free(taken ? (void *)old : (void *)list);
        return r;
}

/* ---- reading ---- */

int secret_store_get(struct secret_store *s, const char *name, struct secret **ret, struct cella_err *err)
{
        bool there;
        size_t at = secret_store_find(s, name, &there);
        if (!there)
                return secret_store_not_found(name, err);
        const struct seal_entry *entry = s->entries[at];
        /* Guarded memory ends at a page boundary: it is only aligned if the size is a multiple of the word
         * size. */
        size_t size = (sizeof(struct secret) + entry->len + sizeof(size_t)) / sizeof(size_t) * sizeof(size_t);
        struct secret *secret = sodium_malloc(size);
        if (!secret)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "secret");
        secret->len = entry->len;
        secret->value[entry->len] = '\0';
        if (seal_open(s->seal, entry, secret->value) < 0) {
                secret_free(secret);
                return err_say(err, CELLA_INTERNAL, -EBADMSG, "the secret '%.64s' cannot be decrypted", name);
        }
        *ret = secret;
        return 0;
}

struct secret *secret_free(struct secret *secret)
{
        sodium_free(secret);
        return NULL;
}

size_t secret_store_count(const struct secret_store *s)
{
        return s->n;
}

const struct secret_about *secret_store_about(const struct secret_store *s, size_t i)
{
        return i < s->n ? &s->entries[i]->about : NULL;
}
