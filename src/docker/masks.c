/* docker/masks.c -- the paths of /proc that a container engine hides: all that are not on the allow lists.
 *
 * An engine accepts a list of paths to hide, not a list of paths to show.  So the /proc of this machine is
 * read once, before the first container is made, and every entry that is not on the allow lists is hidden.
 * Containers usually share this machine's kernel and have the same entries.  If the engine runs in a virtual
 * machine with another kernel, it ignores paths that its kernel lacks; entries that only its kernel has are
 * not hidden. */
#include "docker/masks.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "jail/proc_shown.h"

#define DEPTH_MAX 4

/* The paths that engines hide by default.  Our list replaces theirs, so it repeats them, even those that this
 * machine's kernel does not have. */
static const char *const defaults[] = {
        "/proc/acpi",       "/proc/asound",  "/proc/interrupts",  "/proc/kcore",
        "/proc/keys",       "/proc/scsi",    "/proc/sched_debug", "/proc/latency_stats",
        "/proc/timer_list", "/sys/firmware", "/proc/timer_stats", "/sys/devices/virtual/powercap",
};

enum shown { HIDDEN, SHOWN, SHOWN_IN_PART };

/* list: paths below the directory that path is relative to. */
static enum shown masks_look_up(const char *path, const char *const *list, size_t n)
{
        const size_t len = strlen(path);
        for (size_t i = 0; i < n; i++) {
                if (!strcmp(path, list[i]))
                        return SHOWN;
                if (!strncmp(path, list[i], len) && list[i][len] == '/')
                        return SHOWN_IN_PART;
        }
        return HIDDEN;
}

static enum shown is_shown(const char *path)
{
        if (!strncmp(path, "sys/", 4))
                return masks_look_up(path + 4, proc_settings, ARRAY_LEN(proc_settings));
        if (!strcmp(path, "sys"))
                return SHOWN_IN_PART;
        if ((path[0] >= '0' && path[0] <= '9') || !strcmp(path, "self") || !strcmp(path, "thread-self"))
                return SHOWN;
        /* An entry of a directory that is listed by its entries. */
        return masks_look_up(path, proc_entries, ARRAY_LEN(proc_entries));
}

/* A colon would end the path in Podman's list; no kernel has one there. */
static void add_mask(struct masks *masks, const char *path)
{
        for (size_t i = 0; i < masks->n; i++)
                if (!strcmp(masks->paths[i], path))
                        return;
        if (masks->n < MASKS_MAX && !strchr(path, ':'))
                snprintf(masks->paths[masks->n++], MASK_MAX, "%s", path);
}

/* Lists the entries of /proc/below, which may be "". */
static void list_hidden(struct masks *masks, const char *below, unsigned depth)
{
        const size_t top = strlen("/proc/");
        char path[MASK_MAX];
        snprintf(path, sizeof path, "/proc/%s", below);
        DIR *directory = opendir(path);
        if (!directory)
                return;
        for (const struct dirent *e; (e = readdir(directory));) {
                if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
                        continue;
                if (snprintf(path, sizeof path, "/proc/%s%s%s", below, *below ? "/" : "", e->d_name) >=
                    MASK_MAX)
                        continue; /* no kernel has such long names there */
                const enum shown shown = is_shown(path + top);
                if (shown == SHOWN_IN_PART && depth < DEPTH_MAX)
                        list_hidden(masks, path + top, depth + 1);
                else if (shown == HIDDEN)
                        add_mask(masks, path);
        }
        closedir(directory);
}

static struct masks all;

static void list_all(void)
{
        for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
                add_mask(&all, defaults[i]);
        list_hidden(&all, "", 0);
}

const struct masks *masks_all(void)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, list_all);
        return &all;
}
