#include "daemon/archive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "sys/file.h"

#define BLOCK 512

struct header {
        char name[ARCHIVE_NAME_SIZE], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type;
        char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header of ustar");

/* The sum of all bytes, with spaces for the sum itself. */
static unsigned header_sum(const struct header *h)
{
        struct header copy = *h;
        unsigned sum = 0;
        memset(copy.checksum, ' ', sizeof copy.checksum);
        for (size_t i = 0; i < sizeof copy; i++)
                sum += ((const unsigned char *)&copy)[i];
        return sum;
}

static int copy_bytes(int from, uint64_t size, int to)
{
        char data[65536];
        while (size > 0) {
                ssize_t n = sys_read(from, data, size < sizeof data ? (size_t)size : sizeof data);
                if (n <= 0)
                        return n < 0 ? (int)n : -ENODATA;
                int r = sys_write_all(to, data, (size_t)n);
                if (r < 0)
                        return r;
                size -= (uint64_t)n;
        }
        return 0;
}

int archive_put(int to, const char *name, int from, struct cella_err *err)
{
        static const char zero[BLOCK];
        struct header h = {.type = '0', .magic = "ustar", .version = {'0', '0'}};
        struct stat st;
        if (fstat(from, &st) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot read %s", name);
        if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > ARCHIVE_FILE_MAX)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG, "%s has more than 8 GiB, or is not a file",
                               name);
        snprintf(h.name, sizeof h.name, "%s", name);
        snprintf(h.mode, sizeof h.mode, "%07o", 0600);
        snprintf(h.uid, sizeof h.uid, "%07o", 0);
        snprintf(h.gid, sizeof h.gid, "%07o", 0);
        snprintf(h.size, sizeof h.size, "%011llo", (unsigned long long)st.st_size);
        snprintf(h.mtime, sizeof h.mtime, "%011llo", (unsigned long long)st.st_mtim.tv_sec & 077777777777);
        snprintf(h.checksum, sizeof h.checksum, "%06o", header_sum(&h));
        h.checksum[7] = ' ';
        int r = sys_write_all(to, &h, sizeof h);
        if (r == 0)
                r = copy_bytes(from, (uint64_t)st.st_size, to);
        if (r == 0)
                r = sys_write_all(to, zero, (size_t)(-(uint64_t)st.st_size % BLOCK));
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot copy %s", name) : 0;
}

int archive_end(int to, struct cella_err *err)
{
        static const char zero[2 * BLOCK];
        int r = sys_write_all(to, zero, sizeof zero);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot write the backup") : 0;
}

/* Reads up to size octal digits, which a NUL or a space must end. */
static bool read_octal(const char *text, size_t size, uint64_t *ret)
{
        size_t n = strspn(text, "01234567");
        if (n == 0 || n >= size || (text[n] != '\0' && text[n] != ' '))
                return false;
        *ret = 0;
        for (size_t i = 0; i < n; i++)
                *ret = *ret * 8 + (uint64_t)(text[i] - '0');
        return true;
}

static int read_block(int from, void *ret, size_t size)
{
        char *at = ret;
        for (size_t got = 0; got < size;) {
                ssize_t n = sys_read(from, at + got, size - got);
                if (n <= 0)
                        return n < 0 ? (int)n : -ENODATA;
                got += (size_t)n;
        }
        return 0;
}

int archive_next(int from, char ret_name[ARCHIVE_NAME_SIZE], uint64_t *ret_size, struct cella_err *err)
{
        static const struct header end;
        struct header h;
        uint64_t sum = 0, size = 0;
        int r = read_block(from, &h, sizeof h);
        if (r < 0)
                return err_set(err, CELLA_INVALID_REQUEST, r, "cannot read the backup");
        if (!memcmp(&h, &end, sizeof h))
                return 0;
        if (memcmp(h.magic, "ustar", sizeof h.magic) != 0 || memcmp(h.version, "00", sizeof h.version) != 0 ||
            !read_octal(h.checksum, sizeof h.checksum, &sum) || sum != header_sum(&h) ||
            !read_octal(h.size, sizeof h.size, &size) || h.type != '0' || h.prefix[0] ||
            strnlen(h.name, sizeof h.name) == sizeof h.name)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "this is not a backup of cella, or it is damaged");
        memcpy(ret_name, h.name, sizeof h.name);
        *ret_size = size;
        return 1;
}

int archive_take(int from, uint64_t size, int to, struct cella_err *err)
{
        char rest[BLOCK];
        int r = copy_bytes(from, size, to);
        if (r == 0)
                r = read_block(from, rest, (size_t)(-size % BLOCK));
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot copy a file of the backup") : 0;
}
