/* cli/client/cp.c -- `cella cp`: copies files and directories into a sandbox and out of it.
 *
 * A file is replaced atomically on both sides.  A directory is sent as a tar (tar.h).
 *
 * Data from a sandbox is hostile.  On the host, the path that the user typed is resolved normally.  The name
 * that is added to it, and everything below, is opened without following links. */
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
#include "cli/client/api.h"
#include "cli/client/tar.h"
#include "cli/new_file.h"
#include "sys/file.h"

#define BYTES_MAX_DEFAULT UINT64_C(1073741824)
#define ENTRIES_MAX_DEFAULT 100000

struct cp_options {
        const char *socket;
        uint64_t bytes_max, entries_max;
        bool keep_links;
};

static const struct cli_option options[] = {
        {"max-bytes", "SIZE", "copy at most this many bytes out of a sandbox (1G)",
         CLI_INTO(CLI_SIZE, struct cp_options, bytes_max)},
        {"max-entries", "N", "copy at most this many files, directories and links out of a sandbox (100000)",
         CLI_INTO(CLI_COUNT, struct cp_options, entries_max)},
        {"keep-links", NULL, "also copy symbolic links that lead out of the copied directory",
         CLI_INTO(CLI_FLAG, struct cp_options, keep_links)},
        API_SOCKET_OPTION(struct cp_options),
        CLI_QUIET_OPTION,
};

struct place {
        char sandbox[65]; /* "": this machine */
        char path[PATH_MAX];
};

struct copy {
        struct client *client;
        struct place from, to;
        const struct cp_options *options;
        struct tar_left_out left_out;
        char buffer[65536];
};

/* ---- names ---- */

