/* snapshot/hold.c -- makes a program that was started in advance wait for its task.
 *
 * It is loaded by LD_PRELOAD. A shell waits before its main(): the dynamic linker calls loaded() when all
 * libraries are loaded; loaded() stores the arguments and the environment where the program will read them,
 * and returns. If HOLD_AT is in the environment, the program is an interpreter. It waits when it opens its
 * script, and the script is written then. In both cases the program continues as if it had just been
 * executed: it has no additional flag, descriptor or environment variable. */
#include "snapshot/receive.h"
#include "sys/ending.h"

#define WEAK __attribute__((weak))
#define PUBLIC __attribute__((visibility("default")))
#define PROT_READ_WRITE 3
#define MAP_PRIVATE_ANONYMOUS 0x22
#define POPULATE_READ 22 /* for madvise(), since Linux 5.14 */
#define POPULATE_WRITE 23
#define PAGE_BYTES 4096u
#define PROGRAM_BYTES (256u << 10) /* a small shell completely */
#define DATA_BYTES (32u << 10)
#define ROOM_BYTES 4096u
#define NEXT_LIBRARY ((void *)-1l)
#define O_ACCESS 3
#define O_MAKE 02000100 /* O_RDONLY | O_CREAT | O_CLOEXEC */

extern char **environ;
extern void *dlsym(void *, const char *) WEAK;
extern int setenv(const char *, const char *, int);
extern char *strchr(const char *, int);
extern char *getcwd(char *, size_t);
extern void *malloc(size_t);
extern void free(void *);
extern int snprintf(char *, size_t, const char *, ...);
extern long long strtoll(const char *, char **, int);
extern int fflush(void *);
extern int on_exit(void (*)(int, void *), void *) WEAK;

static char script[256]; /* path of the script; "": wait before main() */
static int waits;
static char *room;       /* buffer for a release of the usual size; NULL: none */
static long self;        /* the process that waited, not a child of it; 0: no code runs yet */
static uint32_t threads; /* number of threads at the release; 0: the program never has more than one */

static __attribute__((noreturn)) void give_up(void)
{
        for (;;)
                sys_call1(SYS_exit_group, RESTORE_FAILED);
}

/* Whether the end of this process may be announced early: it has no children and no other threads. */
static int is_alone(void)
{
        return self && sys_call0(SYS_getpid) == self && bare_is_childless() &&
               (!threads || bare_threads() == threads);
}

/* Waits for the release. Its strings stay in memory until the process ends. */
static char *receive(struct release_head *ret)
{
        int r = receive_ready();
        while (r == 0 && (r = receive_release(ret)) == 0 && ret->mode == RELEASE_SOON)
                continue;
        long body = (long)room;
        if (r == 0 && (!room || ret->length >= ROOM_BYTES))
                body = sys_call6(SYS_mmap, 0, (long)ret->length + 1, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS,
                                 -1, 0);
        if (r < 0 || (body < 0 && body > -4096) || receive_all((char *)body, ret->length) < 0)
                give_up();
        sys_call1(SYS_close, SNAPSHOT_CONTROL_FD);
        const char *cwd = (const char *)body;
        if (cwd[0] && sys_call1(SYS_chdir, cwd) < 0)
                give_up();
        return (char *)body + bare_strlen(cwd) + 1;
}

/* ---- before main() ---- */

/* Addresses of this process, from /proc/self/stat. */
struct layout {
        uint64_t start_code, end_code, end_data, start_stack;
};

static void read_layout(struct layout *ret)
{
        char stat[2048];
        if (bare_read_file("/proc/self/stat", stat, sizeof stat) < 0)
                give_up();
        *ret = (struct layout){
                .start_code = bare_stat_field(stat, 26),
                .end_code = bare_stat_field(stat, 27),
                .end_data = bare_stat_field(stat, 46),
                .start_stack = bare_stat_field(stat, 28),
        };
}

/* Overwrites the environment from the execve(): /proc/PID/environ still shows that memory. A filter forbids
 * prctl(PR_SET_MM), which would set another address, because code could abuse it. */
