#include "core/pool/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/runtime.h"
#include "engine/command.h"
#include "image/store/store.h"
#include "snapshot/programs.h"
#include "snapshot/release.h"
#include "sys/file.h"
#include "sys/rights.h"

#define HOLD_ROOM 64 /* arguments and variables of a shell, see snapshot/hold.c */
#define WAITS_IN "/workspace"
#define WORKSPACE WAITS_IN "/"

/* Descriptors of the process after the first three, as the programs in snapshot/ expect them. */
#define PRELOAD_HOLD "LD_PRELOAD=/proc/self/fd/4"
#define PRELOAD_PYTHON "LD_PRELOAD=/proc/self/fd/7"

static const struct {
        const char *program;
        enum waiting_kind kind;
        const char *script;
} kinds[] = {
        {"python3", WAITING_TEMPLATE, "main.py"},
        {"node", WAITING_SCRIPT, "main.js"},
        {"sh", WAITING_SHELL, NULL},
        {"bash", WAITING_SHELL, NULL},
};

void waiting_how(const char *name, struct waiting_how *ret)
{
        struct runtime runtime;
        *ret = (struct waiting_how){.kind = WAITING_NOT, .template_fd = -1};
        if (runtime_find(name, &runtime) < 0)
                return;
        snprintf(ret->program, sizeof ret->program, "%s", runtime.program);
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (!strncmp(kinds[i].program, runtime.program, strlen(kinds[i].program)) &&
                    strspn(runtime.program + strlen(kinds[i].program), ".0123456789") ==
                            strlen(runtime.program + strlen(kinds[i].program)))
                        ret->kind = kinds[i].kind;
}

const char *waiting_script(const struct waiting_how *how)
{
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
                if (kinds[i].kind == how->kind)
                        return kinds[i].script;
        return NULL;
}

/* ---- checks ---- */

/* Whether an interpreter, its libc or its linker reads this variable when it starts, or it affects how the
 * interpreter is found. */
static bool belongs_to_start(const char *pair)
{
        static const char *const prefixes[] = {
                "PYTHON", "LD_",       "LC_",      "LANG",     "MALLOC_",     "GLIBC_", "TZ",    "OPENSSL",
                "NODE",   "OMP_",      "OPENBLAS", "MKL_",     "BASH",        "ENV=",   "HOME=", "PATH=",
                "UV_",    "SHELLOPTS", "POSIXLY_", "NO_COLOR", "FORCE_COLOR", "HOLD_"};
        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
                if (!strncmp(pair, prefixes[i], strlen(prefixes[i])))
                        return true;
        return false;
}

/* A proxy variable of the caller replaces ours in every spelling, but ours are already set. */
static bool names_proxy(const char *pair)
{
        const char *end = strchr(pair, '=');
        return end && end - pair > 6 && !strncasecmp(end - 6, "_proxy", 6);
}

static size_t count(const char *const *list)
{
        size_t n = 0;
        while (list && list[n])
                n++;
        return n;
}

static size_t bytes(const char *const *list)
{
        size_t n = 0;
        for (; list && *list; list++)
                n += strlen(*list) + 1;
        return n;
}

/* Whether a file beside the script would be imported instead of a module that is already imported.  Files in
 * subdirectories are ignored: packages may have modules with such names. */
static bool shadows(const struct waiting_how *how, const char *path)
{
        char name[130];
        if (!strncmp(path, WORKSPACE, strlen(WORKSPACE)))
                path += strlen(WORKSPACE);
        if (strstr(path, "/.")) /* sub/../json.py */
                return true;
        size_t len = strcspn(path, "./");
        if (!how->modules || len == 0 || len > 100)
                return path[0] == '/' || path[0] == '.';
        snprintf(name, sizeof name, " %.*s ", (int)len, path);
        return strstr(how->modules, name) != NULL;
}

