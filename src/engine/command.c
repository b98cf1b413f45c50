#include "engine/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/runtime.h"
#include "engine/terminal.h"
#include "wire/egress.h"
#include "wire/init.h"
#include "wire/message.h"

#define ARGUMENT_MAX (100u * 1024) /* the kernel allows 128 KiB; longer code is a file */
#define PATH_INSIDE "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *const clean_environment[] = {
        "TMPDIR=/tmp", "LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=dumb", NULL,
};

/* pip refuses to install anything where the distribution has marked its Python as its own (PEP 668).  In a
 * sandbox /usr is read-only and cannot be damaged; pip then installs into HOME.  Code that is not isolated
 * does not get these variables.  Both programs would look for a newer version of themselves after each
 * command, which costs time and is a refused connection. */
static const char *const package_environment[] = {
        "PIP_BREAK_SYSTEM_PACKAGES=1",
        "PIP_DISABLE_PIP_VERSION_CHECK=1",
        "npm_config_update_notifier=false",
        NULL,
};

/* For programs that use a proxy only if one is configured. */
#define DIRECT "localhost,127.0.0.1,::1"
static const char *const proxy_environment[] = {
        "HTTP_PROXY=" EGRESS_PROXY_URL,
        "http_proxy=" EGRESS_PROXY_URL,
        "HTTPS_PROXY=" EGRESS_PROXY_URL,
        "https_proxy=" EGRESS_PROXY_URL,
        "NO_PROXY=" DIRECT,
        "no_proxy=" DIRECT,
        NULL,
};

void command_form_done(struct command_form *b)
{
        free(b->data);
        *b = (struct command_form){0};
}

static int command_add(struct command_form *b, const char *text, struct cella_err *err)
{
        size_t n = strlen(text) + 1;
        if (b->len + n > INIT_REQUEST_MAX - sizeof b->head)
                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "arguments and environment are over %u bytes",
                               INIT_REQUEST_MAX);
        if (b->len + n > b->size) {
                size_t size = (b->len + n) * 2 + 1024;
                char *data = realloc(b->data, size);
                if (!data)
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "command");
                b->data = data;
                b->size = size;
        }
        memcpy(b->data + b->len, text, n);
        b->len += n;
        return 0;
}

static int add_argument(struct command_form *b, const char *text, struct cella_err *err)
{
        if (++b->head.argc > INIT_STRINGS_MAX / 2)
                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "more than %u arguments", INIT_STRINGS_MAX / 2);
        return command_add(b, text, err);
}

static bool names_variable(const char *pair)
{
        size_t len = strcspn(pair, "=");
        return len > 0 && pair[len] == '=';
}

static bool overridden(const char *pair, const char *const *env, bool in_any_case)
{
        size_t len = strcspn(pair, "=") + 1;
        for (; env && *env; env++)
                if (in_any_case ? !strncasecmp(*env, pair, len) : !strncmp(*env, pair, len))
                        return true;
        return false;
}

static int add_variable(struct command_form *b, const char *pair, struct cella_err *err)
{
        if (!names_variable(pair))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "environment '%.60s' is not of the form NAME=VALUE", pair);
        if (++b->head.envc > INIT_STRINGS_MAX / 2)
                return err_say(err, CELLA_TOO_LARGE, -E2BIG, "more than %u variables", INIT_STRINGS_MAX / 2);
        return command_add(b, pair, err);
}

static int add_unless_overridden(struct command_form *b, const char *const *pairs, const char *const *env,
                                 bool in_any_case, struct cella_err *err)
{
        int r = 0;
        for (; *pairs && r == 0; pairs++)
                if (!overridden(*pairs, env, in_any_case))
                        r = add_variable(b, *pairs, err);
        return r;
}

void command_proxy(const char *const *env, const char *ret[COMMAND_PROXY_MAX + 1])
{
        _Static_assert(ARRAY_LEN(proxy_environment) <= COMMAND_PROXY_MAX + 1, "too many variables");
        for (const char *const *pair = proxy_environment; *pair; pair++)
                if (!overridden(*pair, env, true))
                        *ret++ = *pair;
        *ret = NULL;
}

static bool is_root(const struct command_place *place)
{
        return place->image && (place->user_root || place->image->uid == 0);
}

/* Programs write to HOME.  A host directory mounted as workspace must not get such files. */
static const char *home_of(const struct command_place *place)
{
        return is_root(place) ? "HOME=/root" : place->foreign_home ? "HOME=/tmp" : "HOME=/workspace";
}

