/* snapshot/python.c -- turns a Python interpreter into a template, and runs the code in a restored one.
 *
 * It is loaded into the image's own python3 (LD_PRELOAD), which is started as `python3 main.py`. When the
 * interpreter is initialised and opens that file, it has no Python frame on its stack and no object of ours.
 * At this point fopen() calls into this file. It runs hidden.py and python.py, which import the preloaded
 * modules; then snapshot.c writes the process to a template. A restored process waits here for its code, runs
 * it with no Python frame below it, does what the interpreter does at its end, and exits.
 *
 * Only functions of the interpreter's stable interface are used, by name: one build works with every Python
 * from 3.9 on, with any libc. */
#include <stddef.h>

#include "snapshot/bind.h"
#include "snapshot/exits.h"
#include "snapshot/failure.h"
#include "snapshot/hidden.h"
#include "snapshot/interpreter.h"
#include "snapshot/plug.h"
#include "snapshot/receive.h"
#include "snapshot/shutdown.h"
#include "snapshot/snapshot.h"
#include "sys/ending.h"

/* ---- functions of libc ---- */

extern int fork(void);
extern int vfork(void) __attribute__((returns_twice));
extern void exit(int) __attribute__((noreturn));
extern void *malloc(size_t);
extern void *dlsym(void *, const char *) WEAK;
extern int unsetenv(const char *);
extern int fflush(void *);
extern int on_exit(void (*)(int, void *), void *); /* exits.c */
extern char *__curbrk WEAK;                        /* of glibc: the end of its heap */
#define NO_BREAK ((char *)-4096l)                  /* an address above which the heap cannot grow */

#define NEXT_LIBRARY ((void *)-1l)

/* ---- descriptors of a process that becomes a template ---- */

#define BOOT_FD 5        /* python.py */
#define RESTORE_FD 6     /* the program restore.c */
#define REPORTED 2       /* exit status of the child: the problem has been reported */
#define FLUSH_FAILED 120 /* Python's exit status for this */
#define BOOT_MAX (256u * 1024)
#define RARE_NUMBER 1000

static char boot[BOOT_MAX];
static PyObject *names; /* the namespace of python.py */

static __attribute__((noreturn)) void leave(int code)
{
        for (;;)
                sys_call1(SYS_exit_group, code);
}

static int send_all(const void *data, size_t length)
{
        const char *p = data;
        while (length > 0) {
                long n = sys_call3(SYS_write, SNAPSHOT_CONTROL_FD, p, length);
                if (n <= 0)
                        return -1;
                p += n;
                length -= (size_t)n;
        }
        return 0;
}

static __attribute__((noreturn)) void tell(int failed, const char *text)
{
        const struct template_made made = {(uint32_t)failed, (uint32_t)bare_strlen(text)};
        send_all(&made, sizeof made);
        send_all(text, made.text_length);
        leave(failed);
}

/* Calls a function of python.py. */
#define CALL(name, ...) PyObject_CallFunction(PyDict_GetItemString(names, (name)), __VA_ARGS__)

/* ---- a restored process ---- */

/* Objects that a restored process needs, found before the template is written. A new name would take memory,
 * and would be added to the interpreter's caches, because it is not the object that they contain: each of
 * these writes copies another page. */
static struct {
        PyObject *module;     /* __main__ */
        PyObject *main, *sys; /* dictionaries of __main__ and sys */
        PyObject *started;    /* see python.py; NULL: nothing to call */
        PyObject *path, *out, *err, *flush, *file, *cached;
} known;

static int exit_code, interrupted, exited; /* exited: by SystemExit */
static uint32_t how;                       /* enum release_mode */
static int code_runs;                      /* user code, not a trial or a template */
static uint32_t one_thread;                /* bare_threads() with one thread */
static long self;

/* The last function that exit() calls, after those of libraries and C code; also in children of the code. */
static void at_exit(int code, void *unused)
{
        (void)unused;
        /* Announce the end only if this process has no children and no other threads, which may still write
         * to the streams. */
        if (code_runs && sys_call0(SYS_getpid) == self && bare_is_childless() &&
            bare_threads() == one_thread) {
                fflush(0);
                sys_announce_end(code);
        }
}

