/* jail/view_image.c -- the root file system of an image.
 *
 * Theory of operation.  The tmpfs is the same as in view.c and holds the sandbox's whole disk, but it is not
 * the root.  It contains two directories of an overlay file system whose lower layer is the root of the
 * image.  Changed files are copied up; the files of the image are never opened for writing.
 *
 *  lower      the root of the image: a read-only mount, whose owner is mapped to the code's uid
 *  upper work the changes
 *  root       mount point of the overlay: the new root
 *  dev proc tmp run workspace     mounts that cover those of the image
 *
 * Everything but the overlay is made before the code's uid is known, while the owner chooses that uid.
 *
 * An image is hostile.  Its /proc, /dev or /etc may be files or links to anywhere.  Therefore every directory
 * that is written to or mounted on is made in `upper` before the overlay exists: nothing in it comes from the
 * image, and in the overlay it hides anything that is not a directory.  Invariant: no path used here contains
 * a name that the image could have chosen.  The exception are mounts that the caller asked for; these paths
 * are followed one component at a time, without links (view_parts.c). */
#include <errno.h>
#include <linux/mount.h>
#include <stdio.h>
#include <sys/mount.h>

#include "base/auto.h"
#include "base/err.h"
#include "jail/view.h"
#include "jail/view_parts.h"
#include "sys/file.h"
#include "sys/mount.h"

#define OWN_FILES 2 /* in etc */

static const struct {
        const char *path;
        unsigned mode;
        bool for_code; /* belongs to the code's uid */
} directories[] = {
        {"lower", 0755, false},     {"work", 0700, false},
        {"root", 0755, false},      {"proc", 0555, false},
        {"dev", 0755, false},       {"tmp", 01777, false},
        {"run", 0700, true},        {"workspace", 0755, true},
        {"upper", 0755, true},      {"upper/proc", 0555, false},
        {"upper/dev", 0755, false}, {"upper/tmp", 01777, false},
        {"upper/run", 0755, false}, {"upper/workspace", 0755, false},
        {"upper/etc", 0755, true},
};

/* The code may change these files, like everything in an image. */
static const struct {
        const char *path, *text; /* NULL: written by view_write_resolver() */
} files[] = {
        {"upper/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"},
        {"upper/etc/hostname", "sandbox\n"},
        {"upper/etc/resolv.conf", NULL},
};

static int make_skeleton(const struct jail_spec *spec, struct cella_err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
                int r = sys_mkdirat(AT_FDCWD, directories[i].path, directories[i].mode);
                if (r < 0)
                        return view_fail(err, r, "make the directory", directories[i].path);
        }
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                int r = files[i].text ? view_write_new(files[i].path, files[i].text)
                                      : view_write_resolver(spec, files[i].path);
                if (r < 0)
                        return view_fail(err, r, "write", files[i].path);
        }
        return 0;
}

/* Makes dev as a movable mount, read-only except for /dev/shm. */
static int make_dev(const struct jail_spec *spec, struct cella_err *err)
{
        int r = sys_mount("dev", "dev", NULL, MS_BIND, NULL);
        if (r < 0)
                return view_fail(err, r, "bind", "/dev");
        if ((r = view_show_devices(spec, err)) < 0 || (r = view_show_terminals(err)) < 0)
                return r;
        if ((r = sys_mkdirat(AT_FDCWD, "dev/shm", 01777)) < 0 ||
            (r = sys_mount("dev/shm", "dev/shm", NULL, MS_BIND, NULL)) < 0)
                return view_fail(err, r, "bind", "/dev/shm");
        r = sys_mount_setattr(AT_FDCWD, "dev", MOUNT_ATTR_RDONLY, 0, false);
        return r < 0 ? view_fail(err, r, "write-protect", "/dev") : 0;
}