/* The home directory of root ends with the sandbox; packages of a user (pip install --user) shall stay.
 * NULL: they are in HOME. */
static const char *user_base_of(const struct command_place *place)
{
        return !is_root(place)       ? NULL
               : place->foreign_home ? "PYTHONUSERBASE=/tmp/.local"
                                     : "PYTHONUSERBASE=/workspace/.local";
}

/* Programs of installed packages come last, so that none replaces one of the machine or the image. */
static const char *path_of(const struct command_place *place)
{
        return place->foreign_home ? PATH_INSIDE ":/tmp/.local/bin" : PATH_INSIDE ":/workspace/.local/bin";
}

static int add_image_path(struct command_form *b, const struct command_place *place, const char *path,
                          struct cella_err *err)
{
        char *all = NULL;
        int r = asprintf(&all, "%s:%s", path,
                         place->foreign_home ? "/tmp/.local/bin" : "/workspace/.local/bin");
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "command");
        r = add_variable(b, all, err);
        free(all);
        return r;
}

/* Adds the variables of the image, and PATH, HOME and those for packages if the image does not set them. */
static int add_image_environment(struct command_form *b, const struct command_place *place,
                                 const struct cella_command *command, struct cella_err *err)
{
        const char *always[3 + ARRAY_LEN(package_environment)] = {path_of(place), home_of(place)};
        int r = 0;
        memcpy(always + 2, package_environment, sizeof package_environment);
        always[1 + ARRAY_LEN(package_environment)] = user_base_of(place); /* in place of the NULL */
        for (const char *const *e = always; *e && r == 0; e++)
                if (!overridden(*e, place->image->env, false) && !overridden(*e, command->env, false))
                        r = add_variable(b, *e, err);
        for (const char *const *e = place->image->env; *e && r == 0; e++)
                if (names_variable(*e) && !overridden(*e, command->env, false))
                        r = strncmp(*e, "PATH=/", 6) != 0 ? add_variable(b, *e, err)
                                                          : add_image_path(b, place, *e, err);
        return r;
}

void command_home(const struct command_place *place, const char *ret[COMMAND_HOME_MAX + 1])
{
        const bool foreign = place->foreign_home;
        if (!place->image || !overridden("HOME=", place->image->env, false))
                *ret++ = home_of(place);
        if (is_root(place) && !overridden("PYTHONUSERBASE=", place->image->env, false))
                *ret++ = user_base_of(place);
        if (!place->image) {
                *ret++ = path_of(place);
                *ret++ = foreign ? "npm_config_prefix=/tmp/.local" : "npm_config_prefix=/workspace/.local";
        }
        *ret = NULL;
}

static int add_clean_environment(struct command_form *b, const struct command_place *place,
                                 const struct cella_command *command, struct cella_err *err)
{
        const char *const user[] = {place->user_root ? "USER=root" : "USER=user",
                                    place->user_root ? "LOGNAME=root" : "LOGNAME=user", NULL};
        const char *home[COMMAND_HOME_MAX + 1];
        command_home(place, home);
        const char *const *const lists[] = {home, user, clean_environment, package_environment};
        int r = 0;
        for (size_t i = 0; i < ARRAY_LEN(lists) && r == 0; i++)
                if (lists[i] != package_environment || !place->direct)
                        r = add_unless_overridden(b, lists[i], command->env, false, err);
        return r;
}

static int add_environment(struct command_form *b, const struct command_place *place,
                           const struct cella_command *command, struct cella_err *err)
{
        int r = place->image ? add_image_environment(b, place, command, err)
                             : add_clean_environment(b, place, command, err);
        /* Programs differ in which spelling they read first, so a variable of the caller in any case replaces
         * both. */
        if (r == 0 && place->network)
                r = add_unless_overridden(b, proxy_environment, command->env, true, err);
        for (const char *const *e = command->env; e && *e && r == 0; e++)
                r = add_variable(b, *e, err);
        /* Only tests without this wall inherit the environment. */
        for (char **e = environ; place->inherits && *e && r == 0; e++)
                if (!overridden(*e, clean_environment, false) && strncmp(*e, "PATH=", 5) != 0)
                        r = add_variable(b, *e, err);
        return r;
}

/* Whether the code can be passed as an argument instead of a file. */
static bool fits_argument(const struct runtime *runtime, const struct cella_command *command)
{
        bool mixed_up = command->argv && command->argv[0] && runtime->before && !runtime->before[0];
        return runtime->eval && !command->file_name && !mixed_up && command->code_len <= ARGUMENT_MAX &&
               !memchr(command->code, '\0', command->code_len);
}