static void clear_environment(char **envp)
{
        for (; *envp; envp++)
                for (char *c = *envp; *c; c++)
                        *c = '\0';
}

/* Rewrites the block from the kernel: argc, argv, NULL, environment, NULL. It has room for as many words as
 * at the execve(); the data behind it does not move. */
static void place_words(char **argv, uint32_t argc, uint32_t envc, char *strings)
{
        char **at = argv;
        for (uint32_t i = 0; i < argc; i++, strings += bare_strlen(strings) + 1)
                *at++ = strings;
        *at++ = 0;
        environ = at;
        for (uint32_t i = 0; i < envc; i++, strings += bare_strlen(strings) + 1)
                *at++ = strings;
        *at = 0;
        ((long *)argv)[-1] = argc;
}

/* bash ends with exit(), which calls this function last; dash ends with _exit(). */
static void at_exit(int code, void *unused)
{
        (void)unused;
        if (is_alone()) {
                fflush(0);
                sys_announce_end(code);
        }
}

PUBLIC __attribute__((noreturn)) void _exit(int code);

void _exit(int code)
{
        if (is_alone())
                sys_announce_end(code);
        for (;;)
                sys_call1(SYS_exit_group, code);
}

/* Does what every shell does first, so that the pages are mapped: this saves a dozen page faults, a tenth of
 * the time of `echo`. Calls that fail have no effect. */
static void warm_up(const struct layout *layout)
{
        char text[24];
        const uint64_t code = layout->start_code & ~(uint64_t)(PAGE_BYTES - 1);
        uint64_t length = layout->end_code - code;
        if (length > PROGRAM_BYTES)
                length = PROGRAM_BYTES;
        room = malloc(ROOM_BYTES);
        if (room)
                room[0] = room[ROOM_BYTES - 1] = '\0';
        sys_call3(SYS_madvise, code, length, POPULATE_READ);
        sys_call3(SYS_madvise, layout->end_data & ~(uint64_t)(PAGE_BYTES - 1), DATA_BYTES, POPULATE_WRITE);
        snprintf(text, sizeof text, "%lld", strtoll("1", 0, 10));
        free(getcwd(0, 0));
}

static void hold_main(int argc, char **argv, char **envp)
{
        struct release_head head = {0};
        struct layout layout;
        uint32_t n_env = 0;
        while (envp[n_env])
                n_env++;
        read_layout(&layout);
        self = sys_call0(SYS_getpid);
        if (on_exit)
                on_exit(at_exit, 0);
        warm_up(&layout);
        char *strings = receive(&head);
        if (!argv || head.argc == 0 || head.argc + head.envc > (uint32_t)argc + n_env)
                give_up();
        clear_environment(envp);
        place_words(argv, head.argc, head.envc, strings);
}

/* ---- when the script is opened ---- */

/* prelude.js, which Node loads because of NODE_OPTIONS=--require=/dev/null.  Worker threads have the same
 * option and read the real, empty file. */
#define PRELUDE_AT "/dev/null"
extern const char snapshot_prelude_js[] __attribute__((visibility("hidden")));
extern const uint64_t snapshot_prelude_js_len __attribute__((visibility("hidden")));

#define THE_END "/proc/self/the-end-of-node" /* as in prelude.js */

static char *node_options; /* the string that /proc/self/environ shows */
static int prelude_given;

static long give_prelude(void)
{
        long fd = sys_call2(SYS_memfd_create, "null", 1); /* MFD_CLOEXEC */
        prelude_given = 1;
        if (fd < 0 || sys_call3(SYS_write, fd, snapshot_prelude_js, snapshot_prelude_js_len) < 0 ||
            sys_call3(SYS_lseek, fd, 0, 0) < 0)
                return -1;
        return fd;
}

static void end_prelude(void)
{
        for (char *c = node_options; c && *c; c++)
                *c = '\0';
}

PUBLIC int chdir(const char *path);