static __attribute__((noreturn)) void end(void)
{
        static const uint64_t default_action[4];
        if (interrupted) {
                sys_call4(SYS_rt_sigaction, 2, default_action, 0, 8); /* SIGINT */
                sys_call2(SYS_kill, sys_call0(SYS_getpid), 2);
        }
        if (exits_none()) {
                fflush(0);
                at_exit(exit_code, 0);
                leave(exit_code);
        }
        exit(exit_code); /* runs the exit functions and flushes the streams of C code */
}

/* Handles the exception that the code ended with, as the interpreter does. */
static void see_error(void)
{
        int error;
        exit_code = 1;
        if (PyErr_ExceptionMatches(PyExc_SystemExit)) {
                exit_code = failure_exit_code(&error);
                exited = 1;
                if (!error)
                        return;
                if (shutdown_full() < 0) /* reports the error */
                        exit_code = FLUSH_FAILED;
                end();
        }
        interrupted = PyErr_Occurred() == PyExc_KeyboardInterrupt;
        PyErr_Print();
}

static int flush(PyObject *name)
{
        PyObject *stream = PyDict_GetItem(known.sys, name);
        if (is_none(stream))
                return 0;
        Py_IncRef(stream); /* code may replace it during the call */
        PyObject *done = PyObject_CallMethodObjArgs(stream, known.flush, (PyObject *)0);
        if (done)
                Py_DecRef(done);
        Py_DecRef(stream);
        PyErr_Clear();
        return done != 0;
}

/* Records which pages a trial run has touched, and exits. */
static void end_early(void)
{
        if ((how == RELEASE_TRIAL || how == RELEASE_PLAIN) &&
            snapshot_touched(SNAPSHOT_TEMPLATE_FD, how == RELEASE_TRIAL) < 0)
                exit_code = 1;
        end();
}

static __attribute__((noreturn)) void finish(void)
{
        for (int i = 0; i < 2 && !exited; i++) /* the interpreter does not do this after SystemExit */
                if (PyDict_DelItem(known.main, i ? known.cached : known.file) < 0)
                        PyErr_Clear();
        Py_DecRef(known.module);
        if (shutdown_short(end_early) < 0)
                exit_code = FLUSH_FAILED;
        end();
}

/* The interpreter does this after the last line of a script: before it reports an error, joins threads and
 * runs callbacks. */
static void flush_after_script(void)
{
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        flush(known.err);
        flush(known.out);
        PyErr_Restore(type, value, traceback);
}

static __attribute__((noreturn)) void run(const char *code, const char *path)
{
        PyObject *globals = known.main, *result = 0;
        Py_IncRef(known.module); /* the code may remove its own reference */
        PyObject *compiled = Py_CompileStringObject
                                     ? Py_CompileStringObject(code, known.path, FILE_INPUT, 0, -1)
                                     : Py_CompileString(code, path, FILE_INPUT);
        if (compiled) {
                result = PyEval_EvalCode(compiled, globals, globals);
                Py_DecRef(compiled);
        } else if (failure_is_at_the_end(code)) {
                exit_code = failure_from_file(path) < 0;
                finish();
        }
        flush_after_script();
        if (result)
                Py_DecRef(result);
        else
                see_error();
        finish();
}

/* A restored process has its break at another address (restore.c). glibc continues there if that is behind
 * all of its heap; but it treats any answer above the requested address as success, and aborts when the break
 * has moved down. So glibc must request more than is possible. It gets an error then, and continues with
 * mmap(). */
static char *last_break;

static void find_break(void)
{
        char *now = (char *)sys_call1(SYS_brk, 0);
        if (&__curbrk && now > last_break)
                __curbrk = now;
}

/* Waits for the release and runs it. refresh: gives the process its own random numbers; NULL if no loaded
 * module has any. */
