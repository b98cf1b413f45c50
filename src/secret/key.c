#include "secret/key.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/file.h"

#define NEW_FILE SECRET_KEY_FILE ".new"
#define TEXT_MAX 256
#define HEX_LEN ((size_t)SECRET_KEY_SIZE * 2)
#define BASE64_LEN_ 44

static struct secret_key *key_new(const char *where)
{
        struct secret_key *key = sodium_malloc(sizeof *key);
        if (!key)
                return NULL;
        sodium_memzero(key, sizeof *key);
        snprintf(key->where, sizeof key->where, "%s", where);
        return key;
}

struct secret_key *secret_key_free(struct secret_key *key)
{
        sodium_free(key); /* wipes it */
        return NULL;
}

/* ---- reading ---- */

static bool secret_key_decode(const char *text, size_t len, unsigned char ret[SECRET_KEY_SIZE])
{
        size_t got = 0;
        if (len == SECRET_KEY_SIZE) {
                memcpy(ret, text, SECRET_KEY_SIZE);
                return true;
        }
        while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
                len--;
        if (len == HEX_LEN)
                return sodium_hex2bin(ret, SECRET_KEY_SIZE, text, len, NULL, &got, NULL) == 0 &&
                       got == SECRET_KEY_SIZE;
        return len == BASE64_LEN_ &&
               sodium_base642bin(ret, SECRET_KEY_SIZE, text, len, NULL, &got, NULL,
                                 sodium_base64_VARIANT_ORIGINAL) == 0 &&
               got == SECRET_KEY_SIZE;
}

/* Reads from offset 0, regardless of the current file offset. */
static ssize_t read_text(int fd, char text[TEXT_MAX])
{
        size_t len = 0;
        while (len < TEXT_MAX) {
                ssize_t n = pread(fd, text + len, TEXT_MAX - len, (off_t)len);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                len += (size_t)n;
        }
        return (ssize_t)len;
}

static int read_key(int fd, const char *where, struct secret_key **ret, struct cella_err *err)
{
        AUTO(secret_key_free) struct secret_key *key = key_new(where);
        char text[TEXT_MAX];
        if (!key)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read the key of the secrets");
        ssize_t len = read_text(fd, text);
        bool good = len > 0 && secret_key_decode(text, (size_t)len, key->bytes);
        sodium_memzero(text, sizeof text);
        if (len < 0)
                return err_set(err, CELLA_INTERNAL, (int)len, "cannot read %.150s", where);
        if (!good || sodium_is_zero(key->bytes, SECRET_KEY_SIZE)) {
                err_say(err, CELLA_INTERNAL, -EINVAL, "%.150s does not contain a key", where);
                return err_hint(err, "it must have 64 hex digits, as 'openssl rand -hex 32' prints them; if "
                                     "there are secrets already, restore the previous key");
        }
        *ret = TAKE(key);
        return 0;
}

/* Refuses a key file that others could have read or written. */
static int check_file(int fd, struct cella_err *err)
{
        struct stat st;
        if (fstat(fd, &st) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot examine %s", SECRET_KEY_FILE);
        if (!S_ISREG(st.st_mode))
                return err_say(err, CELLA_INTERNAL, -EINVAL, "%s is not a file", SECRET_KEY_FILE);
        if (st.st_uid != geteuid()) {
                err_say(err, CELLA_INTERNAL, -EPERM, "%s belongs to uid %u, not to uid %u", SECRET_KEY_FILE,
                        (unsigned)st.st_uid, (unsigned)geteuid());
                return err_hint(err, "if it is the right key, use chown %u on it in the state directory",
                                (unsigned)geteuid());
        }
        if (st.st_mode & 0177) {
                err_say(err, CELLA_INTERNAL, -EPERM, "%s has mode %04o: others may have read it",
                        SECRET_KEY_FILE, (unsigned)st.st_mode & 07777);
                return err_hint(err, "if they have not, use chmod 600 on it in the state directory; "
                                     "otherwise remove it and the file 'secrets', and set new secrets");
        }
        return 0;
}

static int secret_key_read_file(int directory, struct secret_key **ret, struct cella_err *err)
{
        AUTO(sys_close)
        int fd = sys_openat(directory, SECRET_KEY_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        if (fd == -ENOENT)
                return fd;
        if (fd == -ELOOP)
                return err_say(err, CELLA_INTERNAL, fd, "%s is a symbolic link", SECRET_KEY_FILE);
        if (fd < 0)
                return err_set(err, CELLA_INTERNAL, fd, "cannot open %s", SECRET_KEY_FILE);
        int r = check_file(fd, err);
        return r < 0 ? r : read_key(fd, SECRET_KEY_FILE " in the state directory", ret, err);
}

int secret_key_read(int directory, const struct secret_key_source *source, struct secret_key **ret,
                    struct cella_err *err)
{
        char path[PATH_MAX];
        if (source && source->fd >= 0)
                return read_key(source->fd, "the credential " SECRET_KEY_CREDENTIAL, ret, err);
        if (!source || !source->credentials)
                return secret_key_read_file(directory, ret, err);
        if (snprintf(path, sizeof path, "%s/%s", source->credentials, SECRET_KEY_CREDENTIAL) >=
            (int)sizeof path)
                return err_set(err, CELLA_INTERNAL, -ENAMETOOLONG,
                               "the path of the credentials directory is too long");
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
        if (fd == -ENOENT)
                return secret_key_read_file(directory, ret, err);
        if (fd < 0)
                return err_set(err, CELLA_INTERNAL, fd, "cannot open %.150s", path);
        return read_key(fd, "the credential " SECRET_KEY_CREDENTIAL, ret, err);
}

/* ---- creating ---- */

static int write_key(int directory, const struct secret_key *key)
{
        char text[HEX_LEN + 2];
        sys_unlinkat(directory, NEW_FILE, 0); /* left over from a process that was killed */
        AUTO(sys_close)
        int fd = sys_openat(directory, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd < 0)
                return fd;
        sodium_bin2hex(text, sizeof text, key->bytes, SECRET_KEY_SIZE);
        text[HEX_LEN] = '\n';
        int r = sys_write_all(fd, text, HEX_LEN + 1);
        sodium_memzero(text, sizeof text);
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        /* Only a complete file gets the name, and it never replaces an existing one. */
        if (r == 0 && renameat2(directory, NEW_FILE, directory, SECRET_KEY_FILE, RENAME_NOREPLACE) < 0)
                r = -errno;
        if (r == 0 && fsync(directory) < 0)
                r = -errno;
        return r;
}

int secret_key_make(int directory, struct secret_key **ret, struct cella_err *err)
{
        AUTO(secret_key_free) struct secret_key *key = key_new(SECRET_KEY_FILE " in the state directory");
        if (!key)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot create a key");
        randombytes_buf(key->bytes, SECRET_KEY_SIZE);
        int r = write_key(directory, key);
        if (r < 0) {
                sys_unlinkat(directory, NEW_FILE, 0);
                return err_set(err, CELLA_INTERNAL, r, "cannot write %s", SECRET_KEY_FILE);
        }
        *ret = TAKE(key);
        return 0;
}