/* "# -*- coding: latin-1 -*-" */
static bool declares_encoding(const char *line, size_t len)
{
        const char *word;
        if (len > 3 && !memcmp(line, "\xef\xbb\xbf", 3)) /* a byte order mark */
                line += 3, len -= 3;
        while (len > 0 && (*line == ' ' || *line == '\t' || *line == '\f'))
                line++, len--;
        if (len == 0 || *line != '#' || !(word = memmem(line, len, "coding", 6)))
                return false;
        return word + 6 < line + len && (word[6] == ':' || word[6] == '=');
}

/* Whether the code behaves differently in a file: the first two lines may declare an encoding, and error
 * messages about unreadable or incomplete code depend on its source. */
static bool depends_on_file(const char *code, size_t len)
{
        size_t at = 0;
        for (int lines = 0; lines < 2 && at < len; lines++) {
                const char *end = memchr(code + at, '\n', len - at);
                size_t n = end ? (size_t)(end - code) - at : len - at;
                if (declares_encoding(code + at, n))
                        return true;
                at += n + 1;
        }
        return len > 0 && code[len - 1] == '\\';
}

bool waiting_fits(const struct waiting_how *how, const struct exec_request *r)
{
        const char *script = waiting_script(how);
        size_t n_args = count((const char *const *)r->argv);
        if (!r->runtime || !r->code || r->cwd || memchr(r->code, '\0', r->code_len))
                return false;
        if (how->kind == WAITING_NOT)
                return true;
        if (how->kind == WAITING_TEMPLATE && depends_on_file(r->code, r->code_len))
                return false;
        if (how->kind == WAITING_SCRIPT && n_args > 0) /* Node has already built process.argv */
                return false;
        if (how->kind == WAITING_SHELL &&
            n_args + count((const char *const *)r->env) + how->n_env + 32 > HOLD_ROOM)
                return false;
        if (r->code_len + bytes((const char *const *)r->argv) + bytes((const char *const *)r->env) >
            RELEASE_MAX - 4096)
                return false;
        for (const char *const *e = (const char *const *)r->env; e && *e; e++)
                if (belongs_to_start(*e) || (how->kind == WAITING_SCRIPT && names_proxy(*e)))
                        return false;
        for (size_t i = 0; i < r->n_files && script; i++) {
                const char *path = r->files[i].path;
                if (shadows(how, path) || strstr(path, script) || strstr(path, "package.json") ||
                    strstr(path, "customize"))
                        return false;
        }
        return true;
}

/* ---- starting ---- */

/* Makes a sealed file with a program for a sandbox.  Code can open this file through /proc/self/exe and
 * change its mode, attributes and locks, so each sandbox gets a new one. */