static __attribute__((noreturn)) void serve(const char *path, PyObject *refresh)
{
        struct release_head head = {0};
        find_break();
        if (refresh && !PyObject_CallFunction(refresh, ""))
                leave(RESTORE_FAILED);
        self = sys_call0(SYS_getpid);
        int touched = 0, r = receive_ready();
        while (r == 0 && (r = receive_release(&head)) == 0 && head.mode == RELEASE_SOON) {
                snapshot_touch(touched = 1);
                r = receive_ready();
        }
        if (r < 0)
                leave(RESTORE_FAILED);
        const int tried = head.mode == RELEASE_TRIAL || head.mode == RELEASE_PLAIN;
        if (!tried && !touched)
                snapshot_touch(0);
        char *body = malloc(head.length + 1);
        if (!body || receive_all(body, head.length) < 0)
                leave(RESTORE_FAILED);
        body[head.length] = '\0';
        const char *code = body + (head.length - head.code_length);
        if (head.mode != RELEASE_CONTEXT) /* the code must not see it */
                sys_call1(SYS_close, SNAPSHOT_CONTROL_FD);
        if (!tried)
                sys_call1(SYS_close, SNAPSHOT_TEMPLATE_FD);
        snapshot_forget();
        const long words = (long)(head.length - head.code_length);
        if ((words > 1 && !CALL("prepare", "iiN", (int)head.argc, (int)head.envc,
                                PyBytes_FromStringAndSize(body, words))) ||
            (head.mode != RELEASE_CONTEXT && bare_write_script(path, code, head.code_length) < 0)) {
                PyErr_Print();
                leave(RESTORE_FAILED);
        }
        if (known.started && !PyObject_CallFunction(known.started, ""))
                PyErr_Clear();
        if (head.mode == RELEASE_CONTEXT) {
                if (!CALL("drive", ""))
                        PyErr_Print(); /* exits on SystemExit */
                leave(0);
        }
        how = head.mode;
        code_runs = !tried;
        run(code, path);
}

/* ---- the process that becomes a template ---- */

static int know(const char *path)
{
        known.module = PyImport_AddModule("__main__");
        known.main = PyModule_GetDict(known.module);
        known.sys = PyModule_GetDict(PyImport_AddModule("sys"));
        known.started = PyDict_GetItemString(names, "started");
        known.path = PyUnicode_DecodeFSDefault(path);
        known.out = PyUnicode_InternFromString("stdout");
        known.err = PyUnicode_InternFromString("stderr");
        known.flush = PyUnicode_InternFromString("flush");
        known.file = PyUnicode_InternFromString("__file__");
        known.cached = PyUnicode_InternFromString("__cached__");
        const int found = known.path && known.out && known.err && known.flush;
        return found && known.file && known.cached ? 0 : -1;
}

/* Runs in a child of the interpreter, so that it has one thread and every library has handled the fork. */
static __attribute__((noreturn)) void write_down(void)
{
        PyOS_AfterFork_Child();
        const char *path = PyUnicode_AsUTF8AndSize(PyDict_GetItemString(names, "SCRIPT"), 0);
        PyObject *refresh = CALL("settle", "");
        if (!refresh)
                leave(1);
        refresh = PyObject_IsTrue(refresh) ? refresh : 0;
        one_thread = bare_threads();
        exits_remember();
        if (know(path) < 0 || shutdown_prepare(names) < 0)
                leave(1);
        plug_holes();
        if (&__curbrk) {
                last_break = __curbrk;
                __curbrk = NO_BREAK;
        }
        int r = snapshot(SNAPSHOT_TEMPLATE_FD);
        if (r > 0) /* in a restored process, later */
                serve(path, refresh);
        if (r < 0)
                tell(REPORTED, snapshot_problem);
        leave(0);
}

static int load_boot(void)
{
        size_t at = 0;
        long n;
        while ((n = sys_call3(SYS_read, BOOT_FD, boot + at, sizeof boot - 1 - at)) > 0)
                at += (size_t)n;
        sys_call1(SYS_close, BOOT_FD);
        names = PyDict_New();
        PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
        if (exits_add(names) < 0)
                return -1;
        /* The driver of contexts follows a NUL. */
        const size_t own = bare_strlen(boot);
        PyDict_SetItemString(
                names, "DRIVER",
                PyBytes_FromStringAndSize(boot + own + (own < at), (long)(at - own - (own < at))));
        PyObject *code = Py_CompileString(boot, "<cella>", FILE_INPUT);
        return code && PyEval_EvalCode(code, names, names) ? 0 : -1;
}

/* Returns why preloading failed; "": all is imported; NULL: an exception is set. */
static const char *receive_preload(void)
{
        struct release_head head = {0};
        static char list[RELEASE_MAX];
        if (receive_all(&head, sizeof head) < 0 || head.length > sizeof list ||
            receive_all(list, head.length) < 0)
                return 0;
        PyObject *why = CALL("preload", "N", PyBytes_FromStringAndSize(list, (long)head.length));
        return why ? PyUnicode_AsUTF8AndSize(why, 0) : 0;
}

