#include "cli/run/out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/new_file.h"
#include "sys/file.h"

#define OUT_BYTES_MAX UINT64_C(1073741824) /* of all files, as in `cella cp` */
#define DEPTH_MAX 100

struct out {
        struct new_file file;
        uint64_t left; /* bytes that may still be written */
        struct cella_err *err;
};

int out_open(const char *dir, struct cella_err *err)
{
        int r = sys_mkdirat(AT_FDCWD, dir, 0777);
        if (r == 0 || r == -EEXIST)
                r = sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
        return r < 0 ? err_set(err, CELLA_INVALID_REQUEST, r, "--out '%.150s'", dir) : r;
}

/* Opens the directory of the file below dir and creates missing ones.  *ret_leaf is the last part of path,
 * which this modifies. */
static int out_open_parent(int dir, char *path, const char **ret_leaf)
{
        unsigned depth = 0;
        int at = sys_openat(dir, ".", O_PATH | O_DIRECTORY, 0);
        for (char *part = path, *next; at >= 0; part = next) {
                next = strchr(part, '/');
                if (next)
                        *next++ = '\0';
                if (!*part || !strcmp(part, ".") || !strcmp(part, "..") || strlen(part) > NAME_MAX ||
                    ++depth > DEPTH_MAX) {
                        sys_close(at);
                        return -EPERM;
                }
                if (!next) {
                        *ret_leaf = part;
                        return at;
                }
                int r = sys_mkdirat(at, part, 0777);
                int below = r < 0 && r != -EEXIST
                                    ? r
                                    : sys_openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
                sys_close(at);
                at = below;
        }
        return at;
}

static int out_write(void *userdata, const char *data, size_t len)
{
        struct out *out = userdata;
        if (len > out->left) {
                err_say(out->err, CELLA_TOO_LARGE, -EFBIG, "--out copies at most %llu bytes",
                        (unsigned long long)OUT_BYTES_MAX);
                return -EFBIG;
        }
        out->left -= len;
        int r = sys_write_all(out->file.fd, data, len);
        return r < 0 ? err_set(out->err, CELLA_INTERNAL, r, "--out: cannot write '%.100s'", out->file.name)
                     : 0;
}

/* Returns 1 if the entry is not a regular file, which is left out. */
static int out_copy_file(struct out *out, int dir, struct cella_sandbox *sandbox, const char *name)
{
        char path[PATH_MAX];
        const char *leaf = "";
        unsigned mode = 0;
        int r = cella_file_mode(sandbox, name, &mode, out->err);
        if (r < 0 || !S_ISREG(mode))
                return r < 0 ? r : 1;
        if ((size_t)snprintf(path, sizeof path, "%s", name) >= sizeof path)
                return err_say(out->err, CELLA_INTERNAL, -ENAMETOOLONG, "--out: a name is too long");
        r = out_open_parent(dir, path, &leaf);
        if (r >= 0)
                r = new_file_begin(&out->file, r, leaf, mode & 0100 ? 0777 : 0666); /* takes the directory */
        if (r < 0)
                return err_set(out->err, CELLA_INTERNAL, r, "--out: cannot write '%.100s'", name);
        r = cella_file_read(sandbox, name, out_write, out, out->err);
        if (r == 0 && (r = new_file_commit(&out->file)) < 0)
                err_set(out->err, CELLA_INTERNAL, r, "--out: cannot write '%.100s'", name);
        new_file_done(&out->file);
        return r;
}

static bool is_cancelled(const struct run_options *o)
{
        struct pollfd fd = {o->command.cancel_fd, POLLIN, 0};
        return poll(&fd, 1, 0) == 1;
}

int out_copy(const struct run_options *o, int dir, struct cella_sandbox *sandbox,
             const struct cella_result *result, struct cella_err *err)
{
        struct out out = {.file = NEW_FILE_NONE, .left = OUT_BYTES_MAX, .err = err};
        size_t left_out = 0;
        for (size_t i = 0; i < result->n_files; i++) {
                int r = is_cancelled(o) ? err_say(err, CELLA_INTERNAL, -EINTR, "--out: interrupted")
                                        : out_copy_file(&out, dir, sandbox, result->files[i].path);
                if (r < 0)
                        return r;
                left_out += r == 1;
        }
        if (left_out > 0 && cli_may_note())
                fprintf(stderr, "cella: --out: left out %zu that are not regular files\n", left_out);
        if (!result->files_truncated)
                return 0;
        return err_say(err, CELLA_TOO_LARGE, -EFBIG,
                       "--out: only %zu files were copied, the code changed more", result->n_files);
}
