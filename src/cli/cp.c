/* cli/cp.c -- `cella cp`: files and directories into a sandbox and out of it.
 *
 * A file is put in place whole or not at all, on both sides; a directory goes as a tar (tar.h). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/id.h"
#include "cli/api.h"
#include "cli/tar.h"
#include "sys/file.h"

struct cp_options {
        const char *socket;
};

static const struct cli_option options[] = {API_SOCKET_OPTION(struct cp_options)};

struct place {
        char sandbox[64]; /* "": here */
        char path[PATH_MAX];
};

struct copy {
        struct client *client;
        struct place from, to;
        unsigned skipped;
        char buffer[65536];
};

/* ---- names ---- */

static int take_place(const char *word, struct place *p, struct cella_err *err)
{
        const char *colon = strchr(word, ':');
        *p = (struct place){0};
        if (colon && !strncmp(word, "sbx_", 4) && (size_t)(colon - word) < sizeof p->sandbox) {
                snprintf(p->sandbox, sizeof p->sandbox, "%.*s", (int)(colon - word), word);
                if (api_is_sandbox(p->sandbox))
                        word = colon[1] ? colon + 1 : ".";
                else
                        p->sandbox[0] = '\0';
        }
        if (!*word || strlen(word) >= sizeof p->path)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG,
                               "a path may have 1 to %zu characters", sizeof p->path - 1);
        snprintf(p->path, sizeof p->path, "%s", word);
        return 0;
}

/* The last part of a path, without slashes; "" where it names no entry (/, ., ..). */
static void last_part(const char *path, char out[NAME_MAX + 1])
{
        size_t end = strlen(path), begin;
        while (end > 0 && path[end - 1] == '/')
                end--;
        for (begin = end; begin > 0 && path[begin - 1] != '/';)
                begin--;
        snprintf(out, NAME_MAX + 1, "%.*s", (int)(end - begin), path + begin);
        if (!strcmp(out, ".") || !strcmp(out, ".."))
                out[0] = '\0';
}

/* Into the directory to: under the name of from; its content only, if that has none (dir/.). */
static int go_inside(struct copy *c, struct cella_err *err)
{
        char name[NAME_MAX + 1];
        size_t len = strlen(c->to.path);
        last_part(c->from.path, name);
        if (!name[0])
                return 0;
        int n = snprintf(c->to.path + len, sizeof c->to.path - len, "%s%s",
                         c->to.path[len - 1] == '/' ? "" : "/", name);
        return (size_t)n < sizeof c->to.path - len
                       ? 0
                       : err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG, "the path is too long");
}

static bool ends_in_slash(const char *path)
{
        return path[strlen(path) - 1] == '/';
}

/* ---- the sandbox's side ---- */

enum kind { NOTHING, A_FILE, A_DIRECTORY };

/* What is there; *mode its permissions.  A link is what it points to. */
static int remote_kind(struct copy *c, const struct place *p, unsigned *mode, struct cella_err *err)
{
        AUTO(api_body_done) struct api_body body = {0};
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        char path[PATH_MAX + 4];
        int kind = NOTHING;
        for (int i = 0; i < 2; i++) {
                api_body_done(&body);
                api_answer_done(&answer);
                snprintf(path, sizeof path, "%s%s", p->path, i ? "/." : "");
                int r = api_body_begin(&body, err);
                if (r < 0)
                        return r;
                json_put_string(&body.j, "path", path);
                if ((r = api_body_end(&body, err)) < 0 ||
                    (r = api_sandbox_url(&url, p->sandbox, "/files/stat", err)) < 0)
                        return r;
                r = api_call(c->client, "POST", &url, &body, &answer, err);
                /* Of a link, what the second look says: a directory, or else a file to be read. */
                if (r < 0 && (i == 1 || err->kind == CELLA_NOT_FOUND))
                        return i == 1 ? A_FILE : NOTHING;
                if (r < 0)
                        return r;
                const char *type = json_get_string(answer.root, "type");
                const char *digits = json_get_string(answer.root, "mode");
                int64_t number = 0;
                if (digits)
                        *mode = (unsigned)strtoul(digits, NULL, 8) & 0777;
                else if (json_get_integer(answer.root, "mode", &number))
                        *mode = (unsigned)number & 0777;
                kind = type && !strcmp(type, "directory") ? A_DIRECTORY : A_FILE;
                if (!type || strcmp(type, "symlink") != 0)
                        break;
                *mode = 0644;
        }
        return kind;
}

static int remote_url(struct url *u, const struct place *p, const char *what, struct cella_err *err)
{
        int r = api_sandbox_url(u, p->sandbox, what, err);
        if (r == 0)
                url_add_query(u, "path", p->path);
        return r;
}

/* The answer's body is of no interest, but must come. */
static int end_upload(struct copy *c, struct cella_err *err)
{
        struct client_answer head;
        ssize_t n = client_answer(c->client, &head, err);
        while (n == 0 && (n = client_read(c->client, c->buffer, sizeof c->buffer, err)) > 0)
                n = 0;
        return (int)n;
}

/* ---- into the sandbox ---- */