static __attribute__((noreturn)) void make_template(void)
{
        int status = -1;
        PyGILState_Ensure(); /* the interpreter releases it around fopen() */
        const char *why = load_boot() < 0 ? 0 : receive_preload();
        if (why && !why[0] && hidden_install(names) < 0)
                why = 0;
        if (!why || why[0])
                tell(1, why ? why : "the interpreter cannot be prepared");
        bind_functions();
        PyOS_BeforeFork();
        int pid = fork();
        if (pid == 0)
                write_down();
        PyOS_AfterFork_Parent();
        if (pid < 0 || sys_call4(SYS_wait4, pid, &status, 0, 0) != pid)
                status = -1;
        if (status == REPORTED << 8) /* the child has reported the problem */
                leave(1);
        if (status != 0)
                tell(1, "the template cannot be written");
        snapshot_pack(SNAPSHOT_TEMPLATE_FD);
        PyObject *tried = CALL("trial", "ii", RESTORE_FD, SNAPSHOT_TEMPLATE_FD);
        why = tried ? PyUnicode_AsUTF8AndSize(tried, 0) : 0;
        if (!why)
                tell(1, "the template cannot be tested");
        tell(why[0] == '!', why[0] == '!' ? why + 1 : why);
}

static int is_script(const char *path)
{
        static const char script[] = "main.py";
        size_t length = bare_strlen(path);
        return length >= sizeof script - 1 && bare_same(path + length - (sizeof script - 1), script);
}

static int seen;

static void before_fopen(const char *path)
{
        if (seen || !is_script(path))
                return;
        seen = 1;
        make_template();
}

/* Wrappers of libc's functions, under both names that an interpreter may use. NEXT() finds the original one.
 * NOLINTBEGIN(bugprone-macro-parentheses): names */
#define PUBLIC __attribute__((visibility("default")))
#define NEXT(next, name)                                                                                     \
        static __typeof__(&name) next;                                                                       \
        if (!next)                                                                                           \
        *(void **)&next = dlsym(NEXT_LIBRARY, #name)
/* NOLINTEND(bugprone-macro-parentheses) */

PUBLIC void *fopen(const char *path, const char *mode);
PUBLIC void *fopen64(const char *path, const char *mode);

void *fopen(const char *path, const char *mode)
{
        NEXT(next, fopen);
        before_fopen(path);
        return next ? next(path, mode) : 0;
}

void *fopen64(const char *path, const char *mode)
{
        NEXT(next, fopen64);
        before_fopen(path);
        return next ? next(path, mode) : 0;
}

/* A separate function, so that the child of vfork() cannot change registers of the caller. */
static __attribute__((noinline)) void wait_for_any(void)
{
        sys_call4(SYS_wait4, -1, 0, 0, 0);
}

/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork): the child makes one
 * system call and nothing else; to copy the interpreter for each number with fork() would take a second */
static __attribute__((noinline)) void spend_number(void)
{
        if (vfork() == 0)
                leave(0);
        wait_for_any();
}
/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */

/* Libraries such as numexpr compare process IDs to detect that they are in a child, where their threads are
 * gone. A restored process is such a child, but in its own sandbox, where process IDs start again. So the
 * modules are imported by a process with an ID that few others get, and restore.c refuses to run with that
 * ID. */
static void take_rare_number(void)
{
        int status = 0;
        for (int i = 0; i < RARE_NUMBER; i++)
                spend_number();
        int pid = fork();
        if (pid == 0)
                return;
        if (pid < 0)
                tell(1, "cannot start a process");
        sys_call4(SYS_wait4, pid, &status, 0, 0);
        leave(status ? 1 : 0);
}

__attribute__((constructor)) static void loaded(void)
{
        unsetenv("LD_PRELOAD");
        if (!PyOS_AfterFork_Child) {
                seen = 1; /* not a Python that we support */
                return;
        }
        take_rare_number();
        on_exit(at_exit, 0); /* registered first, before main(), so it is called last */
        /* The interpreter checks that the script exists before it opens it. */
        long fd = sys_call4(SYS_openat, BARE_AT_FDCWD, "main.py", BARE_NEW, 0644);
        if (fd >= 0)
                sys_call1(SYS_close, fd);
}