static int too_long(struct cella_err *err)
{
        return err_say(err, CELLA_TOO_LARGE, -EFBIG, "the code is over %u bytes", INIT_REQUEST_MAX - 1024);
}

/* Writes the code to a file; the compiler runs first, and its output is the command. */
static int add_compiled(struct command_form *b, const struct command_place *place,
                        const struct cella_command *command, const struct runtime *runtime,
                        struct cella_err *err)
{
        char slot[16] = "";
        if (place->slot > 0 && !place->own_workspace)
                snprintf(slot, sizeof slot, "%u", place->slot);
        if (command->file_name)
                snprintf(b->file_name, sizeof b->file_name, "%s", command->file_name);
        else
                snprintf(b->file_name, sizeof b->file_name, "%s%s.%s",
                         place->direct && !place->own_workspace ? "cella" : "main", slot, runtime->extension);
        b->in_workspace = place->direct || (place->own_workspace && !command->file_name);
        int r = command->code_len > INIT_REQUEST_MAX - 1024
                        ? too_long(err)
                        : compile_name(runtime, b->file_name, sizeof b->file_name, err);
        if (r == 0)
                r = compile_plan(&b->compile, runtime, b->in_workspace ? "/workspace" : "/run", b->file_name,
                                 command->cwd ? command->cwd : "/workspace",
                                 place->direct ? "/workspace" : "/run", err);
        if (r < 0)
                return r;
        b->head.flags |= INIT_MADE;
        return add_argument(b, b->compile.out, err);
}

/* Compiles a file that is in the sandbox already. */
static int add_compiled_file(struct command_form *b, const struct cella_command *command,
                             const struct runtime *runtime, struct cella_err *err)
{
        const char *slash = strrchr(command->code_file, '/');
        const size_t len = slash ? (size_t)(slash - command->code_file) : sizeof b->code_dir;
        if (len >= sizeof b->code_dir)
                return err_say(err, CELLA_TOO_LARGE, -ENAMETOOLONG, "the path of the code is too long");
        memcpy(b->code_dir, command->code_file, len);
        int r = compile_plan(&b->compile, runtime, b->code_dir, slash + 1,
                             command->cwd ? command->cwd : "/workspace", "/run", err);
        b->head.flags |= INIT_MADE;
        return r < 0 ? r : add_argument(b, b->compile.out, err);
}

/* Uses a file in the workspace with an ordinary name. */
static int add_script(struct command_form *b, const struct cella_command *command, struct cella_err *err)
{
        char path[300];
        snprintf(b->file_name, sizeof b->file_name, "main.%s", b->runtime.extension);
        b->in_workspace = true;
        snprintf(path, sizeof path, "%s%s", command->cwd ? "/workspace/" : "", b->file_name);
        return command->code_len > INIT_REQUEST_MAX - 1024 ? too_long(err) : add_argument(b, path, err);
}

static int add_code_argument(struct command_form *b, const struct cella_command *command,
                             struct cella_err *err)
{
        AUTO(command_form_done)
        struct command_form code = {.data = strndup(command->code, command->code_len)};
        if (!code.data)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "command");
        int r = add_argument(b, b->runtime.eval, err);
        if (r == 0)
                r = add_argument(b, code.data, err);
        if (r == 0 && b->runtime.before && command->argv && command->argv[0])
                r = add_argument(b, b->runtime.before, err);
        return r;
}

static int add_code_file(struct command_form *b, const struct command_place *place,
                         const struct cella_command *command, struct cella_err *err)
{
        char path[300];
        const char *extension = b->runtime.extension;
        if (command->code_len > INIT_REQUEST_MAX - 1024)
                return too_long(err);
        b->in_workspace = place->direct;
        if (command->file_name)
                snprintf(b->file_name, sizeof b->file_name, "%s", command->file_name);
        else if (place->direct && !place->own_workspace) /* the caller may have a main.* there */
                snprintf(b->file_name, sizeof b->file_name, "cella.%s", extension);
        else if (place->slot > 0)
                snprintf(b->file_name, sizeof b->file_name, "main%u.%s", place->slot, extension);
        else
                snprintf(b->file_name, sizeof b->file_name, "main.%s", extension);
        int r = b->runtime.verb ? add_argument(b, b->runtime.verb, err) : 0;
        if (r < 0)
                return r;
        snprintf(path, sizeof path, "/%s/%s", b->in_workspace ? "workspace" : "run", b->file_name);
        return add_argument(b, path, err);
}