int chdir(const char *path)
{
        int (*next)(const char *) = 0;
        /* a process that ends otherwise runs Node's full shutdown */
        if (script[0] && bare_same(path, THE_END)) {
                if (is_alone())
                        sys_announce_end(0);
                sys_call1(SYS_exit_group, 0);
        }
        *(void **)&next = dlsym(NEXT_LIBRARY, "chdir");
        return next ? next(path) : -1;
}

/* Waits for the release and writes the script, which is opened next. */
static void hold_script(void)
{
        struct release_head head = {0};
        end_prelude();
        self = sys_call0(SYS_getpid);
        threads = bare_threads();
        char *strings = receive(&head);
        for (uint32_t i = 0; i < head.envc; i++) {
                char *value = strchr(strings, '=');
                size_t length = bare_strlen(strings) + 1;
                if (value) {
                        *value = '\0';
                        setenv(strings, value + 1, 1);
                }
                strings += length;
        }
        if (bare_write_script(script, strings, head.code_length) < 0)
                give_up();
}

static int open_next(const char *name, const char *path, int flags, unsigned mode)
{
        int (*next)(const char *, int, ...) = 0;
        long fd = -1;
        if (waits && bare_same(path, script)) {
                waits = 0;
                hold_script();
        } else if (waits && !prelude_given && (flags & O_ACCESS) == 0 && bare_same(path, PRELUDE_AT)) {
                fd = give_prelude();
        }
        if (fd >= 0)
                return (int)fd;
        *(void **)&next = dlsym(NEXT_LIBRARY, name);
        return next ? next(path, flags, mode) : -1;
}

PUBLIC int open(const char *path, int flags, ...);
PUBLIC int open64(const char *path, int flags, ...);

int open(const char *path, int flags, ...)
{
        BARE_MODE(flags, mode);
        return open_next("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
        BARE_MODE(flags, mode);
        return open_next("open64", path, flags, mode);
}

/* ---- */

static char *find_variable(char **envp, const char *name)
{
        size_t length = bare_strlen(name);
        for (; *envp; envp++) {
                size_t same = 0;
                while (same < length && (*envp)[same] == name[same])
                        same++;
                if (same == length && (*envp)[length] == '=')
                        return *envp;
        }
        return 0;
}

/* Copies the value of a variable to `ret`, removes it from the environment and from /proc/self/environ. */
static void take_variable(char **envp, const char *name, char *ret, size_t size)
{
        size_t length = bare_strlen(name), at = 0;
        char **from = envp, **to = envp;
        for (; *from; from++) {
                char *pair = *from;
                size_t same = 0;
                while (same < length && pair[same] == name[same])
                        same++;
                if (same < length || pair[length] != '=') {
                        *to++ = pair;
                        continue;
                }
                for (size_t i = 0; pair[i]; i++) {
                        if (i > length && at < size - 1)
                                ret[at++] = pair[i];
                        pair[i] = '\0';
                }
        }
        *to = 0;
        ret[at] = '\0';
}

/* musl calls constructors without arguments, and has already read the block. */
static int is_kernels_block(char *const *argv)
{
        struct layout layout;
        read_layout(&layout);
        return (uint64_t)(argv - 1) == layout.start_stack;
}

__attribute__((constructor)) static void loaded(int argc, char **argv, char **envp)
{
        char unused[64];
        if (!is_kernels_block(argv))
                give_up();
        sys_call1(SYS_close, SNAPSHOT_TEMPLATE_FD); /* the descriptor of this library */
        take_variable(envp, "HOLD_AT", script, sizeof script);
        if (!script[0]) {
                hold_main(argc, argv, envp);
                return;
        }
        take_variable(envp, "LD_PRELOAD", unused, sizeof unused);
        node_options = find_variable(envp, "NODE_OPTIONS");
        /* The interpreter checks that the script exists before it opens it. */
        long fd = sys_call4(SYS_openat, BARE_AT_FDCWD, script, O_MAKE, 0644);
        if (fd < 0)
                give_up();
        sys_call1(SYS_close, fd);
        waits = 1;
}
