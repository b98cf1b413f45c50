#include "keeper/process/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/parse.h"
#include "sys/file.h"

#define TRIES 15 /* of 20 ms: the server of a killed daemon may still be exiting */

union address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
};

static int parse(const char *text, union address *ret, socklen_t *ret_len, struct cella_err *err)
{
        char host[64] = "";
        const char *colon = strrchr(text, ':');
        uint64_t port = 0;
        size_t len = colon ? (size_t)(colon - text) : 0;
        bool v6 = len > 2 && text[0] == '[' && text[len - 1] == ']', good = false;
        memset(ret, 0, sizeof *ret);
        if (len > 0 && len < sizeof host && parse_count(colon + 1, &port) == 0 && port <= 65535) {
                memcpy(host, text + v6, len - (v6 ? 2 : 0));
                good = inet_pton(v6 ? AF_INET6 : AF_INET, host,
                                 v6 ? (void *)&ret->v6.sin6_addr : (void *)&ret->v4.sin_addr) == 1;
        }
        if (!good) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--listen takes ADDRESS:PORT, not '%.60s'",
                        text);
                return err_hint(err, "127.0.0.1:7070, [::1]:7070, or none");
        }
        if (v6) {
                ret->v6.sin6_family = AF_INET6;
                ret->v6.sin6_port = htons((uint16_t)port);
        } else {
                ret->v4.sin_family = AF_INET;
                ret->v4.sin_port = htons((uint16_t)port);
        }
        *ret_len = v6 ? sizeof ret->v6 : sizeof ret->v4;
        return 0;
}

int listen_tcp(const char *text, struct cella_err *err)
{
        union address address;
        socklen_t len = 0;
        const int on = 1;
        int r = parse(text, &address, &len, err);
        if (r < 0)
                return r;
        AUTO(sys_close)
        int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot listen on %.60s", text);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (address.any.sa_family == AF_INET6)
                setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        for (int i = 0; i < TRIES; i++) {
                r = bind(fd, &address.any, len) < 0 || listen(fd, SOMAXCONN) < 0 ? -errno : 0;
                if (r != -EADDRINUSE)
                        break;
                usleep(20000);
        }
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot listen on %.60s", text) : TAKE_FD(fd);
}

/* Makes the directory of a socket, given the path of the socket. */
static int make_directory(const char *path, struct cella_err *err)
{
        char directory[sizeof((struct sockaddr_un *)NULL)->sun_path];
        struct stat st;
        snprintf(directory, sizeof directory, "%s", path);
        char *slash = strrchr(directory, '/');
        if (!slash || slash == directory)
                return 0;
        *slash = '\0';
        if (mkdir(directory, 0755) == 0)
                return 0;
        const int why = -errno;
        if (stat(directory, &st) < 0) {
                err_set(err, CELLA_INVALID_REQUEST, why, "cannot make the socket's directory %.100s",
                        directory);
                err_hint(err, "name another path with --socket");
                return why;
        }
        /* The owner of the directory could replace our socket. */
        if (st.st_uid != 0 && st.st_uid != geteuid())
                return err_say(err, CELLA_INVALID_REQUEST, -EPERM,
                               "the socket's directory %.100s belongs to uid %u", directory,
                               (unsigned)st.st_uid);
        return 0;
}

static bool is_alive(const union address *address)
{
        AUTO(sys_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return fd < 0 || connect(fd, &address->any, sizeof address->local) == 0 || errno != ECONNREFUSED;
}

/* Removes a socket on which no process listens. */
static int remove_stale(const union address *address, struct cella_err *err)
{
        const char *path = address->local.sun_path;
        struct stat st;
        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0
                                       : err_set(err, CELLA_INVALID_REQUEST, -errno, "socket %.100s", path);
        if (!S_ISSOCK(st.st_mode))
                return err_say(err, CELLA_INVALID_REQUEST, -EEXIST, "%.100s exists and is not a socket",
                               path);
        for (int i = 0; is_alive(address); i++) {
                if (i == TRIES)
                        return err_say(err, CELLA_INTERNAL, -EADDRINUSE, "another process listens on %.100s",
                                       path);
                usleep(20000);
        }
        return unlink(path) < 0 ? err_set(err, CELLA_INTERNAL, -errno, "cannot replace %.100s", path) : 0;
}

static int fill_path(const char *path, union address *ret, struct cella_err *err)
{
        *ret = (union address){.local = {.sun_family = AF_UNIX}};
        if (path[0] != '/' || strlen(path) >= sizeof ret->local.sun_path)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--socket takes an absolute path of at most %d characters, not '%.120s'",
                               (int)sizeof ret->local.sun_path - 1, path);
        memcpy(ret->local.sun_path, path, strlen(path) + 1);
        return 0;
}

int listen_check(const char *tcp, const char *path, struct cella_err *err)
{
        union address address;
        socklen_t len;
        if (!tcp && !path)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "with neither --listen nor --socket there is nothing to serve on");
        int r = tcp ? parse(tcp, &address, &len, err) : 0;
        return r < 0 || !path ? r : fill_path(path, &address, err);
}

int listen_unix(const char *path, struct cella_err *err)
{
        union address address;
        int r = fill_path(path, &address, err);
        if (r == 0)
                r = make_directory(path, err);
        if (r == 0)
                r = remove_stale(&address, err);
        if (r < 0)
                return r;
        AUTO(sys_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot create a socket");
        mode_t mask = umask(0111); /* mode 0666 from the start */
        r = bind(fd, &address.any, sizeof address.local) < 0 || listen(fd, SOMAXCONN) < 0 ? -errno : 0;
        umask(mask);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot listen on %.100s", path) : TAKE_FD(fd);
}
