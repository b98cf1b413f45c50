#include "cli/run/guess.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/runtime.h"
#include "sys/file.h"
#include "sys/raw.h"

#define WORKSPACE "/workspace"
#define TRIES 1000

/* Opens a regular file below the workspace for reading, without blocking on other kinds. */
static int open_beneath(const char *workspace, const char *file)
{
        struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
        struct stat st;
        AUTO(sys_close) int dir = sys_openat(AT_FDCWD, workspace, O_PATH | O_DIRECTORY, 0);
        if (dir < 0)
                return dir;
        AUTO(sys_close) int fd = -EAGAIN;
        /* EAGAIN: the path has "..", and some file on this machine was renamed or mounted meanwhile. */
        for (unsigned i = 0; i < TRIES && fd == -EAGAIN; i++)
                fd = (int)sys_call4(SYS_openat2, dir, file, &how, sizeof how);
        if (fd < 0)
                return fd;
        return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EINVAL;
}

static bool is_below(const char *path, const char *top, size_t len)
{
        return !strncmp(path, top, len) && (path[len] == '/' || path[len] == '\0');
}

/* Finds the shortest beginning of the path that is a directory of the workspace, and sets ret to the path
 * below the workspace.  Code may have made everything after that beginning. */
static bool leads_inside(const char *file, const char *top, size_t len, char ret[PATH_MAX])
{
        char begin[PATH_MAX], path[PATH_MAX];
        if (strlen(file) >= sizeof begin)
                return false;
        for (const char *rest = file[0] == '/' ? file + 1 : file, *slash;; rest = slash + 1) {
                snprintf(begin, sizeof begin, "%.*s", (int)(rest - file), file);
                if (realpath(rest == file ? "." : begin, path) && is_below(path, top, len))
                        return snprintf(ret, PATH_MAX, ".%s/%s", path + len, rest) < PATH_MAX;
                if (!(slash = strchr(rest, '/')))
                        return false;
        }
}

/* The name below the workspace that a file has in the sandbox, or the file itself. */
static const char *relative(const char *file)
{
        const size_t len = sizeof WORKSPACE - 1;
        return !strncmp(file, WORKSPACE "/", len + 1) ? file + len + 1 : file;
}

int guess_inside(const char *file, const char *workspace, char *ret, size_t size)
{
        char top[PATH_MAX], path[PATH_MAX];
        const char *name = NULL;
        bool inside = false;
        if (!workspace || !realpath(workspace, top))
                return -ENOENT;
        const size_t len = strcmp(top, "/") ? strlen(top) : 0;
        if (leads_inside(file, top, len, path)) {
                AUTO(sys_close) int typed = open_beneath(workspace, path);
                inside = typed != -ENOENT && typed != -ENOTDIR;
                if (inside && typed < 0)
                        return -EXDEV;
        }
        if (realpath(file, path))
                name = is_below(path, top, len) && path[len] ? path + len + 1 : NULL;
        else if (errno == ENOENT)
                name = relative(file);
        AUTO(sys_close) int fd = name ? open_beneath(workspace, name) : -ENOENT;
        if (fd < 0)
                return inside ? -EXDEV : -ENOENT;
        return (size_t)snprintf(ret, size, WORKSPACE "/%s", name) < size ? 0 : -ENOENT;
}

static bool is_runtime(const char *name, size_t len, char *ret, size_t size)
{
        struct runtime runtime;
        if (len == 0 || len >= size)
                return false;
        memcpy(ret, name, len);
        ret[len] = '\0';
        return runtime_find(ret, &runtime) == 0;
}

/* "#!/usr/bin/env [-S] PROGRAM" or "#!/path/PROGRAM". */
static bool first_line(const char *line, char *ret, size_t size)
{
        static const char blanks[] = " \t", ends[] = " \t\r\n";
        if (strncmp(line, "#!", 2) != 0)
                return false;
        for (line += 2; *line; line += strcspn(line, ends)) {
                line += strspn(line, blanks);
                const size_t len = strcspn(line, ends);
                const char *name = line;
                for (const char *at = line; at < line + len; at++)
                        if (*at == '/')
                                name = at + 1;
                const size_t n = (size_t)(line + len - name);
                if (n == 0 || (n == 3 && !strncmp(name, "env", 3)) || *line == '-') {
                        if (len == 0)
                                return false;
                        continue;
                }
                if (n == 6 && !strncmp(name, "nodejs", 6))
                        return is_runtime("node", 4, ret, size);
                return is_runtime(name, n, ret, size);
        }
        return false;
}

static bool by_extension(const char *file, char *ret, size_t size)
{
        static const struct {
                const char *extension, *runtime;
        } others[] = {{"py", "python3"}, {"mjs", "node"},  {"cjs", "node"}, {"cc", "c++"},
                      {"cxx", "c++"},    {"bash", "bash"}, {"r", "Rscript"}};
        const char *slash = strrchr(file, '/'), *dot = strrchr(slash ? slash : file, '.');
        for (size_t i = 0; dot && i < ARRAY_LEN(others); i++)
                if (!strcmp(dot + 1, others[i].extension))
                        return is_runtime(others[i].runtime, strlen(others[i].runtime), ret, size);
        for (size_t i = 0; dot && i < runtimes_len; i++)
                if (!strcmp(dot + 1, runtimes[i].extension))
                        return is_runtime(runtimes[i].name, strlen(runtimes[i].name), ret, size);
        return false;
}

int guess_runtime(const char *file, const char *workspace, char *ret, size_t size)
{
        char line[256], inside[PATH_MAX];
        int r = guess_inside(file, workspace, inside, sizeof inside);
        if (r == -EXDEV)
                return r;
        AUTO(sys_close)
        int fd = r == 0 ? open_beneath(workspace, relative(inside))
                        : sys_openat(AT_FDCWD, file, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (fd < 0)
                return -ENOENT;
        ssize_t n = sys_read(fd, line, sizeof line - 1);
        if (n < 0)
                return n == -EISDIR ? -ENOENT : -ENOEXEC;
        line[n] = '\0';
        return first_line(line, ret, size) || by_extension(file, ret, size) ? 0 : -ENOEXEC;
}
