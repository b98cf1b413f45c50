/* init/files/write.c -- writes a file atomically.
 *
 * The content goes into a file without a name, which the kernel removes if we are killed; it gets its name
 * when it is complete. A temporary name beside the target is used on file systems without such files, and
 * while the file replaces another one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "init/data.h"
#include "init/files/path.h"
#include "init/files/temporary.h"
#include "init/init.h"
#include "init/operate.h"
#include "init/request.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

struct place {
        int dir;
        char name[256];
        char temporary[40]; /* "": the file has no name yet */
        unsigned mode;
        bool set_mode; /* set the mode even if the file exists */
        bool replaces; /* a file that exists, with this owner: */
        unsigned uid, gid;
};

static int make_temporary(struct place *p)
{
        int fd;
        unsigned i = 0;
        do {
                snprintf(p->temporary, sizeof p->temporary, TEMPORARY_PREFIX "%ld-%u", sys_call0(SYS_getpid),
                         i++);
                fd = sys_openat(p->dir, p->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        } while (fd == -EEXIST);
        return fd;
}

static int files_write_create(struct place *p)
{
        int fd = sys_openat(p->dir, ".", O_TMPFILE | O_WRONLY, 0600);
        return fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL ? make_temporary(p) : fd;
}

/* Links the unnamed file to this name. */
static int name_it(const struct place *p, int fd, const char *name)
{
        char self[32];
        snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        return (int)sys_call5(SYS_linkat, AT_FDCWD, self, p->dir, name, AT_SYMLINK_FOLLOW);
}

static int put_in_place(struct place *p, int fd)
{
        int r = (int)sys_call2(SYS_fchmod, fd, p->mode);
        if (r < 0)
                return r;
        if (!p->temporary[0]) {
                r = name_it(p, fd, p->name);
                for (unsigned i = 0; r == -EEXIST; i++) {
                        snprintf(p->temporary, sizeof p->temporary, TEMPORARY_PREFIX "%ld-%u",
                                 sys_call0(SYS_getpid), i);
                        r = name_it(p, fd, p->temporary);
                }
                if (r < 0 || !p->temporary[0])
                        return r;
        }
        return (int)sys_call4(SYS_renameat, p->dir, p->temporary, p->dir, p->name);
}

/* Copies length bytes (~0: until the end). -ENODATA: the input ended early. */
static int files_write_receive(int fd, uint64_t length, uint64_t max)
{
        static BULKY char chunk[DATA_CHUNK];
        uint64_t got = 0;
        while (got < length) {
                ssize_t n =
                        data_get(chunk, length - got < sizeof chunk ? (size_t)(length - got) : sizeof chunk);
                if (n <= 0)
                        return n < 0 ? (int)n : length == UINT64_MAX ? 0 : -ENODATA;
                got += (uint64_t)n;
                if (max > 0 && got > max)
                        return -EFBIG;
                int r = sys_write_all(fd, chunk, (size_t)n);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* An existing regular file may be replaced; its mode is kept, and its owner if that is possible. */
static int files_write_look(struct place *p)
{
        struct statx st;
        int r = sys_statx(p->dir, p->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (!S_ISREG(st.stx_mode))
                return S_ISDIR(st.stx_mode) ? -EISDIR : -EINVAL;
        if (!p->set_mode)
                p->mode = st.stx_mode & 0777;
        p->replaces = true;
        p->uid = st.stx_uid;
        p->gid = st.stx_gid;
        return 0;
}

static int write_file(struct place *p, uint64_t length, uint64_t max)
{
        int r = files_write_look(p);
        AUTO(sys_close) int fd = r < 0 ? r : files_write_create(p);
        if (fd < 0)
                return fd;
        if ((r = files_write_receive(fd, length, max)) == 0) {
                if (p->replaces)
                        sys_call3(SYS_fchown, fd, p->uid, p->gid);
                r = put_in_place(p, fd);
        }
        if (r < 0 && p->temporary[0])
                sys_unlinkat(p->dir, p->temporary, 0);
        return r;
}

int operate_write(const struct request_operate *request)
{
        const struct init_operate *head = &request->head;
        struct place p = {.mode = head->mode & 0777, .set_mode = head->flags & INIT_SET_MODE};
        if (head->offset > 0 && head->length != UINT64_MAX && head->length > head->offset)
                return -EFBIG;
        int r = head->flags & INIT_MAKE_PARENTS ? path_make(request->path, false) : 0;
        AUTO(sys_close) int dir = r < 0 ? r : path_leaf(request->path, p.name);
        if (dir < 0)
                return dir;
        p.dir = dir;
        return write_file(&p, head->length, head->offset);
}

/* Writes the file with the code, in /run or in the working directory. */
int put_file(const char *data, size_t len)
{
        struct request_put_file file;
        int r = request_put_file(data, len, &file);
        if (r < 0)
                return r;
        AUTO(sys_close)
        int dir = sys_openat(AT_FDCWD, file.mode & INIT_IN_WORKSPACE ? "/workspace" : "/run",
                             O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
        if (dir < 0)
                return dir;
        /* A second run in the same sandbox replaces the file. */
        sys_unlinkat(dir, file.name, 0);
        AUTO(sys_close)
        int fd = sys_openat(dir, file.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, file.mode & 0777);
        if (fd < 0)
                return fd;
        return sys_write_all(fd, file.content, file.content_len);
}