static int send_file(struct copy *c, int fd, const struct stat *st, struct cella_err *err)
{
        struct url url;
        char mode[8];
        bool sized = S_ISREG(st->st_mode);
        int r = remote_url(&url, &c->to, "/files", err);
        if (r < 0)
                return r;
        snprintf(mode, sizeof mode, "%04o", (unsigned)st->st_mode & 0777);
        if (sized)
                url_add_query(&url, "mode", mode);
        const struct client_request request = {
                .method = "PUT",
                .url = &url,
                .type = "application/octet-stream",
                .writes = true,
                .writes_len = sized ? (uint64_t)st->st_size : CLIENT_UNKNOWN,
                .patient = true,
        };
        uint64_t left = request.writes_len;
        r = client_send(c->client, &request, err);
        while (r == 0 && left > 0) {
                ssize_t n =
                        sys_read(fd, c->buffer, left < sizeof c->buffer ? (size_t)left : sizeof c->buffer);
                if (n < 0)
                        return err_set(err, CELLA_INTERNAL, (int)n, "cannot read '%.150s'", c->from.path);
                if (n == 0 && sized) /* hanging up in the middle changes nothing in the sandbox */
                        return err_say(err, CELLA_INTERNAL, -EIO, "'%.150s' became shorter meanwhile",
                                       c->from.path);
                if (n == 0)
                        break;
                r = client_write(c->client, c->buffer, (size_t)n, err);
                if (sized)
                        left -= (uint64_t)n;
        }
        return r < 0 && r != -EPIPE ? r : end_upload(c, err);
}

static int send_piece(void *userdata, const char *data, size_t len, struct cella_err *err)
{
        return client_write(userdata, data, len, err);
}

static int send_directory(struct copy *c, int fd, struct cella_err *err)
{
        struct url url;
        int r = remote_url(&url, &c->to, "/archive", err);
        if (r < 0)
                return r;
        const struct client_request request = {
                .method = "PUT",
                .url = &url,
                .type = "application/x-tar",
                .writes = true,
                .writes_len = CLIENT_UNKNOWN,
                .patient = true,
        };
        r = client_send(c->client, &request, err);
        if (r == 0)
                r = tar_pack(fd, send_piece, c->client, &c->skipped, err);
        return r < 0 && r != -EPIPE ? r : end_upload(c, err);
}

static int copy_in(struct copy *c, struct cella_err *err)
{
        bool standard = !strcmp(c->from.path, "-");
        AUTO(sys_close) int opened = standard ? -1 : sys_openat(AT_FDCWD, c->from.path, O_RDONLY, 0);
        int fd = standard ? STDIN_FILENO : opened;
        struct stat st;
        unsigned mode = 0;
        if (fd < 0 || fstat(fd, &st) < 0)
                return err_set(err, CELLA_INVALID_REQUEST, fd < 0 ? fd : -errno, "cannot read '%.150s'",
                               c->from.path);
        bool directory = S_ISDIR(st.st_mode);
        if (standard)
                st.st_mode = S_IFIFO; /* also of a file: what is left of it is what there is */
        int kind = remote_kind(c, &c->to, &mode, err);
        if (kind < 0)
                return kind;
        if (standard && kind == A_DIRECTORY)
                return err_say(err, CELLA_INVALID_REQUEST, -EISDIR, "%s is a directory: say which file in it",
                               c->to.path);
        int r = 0;
        if (kind == A_DIRECTORY || (!directory && !standard && ends_in_slash(c->to.path)))
                r = go_inside(c, err);
        if (r < 0)
                return r;
        return directory ? send_directory(c, fd, err) : send_file(c, fd, &st, err);
}

/* ---- out of the sandbox ---- */

static char unfinished[PATH_MAX + 64]; /* a file that must not stay when we end */

static void remove_unfinished(void)
{
        if (unfinished[0])
                unlink(unfinished);
}

/* Asks for it; the body is to be read. */
static int ask_for(struct copy *c, const char *what, const char *type, struct cella_err *err)
{
        struct url url;
        struct client_answer head;
        int r = remote_url(&url, &c->from, what, err);
        if (r < 0)
                return r;
        const struct client_request request = {.method = "GET", .url = &url, .accept = type};
        r = client_send(c->client, &request, err);
        return r < 0 ? r : client_answer(c->client, &head, err);
}

static int receive_into(struct copy *c, int fd, struct cella_err *err)
{
        ssize_t n;
        while ((n = client_read(c->client, c->buffer, sizeof c->buffer, err)) > 0) {
                int r = sys_write_all(fd, c->buffer, (size_t)n);
                if (r < 0)
                        return err_set(err, CELLA_INTERNAL, r, "cannot write '%.150s'", c->to.path);
        }
        return (int)n;
}