static int add_runtime(struct command_form *b, const struct command_place *place,
                       const struct cella_command *command, struct cella_err *err)
{
        int r = runtime_find(command->runtime, &b->runtime);
        if (r < 0)
                return command_explain(place->image, command, r, err);
        const char *known = command->program ? command->program
                            : place->image   ? image_runtime(place->image, command->runtime)
                                             : NULL;
        b->runtime.program = known ? known : b->runtime.program;
        if (!command->code && !command->code_file && !b->runtime.repl)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%.60s needs code", command->runtime);
        if (b->runtime.compile && command->code_file)
                return add_compiled_file(b, command, &b->runtime, err);
        if (b->runtime.compile)
                return add_compiled(b, place, command, &b->runtime, err);
        if ((r = add_argument(b, b->runtime.program, err)) < 0)
                return r;
        if (command->code_file && b->runtime.verb && (r = add_argument(b, b->runtime.verb, err)) < 0)
                return r;
        if (command->code_file)
                return add_argument(b, command->code_file, err);
        if (!command->code)
                return 0;
        if (b->runtime.script && place->own_workspace && !command->file_name)
                return add_script(b, command, err);
        return fits_argument(&b->runtime, command) ? add_code_argument(b, command, err)
                                                   : add_code_file(b, place, command, err);
}

static int add_first_environment(struct command_form *b, const struct cella_command *command,
                                 struct cella_err *err)
{
        int r = add_unless_overridden(b, b->compile.env, command->env, false, err);
        b->head.first_envc = b->head.envc;
        b->head.envc = 0;
        return r;
}

static int add_first(struct command_form *b, struct cella_err *err)
{
        int r = b->compile.words[0] ? command_add(b, b->compile.cwd, err) : 0;
        for (const char *const *word = b->compile.words; *word && r == 0; word++, b->head.first_argc++)
                r = command_add(b, *word, err);
        return r;
}

/* A version with a program name of its own needs no check; otherwise the version is checked in the
 * sandbox. */
static int add_check(struct command_form *b, struct cella_err *err)
{
        const struct runtime *runtime = &b->runtime;
        if (!runtime->version || runtime->program == runtime->plain || strchr(runtime->program, '/'))
                return 0;
        b->head.check_argc = 2;
        int r = command_add(b, runtime->version, err);
        if (r == 0)
                r = command_add(b, runtime->plain, err);
        return r < 0 ? r
                     : command_add(b, runtime->version_option ? runtime->version_option : "--version", err);
}

static bool says_nothing(const struct cella_command *command)
{
        return !command->runtime && !(command->argv && command->argv[0]);
}

/* Code runs in the workspace, where its files are.  A command of an image runs in the image's directory, if
 * it has one. */
static const char *cwd_of(const struct image *image, const struct cella_command *command)
{
        if (command->cwd)
                return command->cwd;
        return image && !command->runtime && (image->cwd[1] || says_nothing(command)) ? image->cwd
                                                                                      : "/workspace";
}

static int add_arguments(struct command_form *b, const char *const *list, struct cella_err *err)
{
        int r = 0;
        for (; list && *list && r == 0; list++)
                r = add_argument(b, *list, err);
        return r;
}

int command_fill(struct command_form *b, const struct command_place *place,
                 const struct cella_command *command, struct cella_err *err)
{
        int r = command_add(b, cwd_of(place->image, command), err);
        if (r == 0 && command->runtime)
                r = add_runtime(b, place, command, err);
        if (r == 0 && says_nothing(command) && place->image) {
                r = add_arguments(b, place->image->entrypoint, err);
                if (r == 0)
                        r = add_arguments(b, place->image->cmd, err);
        }
        if (r == 0)
                r = add_arguments(b, command->argv, err);
        if (r == 0 && b->head.argc == 0)
                r = err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s",
                            place->image ? "a command is needed: the image has none" : "no command");
        if (r == 0)
                r = add_first_environment(b, command, err);
        if (r == 0)
                r = add_environment(b, place, command, err);
        if (r == 0)
                r = add_first(b, err);
        return r < 0 ? r : add_check(b, err);
}