static int make_program(const char *name, const char *data, uint64_t len)
{
        int made = sys_memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (made < 0)
                return made;
        int r = sys_write_all(made, data, len);
        if (r == 0 && fchmod(made, 0555) < 0)
                r = -errno;
        if (r == 0 && fcntl(made, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
                r = -errno;
        if (r < 0)
                close(made);
        return r < 0 ? r : made;
}

/* Returns a program that code cannot open; it is made once. */
static int program_fd(int *fd, const char *name, const char *data, uint64_t len)
{
        if (*fd < 0)
                *fd = make_program(name, data, len);
        return *fd;
}

static int hold_fd = -1, python_fd = -1, null_fd = -1;

int waiting_restore_make(void)
{
        return make_program("python3", snapshot_restore, snapshot_restore_len);
}

static int open_null(void)
{
        if (null_fd < 0)
                null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        return null_fd < 0 ? -errno : null_fd;
}

/* Makes a socket pair: ret[0] for the server, ret[1] for the process. */
static int make_control(int ret[2], struct cella_err *err)
{
        const int room = 2 * RELEASE_MAX; /* a release message is sent completely or not at all */
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) < 0)
                return err_set(err, CELLA_OVER_CAPACITY, -errno, "cannot create a socket");
        setsockopt(ret[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        if (fcntl(ret[0], F_SETFL, O_NONBLOCK) < 0) {
                int r = -errno;
                close(ret[0]);
                close(ret[1]);
                return err_set(err, CELLA_INTERNAL, r, "cannot create a socket");
        }
        return 0;
}

/* Sends INIT_SPAWN with these descriptors, which are borrowed. */
static int send_spawn(struct core_sandbox *sb, uint32_t tag, const struct cella_command *command,
                      uint32_t flags, const int *given, unsigned n_given, struct cella_err *err)
{
        AUTO(command_form_done) struct command_form form = {0};
        const struct command_place place = {.foreign_home = sb->workspace != WORKSPACE_NONE,
                                            .network = sb->network.tier != TIER_RESTRICTED,
                                            .image = used_image_get(sb->image)};
        int r = command_fill(&form, &place, command, err);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < n_given; i++)
                if (given[i] < 0)
                        return err_set(err, CELLA_INTERNAL, given[i], "cannot hand a file to the sandbox");
        form.head.flags = flags;
        r = channel_lend(sb->channel, INIT_SPAWN, tag, given, n_given, &form.head, sizeof form.head,
                         form.data, form.len);
        return r < 0 ? err_set(err, r == -ENOBUFS ? CELLA_OVER_CAPACITY : CELLA_INTERNAL, r,
                               "cannot talk to the sandbox")
                     : 0;
}

/* Reserves space in the kernel's block of arguments and variables. */
static const char *const *shell_environment(void)
{
        static const char *list[HOLD_ROOM + 2];
        for (size_t i = 0; !list[0] && i < HOLD_ROOM; i++)
                list[1 + i] = "_=";
        list[0] = PRELOAD_HOLD;
        return list;
}

/* Returns the program as for normal execution: an image has the paths of its runtimes (node22 may be a file
 * called node). */
static const char *program_in(const struct core_sandbox *sb, const char *name)
{
        const struct image *image = used_image_get(sb->image);
        const char *known = image ? image_runtime(image, name) : NULL;
        return known ? known : name;
}

/* Starts our program that restores a template, instead of the interpreter. */
static int spawn_template(struct core_sandbox *sb, uint32_t tag, const struct waiting_how *how,
                          const struct cella_command *command, uint32_t flags, const int standard[3],
                          int control, struct cella_err *err)
{
        AUTO(sys_close) int program = waiting_restore_make();
        const int given[] = {standard[0], standard[1], standard[2], control, how->template_fd, program};
        return send_spawn(sb, tag, command, flags | INIT_PROGRAM, given, ARRAY_LEN(given), err);
}

static uint32_t spawn_flags(const struct core_sandbox *sb, bool tell_started)
{
        return INIT_ALONE | INIT_LIST_ADDED | (tell_started ? INIT_TELL_STARTED : 0) |
               (sb->counted ? INIT_ANNOUNCES : 0); /* otherwise usage is known only after its death */
}

int waiting_spawn(struct core_sandbox *sb, uint32_t tag, const struct waiting_how *how, int *ret_control,
                  struct cella_err *err)
{
        const char *const node_env[] = {PRELOAD_HOLD, "HOLD_AT=/workspace/main.js",
                                        how->bare ? NULL : "NODE_OPTIONS=--require=/dev/null", NULL};
        const char *argv[3] = {program_in(sb, how->program), waiting_script(how), NULL};
        struct cella_command command = {.argv = argv, .cwd = WAITS_IN, .stdin_fd = -1, .cancel_fd = -1};
        const int null = open_null(), standard[] = {null, null, null};
        int pair[2];
        if (null < 0)
                return err_set(err, CELLA_INTERNAL, null, "/dev/null");
        int r = how->kind == WAITING_NOT ? -EINVAL : make_control(pair, err);
        if (r < 0)
                return r;
        AUTO(sys_close) int control = pair[0], theirs = pair[1];
        if (how->kind == WAITING_TEMPLATE) {
                r = spawn_template(sb, tag, how, &command, spawn_flags(sb, true), standard, theirs, err);
        } else {
                const int hold = program_fd(&hold_fd, "hold", snapshot_hold_so, snapshot_hold_so_len);
                const int given[] = {null, null, null, theirs, hold};
                command.env = how->kind == WAITING_SCRIPT ? node_env : shell_environment();
                r = send_spawn(sb, tag, &command, spawn_flags(sb, true), given, ARRAY_LEN(given), err);
        }
        if (r == 0)
                *ret_control = TAKE_FD(control);
        return r;
}

/* Writes the module names after the head, which contains their length.  The first one is "-" unless the list
 * is empty: the standard library is hidden in the template. */
static ssize_t put_preload(char *body, size_t size, const json_t *preload, struct cella_err *err)
{
        struct release_head head = {0};
        size_t len = sizeof head, i;
        json_t *name;
        if (json_is_string(preload) || json_array_size(preload) > 0) {
                memcpy(body + len, "-", 2);
                len += 2;
        }
        json_array_foreach ((json_t *)preload, i, name) {
                size_t n = json_string_length(name) + 1;
                if (len + n > size)
                        return err_say(err, CELLA_TOO_LARGE, -E2BIG, "too many modules to preload");
                memcpy(body + len, json_string_value(name), n);
                len += n;
        }
        head.length = (uint32_t)(len - sizeof head);
        memcpy(body, &head, sizeof head);
        return (ssize_t)len;
}

/* Makes the file that the interpreter runs first.  It is read from its start, so it cannot be shared. */
static int boot_fd(struct cella_err *err)
{
        AUTO(sys_close) int boot = sys_memfd_create("python.py", MFD_CLOEXEC);
        if (boot < 0 || sys_write_all(boot, snapshot_hidden_py, snapshot_hidden_py_len) < 0 ||
            sys_write_all(boot, snapshot_learned_py, snapshot_learned_py_len) < 0 ||
            sys_write_all(boot, snapshot_python_py, snapshot_python_py_len + 1) < 0 ||
            sys_write_all(boot, snapshot_context_py, snapshot_context_py_len) < 0 ||
            lseek(boot, 0, SEEK_SET) < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "python.py");
        return TAKE_FD(boot);
}

int waiting_spawn_maker(struct core_sandbox *sb, uint32_t tag, const char *program, int template_fd,
                        const json_t *preload, int *ret_control, struct cella_err *err)
{
        static const char *const env[] = {PRELOAD_PYTHON, NULL};
        const char *argv[] = {program_in(sb, program), "main.py", NULL};
        const struct cella_command command = {
                .argv = argv, .env = env, .cwd = WAITS_IN, .stdin_fd = -1, .cancel_fd = -1};
        char body[sizeof(struct release_head) + RELEASE_MAX / 4];
        int pair[2];
        ssize_t len = put_preload(body, sizeof body, preload, err);
        if (len < 0)
                return (int)len;
        /* Pipes, because the code will have pipes and an interpreter checks them when it starts. */
        if (pipe2(pair, O_CLOEXEC) < 0)
                return err_set(err, CELLA_OVER_CAPACITY, -errno, "cannot make a pipe");
        AUTO(sys_close) int in = pair[0], out = pair[1], boot = boot_fd(err);
        if (boot < 0)
                return boot;
        AUTO(sys_close) int restore = waiting_restore_make();
        int r = make_control(pair, err);
        if (r < 0)
                return r;
        AUTO(sys_close) int control = pair[0], theirs = pair[1];
        const int given[] = {
                in,          out,
                out,         theirs,
                template_fd, boot,
                restore,     program_fd(&python_fd, "python", snapshot_python_so, snapshot_python_so_len)};
        if ((r = send_spawn(sb, tag, &command, INIT_ALONE, given, ARRAY_LEN(given), err)) < 0)
                return r;
        if (send(control, body, (size_t)len, MSG_NOSIGNAL) != len)
                return err_set(err, CELLA_INTERNAL, -EIO, "cannot talk to the interpreter");
        *ret_control = TAKE_FD(control);
        return 0;
}

/* ---- releasing ---- */

static int send_release(int control, const struct release_head *head, const struct iovec *parts, int n_parts,
                        int fds[3])
{
        struct iovec vectors[8] = {{(void *)head, sizeof *head}};
        struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 1 + (size_t)n_parts};
        union sys_rights rights;
        ssize_t whole = (ssize_t)sizeof *head;
        for (int i = 0; i < n_parts; i++) {
                vectors[1 + i] = parts[i];
                whole += (ssize_t)parts[i].iov_len;
        }
        sys_rights_put(&message, &rights, fds, 3);
        long sent = sys_rights_send_msg(control, &message, 0);
        int r = sent == whole ? 0 : sent < 0 ? (int)sent : -EMSGSIZE;
        for (int i = 0; i < 3; i++)
                close(fds[i]);
        return r;
}

