/* test/fuzz/tar.c -- the reader of archives.  Checksums are made right, for the rest to be reached. */
#include "init/files/tar.h"
#include "fuzz.h"

struct input {
        const uint8_t *data;
        size_t left;
        unsigned step; /* bytes at a time, so that short reads come too */
};

static ssize_t read_input(void *arg, void *data, size_t size)
{
        struct input *in = arg;
        size_t n = size < in->left ? size : in->left;
        if (n > in->step)
                n = in->step;
        memcpy(data, in->data, n);
        in->data += n;
        in->left -= n;
        return (ssize_t)n;
}

static void check_path(const char *path)
{
        if (path[0] == '/' || strlen(path) >= TAR_PATH_MAX)
                abort();
        for (const char *p = path; *p;) {
                size_t len = strcspn(p, "/");
                if (len == 0 || (len == 1 && p[0] == '.') || (len == 2 && p[0] == '.' && p[1] == '.'))
                        abort();
                p += len;
                if (*p == '/' && !*++p)
                        abort();
        }
}

static void check_entry(const struct tar_entry *e)
{
        check_path(e->path);
        if (e->kind == TAR_HARDLINK)
                check_path(e->link);
        /* The target of a symlink may be absolute (tar.h): symlink() takes anything but an empty one. */
        if (e->kind == TAR_SYMLINK && (!e->link[0] || strnlen(e->link, TAR_PATH_MAX) == TAR_PATH_MAX))
                abort();
        if ((e->mode & ~0777u) || (e->kind != TAR_FILE && e->size != 0) || e->size > INT64_MAX)
                abort();
        if (e->kind != TAR_DIRECTORY && !e->path[0])
                abort();
}

static void read_archive(struct input in)
{
        static struct tar_reader reader;
        static struct tar_entry entry;
        char content[4096];
        memset(&reader, 0, sizeof reader);
        memset(&entry, 'x', sizeof entry); /* tar_next() must not depend on the old contents */
        reader.read = read_input;
        reader.arg = &in;
        while (tar_next(&reader, &entry) > 0) {
                uint64_t got = 0;
                ssize_t n;
                check_entry(&entry);
                if (entry.path[0] % 2) /* content may also be skipped without reading it */
                        continue;
                while ((n = tar_read(&reader, content, sizeof content)) > 0)
                        got += (uint64_t)n;
                if (got > entry.size)
                        abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct input in = {.data = data, .left = size, .step = 4096};
        if (size == 0)
                return 0;
        read_archive(in);
        /* Again, with a valid checksum in every block that could be a header. */
        uint8_t *copy = malloc(size);
        if (!copy)
                return 0;
        memcpy(copy, data, size);
        for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
                struct tar_header *h = (struct tar_header *)(void *)(copy + at);
                snprintf(h->checksum, sizeof h->checksum, "%06o", tar_checksum(h));
        }
        in = (struct input){.data = copy, .left = size, .step = 1 + data[0] % 64u * 16};
        read_archive(in);
        free(copy);
        return 0;
}
