/* cli/admin/backup.c -- `cella backup FILE` and `cella restore FILE`.
 *
 * This process opens FILE with the caller's rights; cella-server (daemon/backup.c) does the rest as the user
 * that owns the state directory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/admin/job.h"
#include "cli/admin/serve.h"
#include "cli/cli.h"
#include "cli/new_file.h"
#include "keeper/process/state_dir.h"
#include "sys/file.h"

#define PATH_SIZE 1024

struct backup_options {
        const char *state, *user;
        bool force;
};

static const struct cli_option backup_options[] = {
        {"state", "DIR", "the state directory ($CELLA_STATE, /var/lib/cella, ~/.local/state/cella)",
         CLI_INTO(CLI_TEXT, struct backup_options, state)},
};
static const struct cli_option restore_options[] = {
        {"state", "DIR", "the state directory ($CELLA_STATE, /var/lib/cella, ~/.local/state/cella)",
         CLI_INTO(CLI_TEXT, struct backup_options, state)},
        {"user", "NAME", "the user of the server, if root starts it (cella, or an unused uid)",
         CLI_INTO(CLI_TEXT, struct backup_options, user)},
        {"force", NULL, "replace the settings, keys, secrets and log that are there",
         CLI_INTO(CLI_FLAG, struct backup_options, force)},
};

/* The owner of the directory is the user of the server. */
static int owner_of(const char *state, struct server_user *ret, struct cella_err *err)
{
        struct stat st;
        if (stat(state, &st) < 0)
                return err_set(err, CELLA_NOT_FOUND, -errno, "there is no state in %.150s", state);
        *ret = (struct server_user){geteuid() == 0 && st.st_uid != 0, st.st_uid, st.st_gid};
        return 0;
}

static int backup(const struct backup_options *o, const char *path, struct cella_err *err)
{
        char state[PATH_SIZE];
        struct server_user user;
        AUTO(new_file_done) struct new_file file = NEW_FILE_NONE;
        int r = serve_state_path(o->state, state, sizeof state, err);
        if (r == 0)
                r = owner_of(state, &user, err);
        if (r < 0)
                return r;
        cli_on_signal(new_file_abandon);
        r = new_file_begin_path(&file, path, 0600);
        if (r == -EEXIST)
                return err_say(err, CELLA_INVALID_REQUEST, r,
                               "%.150s is not a regular file: nothing was written", path);
        if (r < 0)
                return err_set(err, CELLA_INVALID_REQUEST, r, "cannot write %.150s", path);
        char *const argv[] = {"cella-server", "--backup", state, NULL};
        r = job_run(argv, &file.fd, 1, &user, err);
        if (r != 0)
                return r;
        r = fsync(file.fd) < 0 ? -errno : new_file_commit(&file);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot write %.150s", path) : 0;
}

static int restore(const struct backup_options *o, const char *path, struct cella_err *err)
{
        char state[PATH_SIZE];
        struct server_user user;
        struct state_dir dir = {.lock = -1, .workspaces = -1};
        int r = serve_state_path(o->state, state, sizeof state, err);
        if (r == 0)
                r = server_user_find(o->user, &user, err);
        if (r < 0)
                return r;
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
        if (fd < 0)
                return err_set(err, CELLA_INVALID_REQUEST, fd, "cannot read %.150s", path);
        /* Takes the lock that a running daemon holds. */
        r = state_dir_open(state, user.uid, user.gid, &dir, err);
        if (r == 0) {
                char *const argv[] = {"cella-server", "--restore", dir.path, o->force ? "--force" : NULL,
                                      NULL};
                r = job_run(argv, &fd, 1, &user, err);
        }
        state_dir_done(&dir);
        return r;
}

static int backup_run(const struct cli_command *self, int argc, char **argv,
                      int (*run)(const struct backup_options *, const char *, struct cella_err *))
{
        struct backup_options o = {0};
        struct cella_err err = {0};
        int r = cli_parse_all(self, argc, argv, &o, NULL, &err);
        if (r >= 0 && r != 1)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "usage: cella %s FILE", self->name);
        if (r >= 0)
                r = run(&o, argv[1], &err);
        return cli_finish(r, &err, false);
}

static int backup_main(const struct cli_command *self, int argc, char **argv)
{
        return backup_run(self, argc, argv, backup);
}

static int restore_main(const struct cli_command *self, int argc, char **argv)
{
        return backup_run(self, argc, argv, restore);
}

const struct cli_command cli_backup = {
        .name = "backup",
        .usage = "[--state DIR] FILE",
        .text = "Copies the settings, the API keys, the secrets with their key, and the log to FILE, which\n"
                "only you can read.  Images and workspaces are not copied.  The daemon may be running.",
        .examples = "  cella backup cella.tar\n",
        .options = backup_options,
        .n_options = ARRAY_LEN(backup_options),
        .main = backup_main,
};

const struct cli_command cli_restore = {
        .name = "restore",
        .usage = "[OPTIONS] FILE",
        .text = "The daemon must be stopped.",
        .examples = "  cella restore cella.tar\n"
                    "  cella restore --force cella.tar\n",
        .options = restore_options,
        .n_options = ARRAY_LEN(restore_options),
        .main = restore_main,
};