int view_build_image(struct jail_spec *spec, struct cella_err *err)
{
        int r;
        /* Not on "/": the single unmount in view_enter() would remove only the mount that covers "/", and the
         * host's tree would stay.  /proc always exists and is already open. */
        if ((r = view_new_root(spec, "/proc", OWN_FILES, err)) < 0 || (r = make_skeleton(spec, err)) < 0 ||
            (r = make_dev(spec, err)) < 0)
                return r;
        r = view_make_settings(spec, err);
        return r < 0 ? r : view_show_proc(spec, err);
}

static int view_image_give(const struct jail_spec *spec, struct cella_err *err)
{
        int r = 0;
        if (!spec->privileged || !(spec->walls & WALL_USER))
                return 0;
        for (size_t i = 0; i < ARRAY_LEN(directories) && r == 0; i++)
                if (directories[i].for_code)
                        r = sys_fchownat(AT_FDCWD, directories[i].path, spec->host_uid, spec->host_gid);
        for (size_t i = 0; i < ARRAY_LEN(files) && r == 0; i++)
                r = sys_fchownat(AT_FDCWD, files[i].path, spec->host_uid, spec->host_gid);
        /* With several users root owns them, as in any system, and can change their modes. */
        static const char *const shared[] = {"tmp", "dev/shm"};
        for (size_t i = 0; i < ARRAY_LEN(shared) && r == 0 && spec->n_ids > 1; i++)
                r = sys_fchownat(AT_FDCWD, shared[i], spec->host_uid, spec->host_gid);
        return r < 0 ? view_fail(err, r, "change the owner of", "/etc") : 0;
}

static int mount_overlay(const struct jail_spec *spec, struct cella_err *err)
{
        const unsigned long flags = MS_NODEV | (spec->walls & WALL_NO_NEW_PRIVS ? MS_NOSUID : 0);
        /* redirect_dir, which lets the code rename directories of the image, needs root's xattrs.  Without it
         * programs fall back to copying. */
        const char *options = spec->privileged ? "lowerdir=lower,upperdir=upper,workdir=work,redirect_dir=on"
                                               : "lowerdir=lower,upperdir=upper,workdir=work,userxattr";
        AUTO(sys_close)
        int tree = view_host_tree(spec, spec->image->source, spec->image->tree_fd, false, -1);
        int r = tree < 0 ? tree : sys_move_mount(tree, AT_FDCWD, "lower");
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount: cannot show the image");
        r = sys_mount("overlay", "root", "overlay", flags, options);
        if (r == 0)
                return 0;
        err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "mount: cannot add a writable layer to the image");
        return err_hint(err, r == -ENODEV ? "the kernel has no overlay file system: modprobe overlay"
                                          : "images need the overlay file system of Linux 5.19, and a state "
                                            "directory that is not on one: ext4, xfs, btrfs");
}

/* Mounts these directories over those of the image. */
static int view_image_cover(const struct jail_spec *spec, struct cella_err *err)
{
        static const struct {
                const char *from, *to, *name;
                unsigned long flags;
        } places[] = {
                {"dev", "root/dev", "/dev", MS_MOVE},
                {"proc", "root/proc", "/proc", MS_MOVE},
                {"tmp", "root/tmp", "/tmp", MS_BIND},
                {"run", "root/run", "/run", MS_BIND},
                {"workspace", "root/workspace", "/workspace", MS_BIND},
        };
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                if (view_replaced(spec, places[i].name))
                        continue;
                int r = sys_mount(places[i].from, places[i].to, NULL, places[i].flags, NULL);
                if (r < 0)
                        return view_fail(err, r, "show", places[i].name);
        }
        return 0;
}

int view_give_image(const struct jail_spec *spec, struct cella_err *err)
{
        int r;
        /* Daemons of other users have directories there. */
        if (spec->n_ids > 1 && (r = sys_chmod("run", 0755)) < 0)
                return view_fail(err, r, "change the mode of", "/run");
        if ((r = view_image_give(spec, err)) < 0 || (r = mount_overlay(spec, err)) < 0 ||
            (r = view_image_cover(spec, err)) < 0)
                return r;
        r = sys_chdir("root");
        return r < 0 ? view_fail(err, r, "enter", "the new root") : view_show_mounts(spec, err);
}
