#include "image/unpack/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "image/store/room.h"
#include "image/unpack/place.h"
#include "image/unpack/tree.h"
#include "sys/file.h"

#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"

struct unpacking {
        struct imager_job *job;
        struct stream *stream;
        struct archive *archive;
        struct place place;
        struct budget *budget;
        struct layer *result;
        char path[TREE_PATH_MAX]; /* checked path of the entry */
};

/* ---- the budget ---- */

static int spend_entry(struct unpacking *u, struct cella_err *err)
{
        if (++u->budget->entries > u->budget->entries_max)
                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "the archive has more than %llu entries",
                               (unsigned long long)u->budget->entries_max);
        int r = room_take(u->budget->room, LAYER_ENTRY, err);
        if (r < 0)
                return r;
        u->result->disk += LAYER_ENTRY;
        return job_cancelled(u->job, err);
}

static int spend_bytes(struct unpacking *u, uint64_t n, struct cella_err *err)
{
        uint64_t used = u->budget->bytes;
        if (n > u->budget->bytes_max || used > u->budget->bytes_max - n) {
                err_say(err, CELLA_TOO_LARGE, -EFBIG,
                        "the unpacked archive is larger than %llu bytes, the limit",
                        (unsigned long long)u->budget->bytes_max);
                return err_hint(err, "use a smaller image");
        }
        int r = room_take(u->budget->room, n, err);
        if (r < 0)
                return r;
        u->budget->bytes += n;
        u->result->bytes += n;
        u->result->disk += n;
        return 0;
}

/* ---- libarchive ---- */

static ssize_t unpack_give(struct archive *a, void *arg, const void **ret)
{
        ssize_t n = stream_next(arg, ret);
        if (n >= 0)
                return n;
        archive_set_error(a, EIO, "the stream ended");
        return ARCHIVE_FATAL;
}

struct archive *unpack_open(struct stream *stream, struct cella_err *err)
{
        struct archive *a = archive_read_new();
        if (!a) {
                err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read an archive");
                return NULL;
        }
        /* Only the formats of images; nested archives are not searched. */
        if (archive_read_support_format_tar(a) != ARCHIVE_OK ||
            archive_read_support_format_empty(a) != ARCHIVE_OK ||
            archive_read_open(a, stream, NULL, unpack_give, NULL) != ARCHIVE_OK) {
                unpack_fail(a, stream, err);
                archive_read_free(a);
                return NULL;
        }
        return a;
}

int unpack_fail(struct archive *a, struct stream *stream, struct cella_err *err)
{
        const char *why = archive_error_string(a);
        struct cella_err own = {0};
        int r = stream_error(stream, &own);
        if (own.kind != CELLA_INTERNAL || r != -EIO) { /* the stream has failed */
                if (err)
                        *err = own;
                return r;
        }
        return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "this is not a valid archive: %.150s",
                       why ? why : "it cannot be read");
}

/* ---- content ---- */

static int write_at(int fd, const char *data, size_t len, int64_t offset)
{
        while (len > 0) {
                ssize_t n = pwrite(fd, data, len, offset);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                data += n;
                offset += n;
                len -= (size_t)n;
        }
        return 0;
}

/* The size was charged to the budget before; the data from libarchive is within it, but is checked again. */
static int write_content(struct unpacking *u, int fd, int64_t size, struct cella_err *err)
{
        const void *data;
        size_t len;
        int64_t offset, end = 0;
        int r;
        while ((r = archive_read_data_block(u->archive, &data, &len, &offset)) == ARCHIVE_OK ||
               r == ARCHIVE_WARN) {
                if (offset < 0 || offset > size || (int64_t)len > size - offset)
                        return place_refuse(u->path, "has more data than its header says", err);
                int e = write_at(fd, data, len, offset);
                if (e < 0)
                        return place_fail(u->path, e, err);
                end = offset + (int64_t)len > end ? offset + (int64_t)len : end;
                if ((e = job_cancelled(u->job, err)) < 0)
                        return e;
        }
        if (r != ARCHIVE_EOF)
                return unpack_fail(u->archive, u->stream, err);
        /* A hole at the end of the file. */
        return end < size && ftruncate(fd, size) < 0 ? place_fail(u->path, -errno, err) : 0;
}

