/* jail/view_disk.c -- everything that the code can write to, if the rest of its view is shared: one tmpfs, of
 * which directories are bind-mounted to several places. */
#include <sys/mount.h>

#include "base/auto.h"
#include "jail/view.h"
#include "jail/view_parts.h"
#include "sys/file.h"
#include "sys/mount.h"

#define OWN_INODES 8
#define PAGE_BYTES 4096

const char *const view_writable[] = {"/tmp", "/workspace", "/run", "/dev/shm", NULL};

/* The last one covers the mount point of the tmpfs. */
static const struct {
        const char *name, *path, *target;
        unsigned mode;
        bool for_code; /* belongs to the code's uid */
} directories[] = {
        {"tmp", "dev/shm/tmp", "tmp", 01777, false},
        {"workspace", "dev/shm/workspace", "workspace", 0755, true},
        {"run", "dev/shm/run", "run", 0700, true},
        {"shm", "dev/shm/shm", "dev/shm", 01777, false},
};

int view_show_disk(const struct jail_spec *spec, struct cella_err *err)
{
        /* One page less than the limit: see view_new_root(). */
        AUTO(sys_close) int disk = view_new_disk(spec, -PAGE_BYTES, OWN_INODES, err);
        if (disk < 0)
                return disk;
        int r = 0;
        for (size_t i = 0; i < ARRAY_LEN(directories) && r == 0; i++)
                r = sys_mkdirat(disk, directories[i].name, directories[i].mode);
        if (r == 0)
                r = sys_move_mount(disk, AT_FDCWD, "dev/shm");
        if (r < 0)
                return view_fail(err, r, "attach", "tmpfs");
        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                r = sys_mount(directories[i].path, directories[i].target, NULL, MS_BIND, NULL);
                if (r < 0)
                        return view_fail(err, r, "bind", directories[i].target);
        }
        return 0;
}

int view_give_disk(const struct jail_spec *spec, struct cella_err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                if (!directories[i].for_code)
                        continue;
                int r = sys_fchownat(AT_FDCWD, directories[i].target, spec->host_uid, spec->host_gid);
                if (r < 0)
                        return view_fail(err, r, "change the owner of", directories[i].target);
        }
        return 0;
}
