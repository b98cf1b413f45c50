/* test/fuzz/backup_archive.c -- the archive of `cella restore`: what is accepted has a name that ends and a
 * size within the format's, and reading ends. */
#include <sys/mman.h>

#include "daemon/archive.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static int from = -1, to = -1;
        char name[ARCHIVE_NAME_SIZE];
        uint64_t length = 0;
        size_t files = 0;
        if (from < 0) {
                from = memfd_create("archive", 0);
                to = memfd_create("file", 0);
        }
        if (ftruncate(from, 0) < 0 || pwrite(from, data, size, 0) != (ssize_t)size ||
            lseek(from, 0, SEEK_SET) < 0)
                abort();
        while (archive_next(from, name, &length, NULL) > 0) {
                if (!memchr(name, '\0', sizeof name) || length > ARCHIVE_FILE_MAX || ++files > size / 512)
                        abort();
                if (ftruncate(to, 0) < 0 || lseek(to, 0, SEEK_SET) < 0)
                        abort();
                if (archive_take(from, length, to, NULL) < 0)
                        break;
                if (lseek(to, 0, SEEK_END) != (off_t)length)
                        abort();
        }
        return 0;
}