static int unpack_file(struct unpacking *u, struct archive_entry *entry, struct cella_err *err)
{
        int64_t size = archive_entry_size(entry);
        unsigned mode = archive_entry_perm(entry) & 0777;
        if (size < 0)
                return place_refuse(u->path, "has a negative size", err);
        int r = spend_bytes(u, (uint64_t)size, err);
        if (r < 0)
                return r;
        AUTO(sys_close) int fd = place_file(&u->place, u->path, mode & 0111 ? mode | 0700 : mode | 0600, err);
        if (fd < 0)
                return fd;
        r = write_content(u, fd, size, err);
        if (r < 0)
                return r;
        if (archive_entry_mtime_is_set(entry)) {
                const struct timespec times[2] = {
                        {.tv_nsec = UTIME_OMIT},
                        {.tv_sec = archive_entry_mtime(entry), .tv_nsec = archive_entry_mtime_nsec(entry)},
                };
                (void)futimens(fd, times); /* an invalid time is ignored */
        }
        u->result->files++;
        return 0;
}

/* ---- entries ---- */

/* Every name that begins with .wh. is a deletion. */
static int take_whiteout(struct unpacking *u, const char *path, bool *ret, struct cella_err *err)
{
        char parent[TREE_PATH_MAX], whole[TREE_PATH_MAX + 1];
        int r;
        if (!strstr(path, WHITEOUT))
                return 0;
        const char *name = tree_split(path, parent);
        if (strncmp(parent, WHITEOUT, strlen(WHITEOUT)) == 0 || strstr(parent, "/" WHITEOUT))
                return place_refuse(path, "is below a directory that is deleted", err);
        if (strncmp(name, WHITEOUT, strlen(WHITEOUT)) != 0)
                return 0;
        *ret = true;
        if (strcmp(name, OPAQUE) == 0) {
                r = paths_add(&u->result->opaque, parent);
        } else if (strncmp(name, WHITEOUT WHITEOUT, 2 * strlen(WHITEOUT)) == 0) {
                r = 0; /* internal files of aufs */
        } else {
                name += strlen(WHITEOUT);
                if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                        return place_refuse(path, "deletes a name that no file can have", err);
                snprintf(whole, sizeof whole, "%s%s%s", parent, parent[0] ? "/" : "", name);
                r = paths_add(&u->result->whiteouts, whole);
        }
        if (r == -EFBIG)
                return err_say(err, CELLA_TOO_LARGE, r, "the archive has too many deletions");
        return r < 0 ? place_fail(path, r, err) : 0;
}

static int check_path(const char *path, char ret[TREE_PATH_MAX], struct cella_err *err)
{
        int r = path ? tree_path(path, ret) : -ENOENT;
        if (r == -ENOENT)
                return err_say(err, CELLA_INVALID_REQUEST, -EBADMSG,
                               "the archive was refused: an entry has no readable name");
        if (r == -EINVAL)
                return place_refuse(path, "contains '..'", err);
        if (r == -ENAMETOOLONG)
                return place_refuse(path, "is too long", err);
        if (r == -E2BIG)
                return place_refuse(path, "is too deep", err);
        return 0;
}

static int unpack_entry(struct unpacking *u, struct archive_entry *entry, struct cella_err *err)
{
        char target[TREE_PATH_MAX];
        bool deleted = false;
        const char *link = archive_entry_hardlink(entry);
        unsigned mode = archive_entry_perm(entry);
        int r = spend_entry(u, err);
        if (r == 0)
                r = check_path(archive_entry_pathname(entry), u->path, err);
        if (r == 0)
                r = take_whiteout(u, u->path, &deleted, err);
        if (r < 0 || deleted)
                return r;
        if (link) {
                r = check_path(link, target, err);
                return r < 0 ? r : place_link(&u->place, u->path, target, err);
        }
        switch (archive_entry_filetype(entry)) {
        case AE_IFREG:
                return unpack_file(u, entry, err);
        case AE_IFDIR:
                return place_directory(&u->place, u->path, (mode & 01777) | 0700, err);
        case AE_IFLNK:
                return place_symlink(&u->place, u->path, archive_entry_symlink(entry), err);
        default:
                return 0; /* devices, pipes and sockets are left out */
        }
}

int unpack(struct imager_job *job, struct stream *stream, int dir, struct budget *budget, struct layer *ret,
           struct cella_err *err)
{
        struct unpacking u = {.job = job, .stream = stream, .budget = budget, .result = ret};
        struct archive_entry *entry;
        int r, e = 0;
        u.archive = unpack_open(stream, err);
        if (!u.archive)
                return err ? err->num : -EBADMSG;
        place_init(&u.place, dir);
        while ((r = archive_read_next_header(u.archive, &entry)) == ARCHIVE_OK || r == ARCHIVE_WARN)
                if ((e = unpack_entry(&u, entry, err)) < 0)
                        break;
        if (e == 0 && r != ARCHIVE_EOF)
                e = unpack_fail(u.archive, stream, err);
        place_done(&u.place);
        archive_read_free(u.archive);
        return e;
}
