#include "core/package_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
        struct list link; /* in the core; the oldest is the first */
        char *name;
        int fd;
        uint64_t bytes;
        int64_t added_ms;
};

int package_cache_file(const struct core *core)
{
        char path[sizeof core->directory + 20];
        snprintf(path, sizeof path, "%s/packages-XXXXXX", core->directory);
        int fd = mkostemp(path, O_CLOEXEC);
        if (fd < 0)
                return -errno;
        unlink(path);
        return fd;
}

static void entry_free(struct core *core, struct entry *e)
{
        core->packages_bytes -= e->bytes;
        core->n_packages--;
        list_remove(&e->link);
        close(e->fd);
        free(e->name);
        free(e);
}

static struct entry *package_cache_oldest(const struct core *core)
{
        return list_empty(&core->packages) ? NULL : list_entry(core->packages.next, struct entry, link);
}

void package_cache_trim(struct core *core, uint64_t max)
{
        const int64_t since = core_now_ms() - PACKAGE_CACHE_KEEP_MS;
        for (struct entry *e;
             (e = package_cache_oldest(core)) &&
             (core->packages_bytes > max || e->added_ms < since || core->n_packages > PACKAGE_CACHE_MAX);)
                entry_free(core, e);
}

static struct entry *package_cache_entry(const struct core *core, const char *name)
{
        list_each (at, &core->packages, other) {
                struct entry *e = list_entry(at, struct entry, link);
                if (!strcmp(e->name, name))
                        return e;
        }
        return NULL;
}

void package_cache_add(struct core *core, const char *name, int fd, uint64_t bytes)
{
        struct entry *old = package_cache_entry(core, name), *e = calloc(1, sizeof *e);
        if (old)
                entry_free(core, old);
        if (!e || !(e->name = strdup(name))) {
                free(e);
                close(fd);
                return;
        }
        e->fd = fd;
        e->bytes = bytes;
        e->added_ms = core_now_ms();
        list_add(&core->packages, &e->link);
        core->packages_bytes += bytes;
        core->n_packages++;
        package_cache_trim(core, core->settings.packages_cache_bytes);
}

int package_cache_find(struct core *core, const char *name)
{
        package_cache_trim(core, core->settings.packages_cache_bytes);
        const struct entry *e = package_cache_entry(core, name);
        if (!e)
                return -ENOENT;
        int fd = fcntl(e->fd, F_DUPFD_CLOEXEC, 0);
        return fd < 0 ? -errno : fd;
}