static size_t append(char *to, const char *const *list)
{
        char *at = to;
        for (; list && *list; list++) {
                size_t n = strlen(*list) + 1;
                memcpy(at, *list, n);
                at += n;
        }
        return (size_t)(at - to);
}

/* Sends a shell its complete command line and environment. */
static int release_shell(int control, const struct exec_request *r, const struct core_sandbox *sb, int fds[3],
                         struct cella_err *err)
{
        AUTO(command_form_done) struct command_form form = {0};
        const struct command_place place = {.network = sb->network.tier != TIER_RESTRICTED,
                                            .image = used_image_get(sb->image)};
        const struct cella_command command = {.argv = (const char *const *)r->argv,
                                              .runtime = r->runtime,
                                              .code = r->code,
                                              .code_len = r->code_len,
                                              .env = (const char *const *)r->env};
        int e = command_fill(&form, &place, &command, err);
        if (e == 0 && form.file_name[0])
                e = -E2BIG;
        if (e < 0) {
                for (int i = 0; i < 3; i++)
                        close(fds[i]);
                return e;
        }
        /* It is already in this directory. */
        const size_t skipped = strcmp(form.data, WAITS_IN) == 0 ? strlen(WAITS_IN) : 0;
        const struct release_head head = {
                .length = (uint32_t)(form.len - skipped), .argc = form.head.argc, .envc = form.head.envc};
        const struct iovec part = {form.data + skipped, form.len - skipped};
        return send_release(control, &head, &part, 1, fds);
}

