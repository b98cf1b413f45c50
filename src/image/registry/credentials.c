#include "image/registry/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/foreign_json.h"

#define FILE_MAX (1u << 20)
#define VALUES_MAX 20000

void credentials_done(struct credentials *credentials)
{
        explicit_bzero(credentials, sizeof *credentials);
}

int credentials_path(char *ret, size_t size)
{
        const char *directory = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
        int n;
        if (directory && directory[0])
                n = snprintf(ret, size, "%s/config.json", directory);
        else if (home && home[0])
                n = snprintf(ret, size, "%s/.docker/config.json", home);
        else
                return -ENOENT;
        return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- finding the entry ---- */

/* Keys are hosts, or URLs of which only the host is compared: https://index.docker.io/v1/. */
static bool is_for(const char *key, const char *registry)
{
        if (strncmp(key, "https://", 8) == 0)
                key += 8;
        else if (strncmp(key, "http://", 7) == 0)
                key += 7;
        size_t len = strcspn(key, "/");
        const char *rest = key + len;
        /* Any other path than the version of the protocol means that the entry is for a part of the registry
         * only. */
        if (rest[0] && strcmp(rest, "/") != 0 && strcmp(rest, "/v1/") != 0 && strcmp(rest, "/v2/") != 0 &&
            strcmp(rest, "/v1") != 0 && strcmp(rest, "/v2") != 0)
                return false;
        if (strcmp(registry, "docker.io") == 0 &&
            ((len == 15 && strncasecmp(key, "index.docker.io", 15) == 0) ||
             (len == 20 && strncasecmp(key, "registry-1.docker.io", 20) == 0)))
                return true;
        return len == strlen(registry) && strncasecmp(key, registry, len) == 0;
}

static const json_t *credentials_find(json_t *object, const char *registry)
{
        const char *key;
        json_t *value;
        json_object_foreach (object, key, value)
                if (is_for(key, registry))
                        return value;
        return NULL;
}

/* ---- reading the entry ---- */

/* Control characters would end a header's line. */
static bool credentials_take(const char *text, size_t len, char *ret, size_t size)
{
        if (len >= size)
                return false;
        for (size_t i = 0; i < len; i++)
                if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
                        return false;
        memcpy(ret, text, len);
        ret[len] = '\0';
        return true;
}

static bool take_string(const json_t *object, const char *name, char *ret, size_t size)
{
        const json_t *v = json_object_get(object, name);
        ret[0] = '\0';
        return !v || json_is_null(v) ||
               (json_is_string(v) &&
                credentials_take(json_string_value(v), json_string_length(v), ret, size));
}

/* Decodes base64 of NAME:PASSWORD; docker may append NULs. */
static bool take_auth(const json_t *auth, struct credentials *ret)
{
        char plain[CREDENTIALS_NAME_SIZE + CREDENTIALS_PASSWORD_SIZE];
        ssize_t n = base64_decode(json_string_value(auth), json_string_length(auth), plain, sizeof plain);
        bool good = false;
        while (n > 0 && plain[n - 1] == '\0')
                n--;
        char *colon = n > 0 ? memchr(plain, ':', (size_t)n) : NULL;
        if (colon)
                good = credentials_take(plain, (size_t)(colon - plain), ret->username,
                                        sizeof ret->username) &&
                       credentials_take(colon + 1, (size_t)(plain + n - colon - 1), ret->password,
                                        sizeof ret->password);
        explicit_bzero(plain, sizeof plain);
        return good;
}

/* Returns 1 if there are credentials, 0 if the entry is empty, or -EINVAL. */
static int take_entry(const json_t *entry, struct credentials *ret)
{
        const json_t *auth = json_object_get(entry, "auth");
        if (!take_string(entry, "identitytoken", ret->identitytoken, sizeof ret->identitytoken) ||
            !take_string(entry, "username", ret->username, sizeof ret->username) ||
            !take_string(entry, "password", ret->password, sizeof ret->password))
                return -EINVAL;
        if (json_string_length(auth) > 0 && !take_auth(auth, ret))
                return -EINVAL;
        return ret->identitytoken[0] || ret->username[0] ? 1 : 0;
}

static int read_document(const json_t *top, const char *registry, struct credentials *ret,
                         struct cella_err *err)
{
        const json_t *entry = credentials_find(json_object_get(top, "auths"), registry);
        const json_t *helper = credentials_find(json_object_get(top, "credHelpers"), registry);
        if (!helper && entry)
                helper = json_object_get(top, "credsStore");
        int r = entry ? take_entry(entry, ret) : 0;
        if (r < 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "docker's configuration for %.100s cannot be read", registry);
        if (r > 0 || json_string_length(helper) == 0)
                return r;
        return credentials_take(json_string_value(helper), json_string_length(helper), ret->helper,
                                sizeof ret->helper)
                       ? 1
                       : 0;
}

int credentials_parse(const char *text, size_t len, const char *registry, struct credentials *ret,
                      struct cella_err *err)
{
        AUTO(credentials_done) struct credentials found = {0};
        struct cella_err why = {0};
        AUTO(json_decref) json_t *top = foreign_json_parse(text, len, VALUES_MAX, 0, &why);
        if (!top)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "docker's configuration: %s", why.msg);
        int r = read_document(top, registry, &found, err);
        if (r > 0)
                *ret = found;
        return r;
}

/* Reads the whole file.  Returns its length. */
static ssize_t credentials_read_file(const char *path, char *text, size_t size)
{
        size_t len = 0;
        ssize_t n;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return -errno;
        while ((n = read(fd, text + len, size - len)) > 0 || (n < 0 && errno == EINTR))
                if (n > 0 && (len += (size_t)n) == size)
                        break;
        int failed = n < 0 ? -errno : len == size ? -EFBIG : 0;
        close(fd);
        return failed < 0 ? failed : (ssize_t)len;
}

int credentials_read(const char *path, const char *registry, struct credentials *ret, struct cella_err *err)
{
        char *text = malloc(FILE_MAX);
        int r;
        if (!text)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "reading docker's configuration");
        ssize_t len = credentials_read_file(path, text, FILE_MAX);
        if (len == -ENOENT || len == -ENOTDIR)
                r = 0;
        else if (len < 0)
                r = err_set(err, CELLA_INVALID_REQUEST, (int)len, "cannot read %.120s", path);
        else
                r = credentials_parse(text, (size_t)len, registry, ret, err);
        explicit_bzero(text, FILE_MAX);
        free(text);
        return r;
}
