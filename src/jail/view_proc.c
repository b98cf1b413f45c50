/* jail/view_proc.c -- the /proc that the code sees: an allow list.
 *
 * Theory of operation.  proc is mounted completely, and the entries of its top directory that programs need
 * are opened (O_PATH).  Then it is remounted with subset=pid (Linux 5.8).  From then on the kernel finds in
 * proc only processes, self, thread-self, and entries in the dentry cache.  Open entries stay in that cache,
 * so init keeps the descriptors open as long as it runs ("pins").  All other entries do not exist for the
 * code.  This is cheaper than a mount over each hidden entry.  If a kernel dropped the entries, they would be
 * missing: it fails closed.  A directory listing of /proc shows only processes.
 *
 * /proc/sys is covered by a small tmpfs with copies of the settings that programs read.  Two parts are
 * mounted from the kernel: net, which shows the reader's network namespace, and kernel/random/uuid, which
 * differs on each read.  The tmpfs is made once per view, below the later mount point of proc, and copied
 * into proc as a mount.  A shared view makes it only once. */
#include <errno.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/auto.h"
#include "base/err.h"
#include "jail/proc_shown.h"
#include "jail/view_parts.h"
#include "sys/file.h"
#include "sys/mount.h"

#define PIN_LEAST 32 /* lower descriptors are left to init, even with a low limit on open files */
#define SETTING_MAX 512

_Static_assert(ARRAY_LEN(proc_entries) <= JAIL_PINS_MAX, "too few pins");

static const char *const setting_directories[] = {"crypto", "fs", "kernel", "kernel/random", "net", "vm"};

/* Settings that are not copied: host_name gets our own text, the others are mounted from the kernel. */
static const char host_name[] = "kernel/hostname";
static const char *const kernels_own[] = {"net", "kernel/random/uuid"};

static int write_setting(int root, const char *path, const char *text, size_t length)
{
        AUTO(sys_close) int file = sys_openat(root, path, O_WRONLY | O_CREAT | O_EXCL, 0444);
        return file < 0 ? file : sys_write_all(file, text, length);
}

/* A setting that is not readable here would not be readable inside either. */
static int copy_setting(const struct jail_spec *spec, int root, const char *path)
{
        char from[64], text[SETTING_MAX];
        snprintf(from, sizeof from, "sys/%s", path);
        AUTO(sys_close) int file = sys_openat(spec->proc_fd, from, O_RDONLY, 0);
        if (file == -ENOENT || file == -EACCES)
                return 0;
        ssize_t n = file < 0 ? file : sys_read(file, text, sizeof text);
        return n < 0 ? (int)n : write_setting(root, path, text, (size_t)n);
}

static bool is_kernels_own(const char *path)
{
        for (size_t i = 0; i < ARRAY_LEN(kernels_own); i++)
                if (!strcmp(path, kernels_own[i]))
                        return true;
        return false;
}

static int show_kernels_own(const struct jail_spec *spec, const char *path)
{
        char from[64], to[64];
        snprintf(from, sizeof from, "sys/%s", path);
        snprintf(to, sizeof to, "proc/sys/%s", path);
        AUTO(sys_close) int tree = sys_open_tree_clone(spec->proc_fd, from, false);
        if (tree == -ENOENT)
                return 0;
        return tree < 0 ? tree : sys_move_mount(tree, AT_FDCWD, to);
}

int view_make_settings(const struct jail_spec *spec, struct cella_err *err)
{
        const unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
        if (!(spec->walls & WALL_PROC))
                return 0;
        AUTO(sys_close) int root = sys_tmpfs("4m", "64", "555", attributes);
        int r = root < 0 ? root : sys_mkdirat(AT_FDCWD, "proc/sys", 0555);
        for (size_t i = 0; i < ARRAY_LEN(setting_directories) && r == 0; i++)
                r = sys_mkdirat(root, setting_directories[i], 0555);
        for (size_t i = 0; i < ARRAY_LEN(proc_settings) && r == 0; i++) {
                const char *path = proc_settings[i];
                if (!strcmp(path, host_name))
                        r = write_setting(root, path, "sandbox\n", strlen("sandbox\n"));
                else if (!is_kernels_own(path))
                        r = copy_setting(spec, root, path);
        }
        if (r == 0)
                r = write_setting(root, "kernel/random/uuid", "", 0); /* mount point */
        if (r == 0)
                r = sys_move_mount(root, AT_FDCWD, "proc/sys");
        for (size_t i = 0; i < ARRAY_LEN(kernels_own) && r == 0; i++)
                r = show_kernels_own(spec, kernels_own[i]);
        if (r == 0)
                r = sys_mount_setattr(AT_FDCWD, "proc/sys", attributes | MOUNT_ATTR_RDONLY, 0, true);
        return r < 0 ? view_fail(err, r, "show", "/proc/sys") : 0;
}

/* O_NOFOLLOW: keeps a link itself, not its target. */
static int pin(struct jail_spec *spec, int proc, const char *name)
{
        AUTO(sys_close) int fd = sys_openat(proc, name, O_PATH | O_NOFOLLOW, 0);
        if (fd == -ENOENT)
                return 0; /* for example a kernel without System V IPC */
        int high = fd < 0 ? fd : sys_dup_above(fd, PIN_LEAST);
        if (high >= 0)
                spec->pins[spec->n_pins++] = high;
        return high < 0 ? high : 0;
}

static int restrict_proc(struct jail_spec *spec, int settings_tree, struct cella_err *err)
{
        const unsigned long flags = MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
        AUTO(sys_close) int proc = sys_openat(AT_FDCWD, "proc", O_PATH | O_DIRECTORY, 0);
        if (proc < 0)
                return view_fail(err, proc, "open", "/proc");
        for (size_t i = 0; i < ARRAY_LEN(proc_entries); i++) {
                int r = pin(spec, proc, proc_entries[i]);
                if (r < 0)
                        return view_fail(err, r, "keep open", proc_entries[i]);
        }
        int r = sys_move_mount(settings_tree, proc, "sys");
        if (r < 0)
                return view_fail(err, r, "mount", "/proc/sys");
        r = sys_mount(NULL, "proc", NULL, flags, "hidepid=2,subset=pid");
        return r < 0 ? view_fail(err, r, "restrict", "/proc") : 0;
}

/* Returns the tree made by view_make_settings().  If the view is shared, it is cloned; otherwise it is moved
 * below the new proc. */
static int take_settings(const struct jail_spec *spec)
{
        return spec->view == JAIL_VIEW_OWN
                       ? sys_openat(AT_FDCWD, "proc/sys", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0)
                       : sys_open_tree_clone(AT_FDCWD, "proc/sys", true);
}

int view_show_proc(struct jail_spec *spec, struct cella_err *err)
{
        const bool wall = spec->walls & WALL_PROC;
        AUTO(sys_close) int settings_tree = wall ? take_settings(spec) : -1;
        if (wall && settings_tree < 0)
                return view_fail(err, settings_tree, "show", "/proc/sys");
        /* hidepid=2 hides processes that the code may not trace: init. */
        int r = sys_mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                          wall ? "hidepid=2" : NULL);
        if (r < 0) {
                view_fail(err, r, "mount", "/proc");
                return err_hint(err, "inside a container, /proc must not be masked: "
                                     "docker run --security-opt systempaths=unconfined");
        }
        return wall ? restrict_proc(spec, settings_tree, err) : 0;
}