/* The environment in a template comes from a sandbox without a network, so proxy variables are added. */
static void proxy_of(bool network, const char *const *env, const char *ret[COMMAND_PROXY_MAX + 1])
{
        ret[0] = NULL;
        if (network)
                command_proxy(env, ret);
}

/* A release message: head, arguments and variables, code. */
struct release_form {
        struct release_head head;
        struct iovec parts[2];
};

static void form_release(const struct exec_request *r, bool network, struct release_form *ret)
{
        static char words[RELEASE_MAX];
        const char *proxy[COMMAND_PROXY_MAX + 1];
        size_t len = 1; /* cwd: unchanged */
        words[0] = '\0';
        proxy_of(network, (const char *const *)r->env, proxy);
        len += append(words + len, (const char *const *)r->argv);
        len += append(words + len, proxy);
        len += append(words + len, (const char *const *)r->env);
        *ret = (struct release_form){
                .head = {.length = (uint32_t)(len + r->code_len),
                         .mode = RELEASE_SCRIPT,
                         .argc = (uint32_t)count((const char *const *)r->argv),
                         .envc = (uint32_t)(count(proxy) + count((const char *const *)r->env)),
                         .code_length = (uint32_t)r->code_len},
                .parts = {{words, len}, {(void *)r->code, r->code_len}},
        };
}

static int release_code(int control, const struct exec_request *r, bool network, int fds[3])
{
        struct release_form form;
        form_release(r, network, &form);
        return send_release(control, &form.head, form.parts, 2, fds);
}

int waiting_release(int control, const struct waiting_how *how, const struct exec_request *r,
                    const struct core_sandbox *sb, int fds[3], struct cella_err *err)
{
        const bool network = sb->network.tier != TIER_RESTRICTED;
        int e = how->kind == WAITING_SHELL
                        ? release_shell(control, r, sb, fds, err)
                        : release_code(control, r, network && how->kind == WAITING_TEMPLATE, fds);
        return e < 0 ? err_set(err, CELLA_INTERNAL, e, "cannot talk to the interpreter") : 0;
}