static int command_put_file(struct sandbox *sb, const char *name, const struct cella_command *command,
                            struct cella_err *err)
{
        struct init_put_file head = {.mode = 0644, .name_len = (uint32_t)strlen(name)};
        char *body = malloc(sizeof head + head.name_len);
        struct message reply;
        char data[INIT_REPLY_MAX];
        if (!body)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "command");
        memcpy(body, &head, sizeof head);
        memcpy(body + sizeof head, name, head.name_len);
        int r = sandbox_wait_ready(sb, err);
        if (r < 0) {
                free(body);
                return r;
        }
        r = message_send(sb->control, INIT_PUT_FILE, 1, NULL, 0, body, sizeof head + head.name_len,
                         command->code, command->code_len);
        free(body);
        if (r == 0)
                r = message_receive(sb->control, &reply, data, sizeof data);
        if (r > 0)
                message_close_fds(&reply);
        if (r > 0 && reply.type == INIT_DONE)
                return 0;
        if (r > 0 && reply.type == INIT_FAILED && reply.len == sizeof *err) {
                struct cella_err cause;
                memcpy(&cause, data, sizeof cause);
                return err_set(err, CELLA_TOO_LARGE, cause.num < 0 ? cause.num : -EIO,
                               "cannot put the code's file into the sandbox");
        }
        return err_say(err, CELLA_INTERNAL, -EIO,
                       "the sandbox has ended while it received the file with the code");
}

int command_start(struct sandbox *sb, const struct image *image, const struct cella_command *command,
                  const int fds[3], struct cella_err *err)
{
        AUTO(command_form_done) struct command_form b = {0};
        const struct command_place place = {
                .foreign_home = sb->host_workspace,
                .user_root = sb->user_root,
                .network = sb->network,
                .inherits = !(sb->walls & WALL_HYGIENE),
                .image = image,
        };
        int r = command_fill(&b, &place, command, err);
        if (r == 0 && b.file_name[0])
                r = command_put_file(sb, b.file_name, command, err);
        if (r < 0)
                return r;
        b.head.flags |= command->final && !command->list_files ? INIT_FINAL : INIT_ALONE;
        if (command->terminal) {
                b.head.flags |= INIT_TERMINAL;
                b.head.columns = command->terminal->columns;
                b.head.rows = command->terminal->rows;
        }
        r = message_send(sb->control, INIT_SPAWN, 1, fds, command->terminal ? 0 : 3, &b.head, sizeof b.head,
                         b.data, b.len);
        return r < 0 && r != -EPIPE ? err_set(err, CELLA_INTERNAL, r, "cannot talk to the sandbox") : 0;
}

static const char *program_of(const struct image *image, const struct cella_command *command)
{
        if (command->argv && command->argv[0])
                return command->argv[0];
        const char *program = image ? image->entrypoint[0] ? image->entrypoint[0] : image->cmd[0] : NULL;
        return program ? program : "";
}

static int explain_runtime(const struct image *image, const char *name, int num, struct cella_err *err)
{
        struct runtime runtime;
        const char *near = parse_nearest(name, &runtimes[0].name, runtimes_len, sizeof runtimes[0]);
        err_say(err, CELLA_RUNTIME_NOT_FOUND, num, "runtime not found: %.60s", name);
        if (runtime_find(name, &runtime) < 0)
                return near ? err_hint(err, "did you mean %s? cella runtime ls shows what there is", near)
                            : err_hint(err, "cella runtime ls shows what there is; any program: cella run -- "
                                            "COMMAND");
        if (image)
                return err_hint(err,
                                "the image has no %.40s: cella runtime ls --image NAME shows what it has",
                                runtime.program);
        return err_hint(err, "apt-get install %s, or use an image that has it", runtime.package);
}

int command_explain(const struct image *image, const struct cella_command *command, int num,
                    struct cella_err *err)
{
        const char *program = program_of(image, command);
        if (num == -ENOTDIR)
                return err_say(err, CELLA_INVALID_REQUEST, num,
                               "cwd '%.100s' is not a directory in the sandbox", cwd_of(image, command));
        if (command->runtime && (num == -ENOENT || num == -EACCES))
                return explain_runtime(image, command->runtime, num, err);
        if (num == -ENOENT) {
                err_say(err, CELLA_NOT_FOUND, num, COMMAND_NOT_FOUND "%.100s", program);
                return err_hint(err, image ? "neither it nor a program that it needs is in the image"
                                           : "the sandbox sees programs in /usr, and what --mount and "
                                             "--workspace show it");
        }
        if (num == -EACCES)
                return err_say(err, CELLA_NOT_FOUND, num, "command cannot be executed: %.100s", program);
        if (num == -EAGAIN || num == -ENOMEM)
                return err_set(err, CELLA_INTERNAL, num, "the limits leave no room to start %.100s",
                               command->runtime ? command->runtime : program);
        return err_set(err, CELLA_INVALID_REQUEST, num, "cannot start %.100s",
                       command->runtime ? command->runtime : program);
}