/* Beside its place first, so that what is there stays until all has come. */
static int receive_file(struct copy *c, unsigned mode, struct cella_err *err)
{
        struct stat st;
        char id[ID_SIZE];
        bool exists = stat(c->to.path, &st) == 0;
        if (exists && !S_ISREG(st.st_mode)) {
                AUTO(sys_close) int device = sys_openat(AT_FDCWD, c->to.path, O_WRONLY, 0);
                return device < 0 ? err_set(err, CELLA_INVALID_REQUEST, device, "cannot write '%.150s'",
                                            c->to.path)
                                  : receive_into(c, device, err);
        }
        if (id_make(".cella_", id) < 0)
                return err_say(err, CELLA_INTERNAL, -EIO, "no random numbers");
        const char *slash = strrchr(c->to.path, '/');
        snprintf(unfinished, sizeof unfinished, "%.*s%s", slash ? (int)(slash - c->to.path) + 1 : 0,
                 c->to.path, id);
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, unfinished, O_WRONLY | O_CREAT | O_EXCL, mode);
        if (fd < 0) {
                unfinished[0] = '\0';
                return err_set(err, CELLA_INVALID_REQUEST, fd, "cannot write '%.150s'", c->to.path);
        }
        int r = receive_into(c, fd, err);
        if (r == 0 && rename(unfinished, c->to.path) < 0)
                r = err_set(err, CELLA_INTERNAL, -errno, "cannot write '%.150s'", c->to.path);
        if (r < 0)
                remove_unfinished();
        unfinished[0] = '\0';
        return r;
}

static int receive_directory(struct copy *c, struct cella_err *err)
{
        AUTO(tar_unpack_free) struct tar_unpack *tar = NULL;
        int r = sys_mkdirat(AT_FDCWD, c->to.path, 0755);
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, c->to.path, O_RDONLY | O_DIRECTORY, 0);
        if (dir < 0)
                return err_set(err, CELLA_INVALID_REQUEST, r < 0 && r != -EEXIST ? r : dir,
                               "cannot write to '%.150s'", c->to.path);
        if ((r = tar_unpack_new(dir, &tar, err)) < 0)
                return r;
        ssize_t n;
        while ((n = client_read(c->client, c->buffer, sizeof c->buffer, err)) > 0)
                if ((r = tar_unpack_feed(tar, c->buffer, (size_t)n, err)) < 0)
                        return r;
        return n < 0 ? (int)n : tar_unpack_end(tar, &c->skipped, err);
}

static int copy_out(struct copy *c, struct cella_err *err)
{
        bool standard = !strcmp(c->to.path, "-");
        struct stat st;
        unsigned mode = 0644;
        int kind = remote_kind(c, &c->from, &mode, err), r;
        if (kind <= 0)
                return kind < 0 ? kind : -ENOENT; /* in the daemon's words */
        bool directory = kind == A_DIRECTORY;
        if (standard && directory)
                return err_say(err, CELLA_INVALID_REQUEST, -EISDIR, "%s is a directory", c->from.path);
        /* Asked before anything is made here, so that a refusal leaves nothing. */
        if ((r = ask_for(c, directory ? "/archive" : "/files", directory ? "application/x-tar" : "*/*",
                         err)) < 0)
                return r;
        if (standard)
                return receive_into(c, STDOUT_FILENO, err);
        bool into = stat(c->to.path, &st) == 0 && S_ISDIR(st.st_mode);
        if ((into || (!directory && ends_in_slash(c->to.path))) && (r = go_inside(c, err)) < 0)
                return r;
        cli_on_signal(remove_unfinished);
        return directory ? receive_directory(c, err) : receive_file(c, mode, err);
}

static int cp(const struct cli_command *self, int argc, char **argv, struct cp_options *o,
              struct cella_err *err)
{
        static struct copy c; /* large */
        AUTO(client_free) struct client *client = NULL;
        int r = cli_parse_all(self, argc, argv, o, NULL, err);
        if (r < 0 || (r = api_need_words(self, r, 2, 2, err)) < 0 ||
            (r = take_place(argv[1], &c.from, err)) < 0 || (r = take_place(argv[2], &c.to, err)) < 0)
                return r;
        if (!c.from.sandbox[0] == !c.to.sandbox[0]) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "one of both must be in a sandbox (sbx_...:path), and only one");
                return err_hint(err, "cella ls lists the sandboxes");
        }
        if ((r = client_new(o->socket, &client, err)) < 0)
                return r;
        c.client = client;
        r = c.to.sandbox[0] ? copy_in(&c, err) : copy_out(&c, err);
        if (r == 0 && c.skipped > 0)
                return err_say(
                        err, CELLA_INTERNAL, -ENOTSUP,
                        "%u entries were left out: only files, directories and symbolic links are copied",
                        c.skipped);
        return r;
}

static int cp_main(const struct cli_command *self, int argc, char **argv)
{
        struct cp_options o = {0};
        struct cella_err err = {0};
        return cli_finish(cp(self, argc, argv, &o, &err), &err, false);
}

const struct cli_command cli_cp = {
        .name = "cp",
        .usage = "SRC DST (one of them SBX:PATH; -: standard input or output)",
        .summary = "copy a file or directory into a sandbox or out of it",
        .text = "A path in a sandbox is absolute or below /workspace. A directory that exists gets SRC into "
                "it;\n"
                "SRC/. stands for what is in SRC.",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = cp_main,
};
