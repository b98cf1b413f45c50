/* init/files/put_file.c -- writes the file with the code, in /run or in the working directory. */
#include "init/init.h"
#include "init/request.h"
#include "sys/file.h"

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