/* names: the sandbox may be given by its name.  Otherwise NAME:PATH is a local file. */
static int take_place(const char *word, bool names, struct place *p, struct cella_err *err)
{
        const char *colon = strchr(word, ':');
        *p = (struct place){0};
        if (colon && (names || !strncmp(word, "sbx_", 4)) && (size_t)(colon - word) < sizeof p->sandbox) {
                snprintf(p->sandbox, sizeof p->sandbox, "%.*s", (int)(colon - word), word);
                if (names ? api_names_sandbox(p->sandbox) : api_is_sandbox(p->sandbox))
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

/* Returns the last part of a path without slashes; "" if it is not the name of an entry (/, ., ..). */
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

/* `to` is a directory: adds the name of `from` to it.  If `from` has no name (dir/.), only its content is
 * copied. */
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

/* ---- requests to the sandbox ---- */

enum kind { NOTHING, A_FILE, A_DIRECTORY };

/* Returns the kind of the entry, or -errno; *mode: its permissions.  Links are followed. */
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
                /* A link: the request for PATH/. succeeds only for a directory; anything else is read as a
                 * file. */
                if (r < 0 && (i == 1 || err->kind == CELLA_NOT_FOUND))
                        return i == 1 ? A_FILE : NOTHING;
                if (r < 0)
                        return r;
                const char *type = foreign_json_get_text(answer.root, "type");
                const char *digits = foreign_json_get_text(answer.root, "mode");
                int64_t number = 0;
                if (digits)
                        *mode = (unsigned)strtoul(digits, NULL, 8) & 0777;
                else if (foreign_json_get_integer(answer.root, "mode", &number))
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

/* Reads the answer; its body is not used. */
static int end_upload(struct copy *c, struct cella_err *err)
{
        struct head head;
        ssize_t n = client_answer(c->client, &head, err);
        while (n == 0 && (n = client_read(c->client, c->buffer, sizeof c->buffer, err)) > 0)
                n = 0;
        return (int)n;
}

/* ---- to the sandbox ---- */

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
                if (n == 0 && sized) /* a connection that is closed early changes nothing in the sandbox */
                        return err_say(err, CELLA_INTERNAL, -EIO,
                                       "'%.150s' became shorter while it was copied", c->from.path);
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
                r = tar_pack(fd, send_piece, c->client, &c->left_out.special, err);
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
                st.st_mode = S_IFIFO; /* also if it is a file: the rest of it has no known size */
        int kind = remote_kind(c, &c->to, &mode, err);
        if (kind < 0)
                return kind;
        if (standard && kind == A_DIRECTORY)
                return err_say(err, CELLA_INVALID_REQUEST, -EISDIR, "%s is a directory: name a file in it",
                               c->to.path);
        int r = 0;
        if (kind == A_DIRECTORY || (!directory && !standard && ends_in_slash(c->to.path)))
                r = go_inside(c, err);
        if (r < 0)
                return r;
        return directory ? send_directory(c, fd, err) : send_file(c, fd, &st, err);
}

/* ---- from the sandbox ---- */

static int too_large(const struct copy *c, struct cella_err *err)
{
        err_say(err, CELLA_TOO_LARGE, -EFBIG, "'%.100s' has more than %llu bytes", c->from.path,
                (unsigned long long)c->options->bytes_max);
        return err_hint(err, "raise the limit with --max-bytes");
}

/* Requests the file or directory; the caller reads the body. */
static int ask_for(struct copy *c, const char *what, const char *type, struct cella_err *err)
{
        struct url url;
        struct head head;
        int r = remote_url(&url, &c->from, what, err);
        if (r < 0)
                return r;
        const struct client_request request = {.method = "GET", .url = &url, .accept = type};
        r = client_send(c->client, &request, err);
        if (r < 0 || (r = client_answer(c->client, &head, err)) < 0)
                return r;
        return head.length != CLIENT_UNKNOWN && head.length > c->options->bytes_max ? too_large(c, err) : 0;
}

static int receive_into(struct copy *c, int fd, struct cella_err *err)
{
        uint64_t left = c->options->bytes_max;
        ssize_t n;
        while ((n = client_read(c->client, c->buffer, sizeof c->buffer, err)) > 0) {
                if ((uint64_t)n > left)
                        return too_large(c, err);
                left -= (uint64_t)n;
                int r = sys_write_all(fd, c->buffer, (size_t)n);
                if (r < 0)
                        return err_set(err, CELLA_INTERNAL, r, "cannot write '%.150s'", c->to.path);
        }
        return (int)n;
}

/* Opens the directory of the host for the copy, and sets the name of the copy in it ("": the content of a
 * directory is copied to this directory).  Only the path that the user typed is resolved here. */
static int open_target(struct copy *c, bool directory, char name[NAME_MAX + 1], struct cella_err *err)
{
        char *path = c->to.path, parent[PATH_MAX];
        int dir = sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
        if (dir >= 0) {
                last_part(c->from.path, name);
                int r = go_inside(c, err); /* for messages, and to find a path that is too long */
                if (r < 0)
                        sys_close(dir);
                return r < 0 ? r : dir;
        }
        if (!directory && ends_in_slash(path))
                return err_set(err, CELLA_INVALID_REQUEST, dir, "cannot write to '%.150s'", path);
        last_part(path, name);
        size_t len = strlen(path);
        while (len > 1 && path[len - 1] == '/')
                len--;
        while (len > 0 && path[len - 1] != '/')
                len--;
        snprintf(parent, sizeof parent, "%.*s", len ? (int)len : 1, len ? path : ".");
        if (name[0])
                dir = sys_openat(AT_FDCWD, parent, O_PATH | O_DIRECTORY, 0);
        return dir < 0 ? err_set(err, CELLA_INVALID_REQUEST, dir, "cannot write to '%.150s'", path) : dir;
}

/* Replaces a regular file, or a link to one (not its target).  Takes ownership of dir. */
static int receive_file(struct copy *c, int dir, const char *name, unsigned mode, struct cella_err *err)
{
        AUTO(new_file_done) struct new_file file = NEW_FILE_NONE;
        if (new_file_is_special(dir, name)) {
                sys_close(dir);
                err_say(err, CELLA_INVALID_REQUEST, -EEXIST,
                        "'%.150s' is not a regular file: nothing was written", c->to.path);
                return err_hint(err, "use - as DST to write to standard output");
        }
        int r = new_file_begin(&file, dir, name, mode);
        if (r < 0)
                return err_set(err, CELLA_INVALID_REQUEST, r, "cannot write '%.150s'", c->to.path);
        r = receive_into(c, file.fd, err);
        if (r == 0 && (r = new_file_commit(&file)) < 0)
                err_set(err, CELLA_INTERNAL, r, "cannot write '%.150s'", c->to.path);
        return r;
}

/* Opens the directory for the contents of the archive; creates it if it is missing. */
static int open_unpacked(struct copy *c, int parent, const char *name, struct cella_err *err)
{
        int r = name[0] ? sys_mkdirat(parent, name, 0755) : 0;
        int dir = sys_openat(parent, name[0] ? name : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        struct stat st;
        if (dir >= 0)
                return dir;
        if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
                err_say(err, CELLA_INVALID_REQUEST, -ELOOP, "'%.150s' is a symbolic link: not followed",
                        c->to.path);
                return err_hint(err, "name the target of the link instead, or remove the link");
        }
        return err_set(err, CELLA_INVALID_REQUEST, r < 0 && r != -EEXIST ? r : dir,
                       "cannot write to '%.150s'", c->to.path);
}

/* Takes ownership of parent. */
static int receive_directory(struct copy *c, int parent, const char *name, struct cella_err *err)
{
        const struct tar_unpack_options limits = {.bytes_max = c->options->bytes_max,
                                                  .entries_max = c->options->entries_max,
                                                  .keep_links = c->options->keep_links};
        AUTO(tar_unpack_free) struct tar_unpack *tar = NULL;
        AUTO(sys_close) int dir = open_unpacked(c, parent, name, err);
        sys_close(parent);
        int r = dir < 0 ? dir : tar_unpack_new(dir, &limits, &tar, err);
        if (r < 0)
                return r;
        ssize_t n;
        while ((n = client_read(c->client, c->buffer, sizeof c->buffer, err)) > 0)
                if ((r = tar_unpack_feed(tar, c->buffer, (size_t)n, err)) < 0)
                        return r;
        return n < 0 ? (int)n : tar_unpack_end(tar, &c->left_out, err);
}

static int copy_out(struct copy *c, struct cella_err *err)
{
        bool standard = !strcmp(c->to.path, "-");
        char name[NAME_MAX + 1] = "";
        unsigned mode = 0644;
        int kind = remote_kind(c, &c->from, &mode, err), r;
        if (kind <= 0)
                return kind < 0 ? kind : -ENOENT; /* *err is the error of the daemon */
        bool directory = kind == A_DIRECTORY;
        if (standard && directory)
                return err_say(err, CELLA_INVALID_REQUEST, -EISDIR, "%s is a directory", c->from.path);
        /* Before anything is created on the host, so that a refusal leaves nothing. */
        if ((r = ask_for(c, directory ? "/archive" : "/files", directory ? "application/x-tar" : "*/*",
                         err)) < 0)
                return r;
        if (standard)
                return receive_into(c, STDOUT_FILENO, err);
        int dir = open_target(c, directory, name, err);
        if (dir < 0)
                return dir;
        cli_on_signal(new_file_abandon);
        return directory ? receive_directory(c, dir, name, err) : receive_file(c, dir, name, mode, err);
}

static int report_left_out(const struct tar_left_out *left_out, struct cella_err *err)
{
        if (left_out->links > 0 && cli_may_note())
                fprintf(stderr,
                        "cella: left out %u symbolic link%s that lead%s out of the copied directory; "
                        "--keep-links copies such links too\n",
                        left_out->links, left_out->links == 1 ? "" : "s", left_out->links == 1 ? "s" : "");
        if (left_out->special == 0)
                return 0;
        return err_say(err, CELLA_INTERNAL, -ENOTSUP,
                       "%u entries were left out: only files, directories and symbolic links are copied",
                       left_out->special);
}

static int cp(const struct cli_command *self, int argc, char **argv, struct cp_options *o,
              struct cella_err *err)
{
        static struct copy c; /* large */
        AUTO(client_free) struct client *client = NULL;
        int r = cli_parse_all(self, argc, argv, o, NULL, err);
        if (r < 0 || (r = api_need_words(self, r, 2, 2, err)) < 0 ||
            (r = take_place(argv[1], false, &c.from, err)) < 0 ||
            (r = take_place(argv[2], false, &c.to, err)) < 0)
                return r;
        if (!c.from.sandbox[0] && !c.to.sandbox[0] &&
            ((r = take_place(argv[1], true, &c.from, err)) < 0 ||
             (r = take_place(argv[2], true, &c.to, err)) < 0))
                return r;
        if (!c.from.sandbox[0] == !c.to.sandbox[0]) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "exactly one of SRC and DST must be in a sandbox (SBX:PATH, by id or name)");
                return err_hint(err, "cella ls lists the sandboxes");
        }
        if ((r = client_new(o->socket, &client, err)) < 0)
                return r;
        c.client = client;
        c.options = o;
        r = c.to.sandbox[0] ? copy_in(&c, err) : copy_out(&c, err);
        return r < 0 ? r : report_left_out(&c.left_out, err);
}

static int cp_main(const struct cli_command *self, int argc, char **argv)
{
        struct cp_options o = {.bytes_max = BYTES_MAX_DEFAULT, .entries_max = ENTRIES_MAX_DEFAULT};
        struct cella_err err = {0};
        return cli_finish(cp(self, argc, argv, &o, &err), &err, false);
}

const struct cli_command cli_cp = {
        .name = "cp",
        .usage = "SRC DST (one of them SBX:PATH; -: standard input or output)",
        .text = "A path in a sandbox is absolute or below /workspace. If DST is an existing "
                "directory,\n"
                "SRC is copied into it; SRC/. means the contents of SRC. If SRC is a symbolic link, its "
                "target\nis copied.",
        .examples = "  cella cp ./data $SBX:\n"
                    "  cella cp $SBX:result.csv .\n"
                    "  cella cp $SBX:big.log - | less\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = cp_main,
};
