/* init/files/untar.c -- unpacks an archive below a directory.
 *
 * The archive may contain links before entries that lead through them, and the code may make links at the
 * same time. So each component of a path is opened by itself and links are never followed. An existing
 * file is removed first, so that nothing is written through a link or into a file with other hard links. */
#include <errno.h>
#include <string.h>

#include "init/data.h"
#include "init/files/path.h"
#include "init/files/tar.h"
#include "init/operate.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define TRAILER_MAX (1u << 20) /* of zeros after the end, which are read and ignored */

static ssize_t read_data(void *arg, void *data, size_t size)
{
        (void)arg;
        return data_get(data, size);
}

/* Opens the parent directory of path below root; makes missing directories if make is set. *ret_name is
 * the last component. */
static int untar_open_parent(int root, char *path, bool make, const char **ret_name)
{
        AUTO(sys_close) int dir = sys_openat(root, ".", O_PATH | O_DIRECTORY, 0);
        char *p = path, *slash;
        while (dir >= 0 && (slash = strchr(p, '/'))) {
                *slash = '\0';
                int r = make ? sys_mkdirat(dir, p, 0755) : 0;
                int next =
                        r < 0 && r != -EEXIST ? r : sys_openat(dir, p, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
                *slash = '/';
                sys_close(dir);
                dir = next;
                p = slash + 1;
        }
        *ret_name = p;
        return TAKE_FD(dir);
}

static int set_times(int dir, const char *name, int64_t mtime)
{
        const int64_t times[2][2] = {{mtime, 0}, {mtime, 0}};
        return (int)sys_call4(SYS_utimensat, dir, name, times, AT_SYMLINK_NOFOLLOW);
}

static int untar_fill(struct tar_reader *reader, int fd)
{
        static BULKY char chunk[DATA_CHUNK];
        ssize_t n;
        while ((n = tar_read(reader, chunk, sizeof chunk)) > 0) {
                int r = sys_write_all(fd, chunk, (size_t)n);
                if (r < 0)
                        return r;
        }
        return (int)n;
}

static int make_file(struct tar_reader *reader, const struct tar_entry *e, int dir, const char *name)
{
        AUTO(sys_close) int fd = sys_openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, e->mode);
        if (fd < 0)
                return fd;
        int r = untar_fill(reader, fd);
        return r < 0 ? r : set_times(dir, name, e->mtime);
}

static int untar_make_directory(const struct tar_entry *e, int dir, const char *name)
{
        unsigned mode = e->mode | 0700; /* later entries may be written into it */
        int r = sys_mkdirat(dir, name, mode);
        if (r != -EEXIST)
                return r;
        AUTO(sys_close) int fd = sys_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        return fd < 0 ? fd : (int)sys_call2(SYS_fchmod, fd, mode);
}

static int make_hardlink(int root, struct tar_entry *e, int dir, const char *name)
{
        const char *from_name;
        AUTO(sys_close) int from = untar_open_parent(root, e->link, false, &from_name);
        return from < 0 ? from : (int)sys_call5(SYS_linkat, from, from_name, dir, name, 0);
}

static int make_symlink(const struct tar_entry *e, int dir, const char *name)
{
        int r = sys_symlinkat(e->link, dir, name);
        return r < 0 ? r : set_times(dir, name, e->mtime);
}

static int untar_unpack(struct tar_reader *reader, struct tar_entry *e, int root)
{
        const char *name;
        if (!e->path[0]) /* the top directory, which exists */
                return 0;
        AUTO(sys_close) int dir = untar_open_parent(root, e->path, true, &name);
        if (dir < 0)
                return dir;
        if (e->kind == TAR_DIRECTORY)
                return untar_make_directory(e, dir, name);
        if (e->kind == TAR_HARDLINK && !strcmp(e->link, e->path))
                return 0;
        int r = sys_unlinkat(dir, name, 0);
        if (r < 0 && r != -ENOENT)
                return r;
        return e->kind == TAR_FILE      ? make_file(reader, e, dir, name)
               : e->kind == TAR_SYMLINK ? make_symlink(e, dir, name)
                                        : make_hardlink(root, e, dir, name);
}

/* Read the zeros at the end, so that the writer of the archive does not get an error. */
static void drain(void)
{
        static BULKY char waste[4096];
        ssize_t n;
        for (size_t got = 0; got < TRAILER_MAX && (n = data_get(waste, sizeof waste)) > 0;)
                got += (size_t)n;
}

int operate_untar(const struct request_operate *request)
{
        static BULKY struct tar_reader reader; /* not in the executable, which is copied at each start */
        static BULKY struct tar_entry entry;
        uint64_t total = 0, max = request->head.offset;
        int r = path_make(request->path, true);
        AUTO(sys_close) int root = r < 0 ? r : sys_openat(AT_FDCWD, request->path, O_PATH | O_DIRECTORY, 0);
        if (root < 0)
                return root;
        reader.read = read_data;
        while ((r = tar_next(&reader, &entry)) > 0) {
                if (max > 0 && (entry.size > max || (total += entry.size) > max))
                        return -EFBIG;
                if ((r = untar_unpack(&reader, &entry, root)) < 0)
                        return r;
        }
        if (r == 0)
                drain();
        return r;
}
