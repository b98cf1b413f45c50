/* test/fuzz/image_archive.c -- archives from anybody, imported into a store: whatever they are, nothing
 * outside of the store changes, a failure leaves nothing in it, and what is accepted has nothing in it but
 * files, directories and links.
 *
 * Checksums of headers are made right where there could be one, for the rest to be reached; the first byte
 * says whether. */
#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "image/imager.h"
#include "image/store/store.h"

#define BLOCK 512

static char area[64];
static int store = -1;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
        (void)st;
        (void)type;
        (void)at;
        return remove(path);
}

static void clean(void)
{
        nftw(area, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void prepare(void)
{
        char path[128];
        /* The store is in memory, because thousands of files are made and removed each second. */
        strcpy(area, access("/dev/shm", W_OK) == 0 ? "/dev/shm/cella-fuzz-XXXXXX" : "/tmp/cella-fuzz-XXXXXX");
        if (!mkdtemp(area))
                abort();
        atexit(clean);
        umask(0);
        snprintf(path, sizeof path, "%s/store", area);
        if (mkdir(path, 0700) < 0 || (store = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                abort();
        snprintf(path, sizeof path, "%s/canary", area);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                abort();
        close(fd);
}

static int count, depth;

static int look(const char *path, const struct stat *st, int type, struct FTW *at)
{
        const char *name = path + at->base;
        if (type != FTW_D && type != FTW_F && type != FTW_SL && type != FTW_SLN)
                abort();
        if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode))
                abort();
        if (st->st_mode & (S_ISDIR(st->st_mode) ? 06000 : S_ISREG(st->st_mode) ? 07000 : 0))
                abort();
        if (!S_ISLNK(st->st_mode) && (st->st_mode & 0600) != 0600)
                abort();
        if (strncmp(name, ".wh.", 4) == 0)
                abort();
        count++;
        depth = at->level > depth ? at->level : depth;
        return 0;
}

/* Counts the store's six directories, its two locks, and the files around it. */
static void check_empty(void)
{
        struct stat st;
        char path[128];
        count = 0;
        nftw(area, look, 16, FTW_PHYS);
        if (count > 3 + 8)
                abort();
        snprintf(path, sizeof path, "%s/canary", area);
        if (lstat(path, &st) < 0 || st.st_size != 0 || st.st_nlink != 1 || !S_ISREG(st.st_mode))
                abort();
}

static void no_progress(struct imager_job *job, const char *layer, const char *phase, uint64_t done,
                        uint64_t total)
{
        (void)job;
        (void)layer;
        (void)phase;
        (void)done;
        (void)total;
}

static void import_it(int archive)
{
        json_t *request = json_pack("{s:s}", "name", "x");
        struct imager_job job = {.store = store,
                                 .archive = archive,
                                 .request = request,
                                 .bytes_max = 1 << 20,
                                 .entries_max = 1000,
                                 .progress = no_progress};
        struct imported imported = {0};
        struct removed removed = {0};
        struct cella_err err = {0};
        if (import(&job, &imported, &err) == 0) {
                if (!imported.image || imported.image->bytes > job.bytes_max)
                        abort();
                nftw(area, look, 16, FTW_PHYS);
                if (remove_name(&job, imported.image->id, &removed, NULL) < 0 || !removed.image)
                        abort();
        } else if (!err.msg[0]) {
                abort();
        }
        image_free(imported.image);
        json_decref(request);
        check_empty();
}

static void fix_checksums(uint8_t *data, size_t size)
{
        for (size_t at = 0; at + BLOCK <= size; at += BLOCK) {
                unsigned sum = 8 * ' ';
                for (size_t i = 0; i < BLOCK; i++)
                        sum += i >= 148 && i < 156 ? 0 : data[at + i];
                if (memcmp(data + at + 257, "ustar", 5) == 0)
                        snprintf((char *)data + at + 148, 8, "%06o", sum);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (store < 0)
                prepare();
        if (size < 2)
                return 0;
        uint8_t *copy = malloc(size - 1);
        memcpy(copy, data + 1, size - 1);
        if (data[0] % 2)
                fix_checksums(copy, size - 1);
        int fd = memfd_create("archive", MFD_CLOEXEC);
        if (fd < 0 || write(fd, copy, size - 1) != (ssize_t)(size - 1) || lseek(fd, 0, SEEK_SET) < 0)
                abort();
        free(copy);
        import_it(fd);
        close(fd);
        return 0;
}