/* Makes a file that a restored process reads instead of a socket: see release.h. */
static int make_release(const struct exec_request *r, bool network)
{
        struct release_form form;
        form_release(r, network, &form);
        const struct iovec all[] = {{&form.head, sizeof form.head}, form.parts[0], form.parts[1]};
        AUTO(sys_close) int fd = sys_memfd_create("release", MFD_CLOEXEC);
        if (fd < 0)
                return fd;
        ssize_t n = pwritev(fd, all, ARRAY_LEN(all), sizeof(struct release_ready));
        if (n != (ssize_t)(sizeof form.head + form.head.length))
                return n < 0 ? -errno : -ENOSPC;
        return TAKE_FD(fd);
}

int waiting_spawn_released(struct core_sandbox *sb, uint32_t tag, const struct waiting_how *how,
                           const struct exec_request *r, bool tell_started, int fds[3], int *ret_control,
                           struct cella_err *err)
{
        const char *argv[3] = {program_in(sb, how->program), waiting_script(how), NULL};
        struct cella_command command = {.argv = argv, .cwd = WAITS_IN, .stdin_fd = -1, .cancel_fd = -1};
        AUTO(sys_close) int release = make_release(r, sb->network.tier != TIER_RESTRICTED);
        int e = release < 0 ? err_set(err, CELLA_INTERNAL, release, "cannot make a file of the code")
                            : spawn_template(sb, tag, how, &command, spawn_flags(sb, tell_started), fds,
                                             release, err);
        for (int i = 0; i < 3; i++)
                close(fds[i]);
        if (e == 0)
                *ret_control = TAKE_FD(release);
        return e;
}

static bool said_in_socket(int control, uint64_t *ret_cpu_us, bool *ret_unread)
{
        struct release_ready said;
        bool ready = false;
        ssize_t n;
        while ((n = recv(control, &said, sizeof said, MSG_DONTWAIT)) == sizeof said &&
               said.ready == RELEASE_READY) {
                *ret_cpu_us = said.cpu_us;
                ready = true;
        }
        *ret_unread = n < 0 && errno == ECONNRESET;
        return ready;
}

static bool said_in_file(int control, uint64_t *ret_cpu_us, bool *ret_unread)
{
        struct release_ready said;
        struct stat st;
        if (pread(control, &said, sizeof said, 0) != sizeof said || said.ready != RELEASE_READY)
                return false;
        *ret_cpu_us = said.cpu_us;
        /* Both processes share the file offset. */
        *ret_unread = fstat(control, &st) == 0 && lseek(control, 0, SEEK_CUR) < st.st_size;
        return true;
}

bool waiting_said(int control, bool file, uint64_t *ret_cpu_us, bool *ret_unread)
{
        *ret_unread = false;
        return file ? said_in_file(control, ret_cpu_us, ret_unread)
                    : said_in_socket(control, ret_cpu_us, ret_unread);
}

void waiting_soon(int control)
{
        const struct release_head head = {.mode = RELEASE_SOON};
        (void)!send(control, &head, sizeof head, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int waiting_release_driver(int control, const struct core_sandbox *sb)
{
        char words[1024] = "";
        const struct command_place place = {.foreign_home = sb->workspace != WORKSPACE_NONE,
                                            .image = used_image_get(sb->image)};
        const char *proxy[COMMAND_PROXY_MAX + 1], *home[COMMAND_HOME_MAX + 1] = {NULL};
        proxy_of(sb->network.tier != TIER_RESTRICTED, NULL, proxy);
        if (place.foreign_home)
                command_home(&place, home);
        if (bytes(proxy) + bytes(home) > sizeof words - 1)
                return -E2BIG;
        size_t len = 1 + append(words + 1, proxy);
        len += append(words + len, home);
        const struct release_head head = {.length = (uint32_t)len,
                                          .mode = RELEASE_CONTEXT,
                                          .envc = (uint32_t)(count(proxy) + count(home))};
        const struct iovec parts[] = {{(void *)&head, sizeof head}, {words, len}};
        const struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = 2};
        return sendmsg(control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)(sizeof head + len) ? 0
                                                                                                       : -EIO;
}
