/* snapshot/exits.c -- exit functions of C libraries.
 *
 * exit() calls the functions that were registered, and the destructors of all libraries. With the libraries
 * of the hidden modules (hidden.py) this takes 3 ms. A program pays for it only if it needs it: functions
 * that come with a hidden module are registered when the module is revealed, and if none is registered and no
 * library was loaded, the process ends without exit(). Libraries with other destructors that matter register
 * them. */
#include "snapshot/exits.h"

#include <link.h>
#include <stddef.h>

#define METH_VARARGS 1
#define HELD_MAX 256
#define NEXT_LIBRARY ((void *)-1l)
#define PUBLIC __attribute__((visibility("default")))

extern void *dlsym(void *, const char *) WEAK;
extern int dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *) WEAK;
PUBLIC int __cxa_atexit(void (*function)(void *), void *argument, void *library);
PUBLIC int on_exit(void (*function)(int, void *), void *argument);

static struct {
        void (*function)(void *);
        void *argument, *library;
} held[HELD_MAX];
static long n_held;
static int holds;
static int n_registered;                   /* since the start of the interpreter */
static unsigned long long n_loaded_before; /* number of libraries in the template */

/* Called by libraries instead of the function of libc. */
int __cxa_atexit(void (*function)(void *), void *argument, void *library)
{
        static int (*next)(void (*)(void *), void *, void *);
        if (holds && n_held < HELD_MAX) {
                held[n_held].function = function;
                held[n_held].argument = argument;
                held[n_held++].library = library;
                return 0;
        }
        if (!next)
                *(void **)&next = dlsym(NEXT_LIBRARY, "__cxa_atexit");
        n_registered++;
        return next ? next(function, argument, library) : -1;
}

int on_exit(void (*function)(int, void *), void *argument)
{
        static int (*next)(void (*)(int, void *), void *);
        if (!next)
                *(void **)&next = dlsym(NEXT_LIBRARY, "on_exit");
        n_registered++;
        return next ? next(function, argument) : -1;
}

/* exits(): returns the number of functions held.  exits(True), exits(False): begins and ends to hold them.
 * exits(first, end): registers these. */
static PyObject *exits(PyObject *self, PyObject *arguments)
{
        const long n = PyTuple_Size(arguments);
        (void)self;
        if (n == 1)
                holds = PyObject_IsTrue(PyTuple_GetItem(arguments, 0));
        if (n == 2)
                for (long i = PyLong_AsLong(PyTuple_GetItem(arguments, 0)),
                          end = PyLong_AsLong(PyTuple_GetItem(arguments, 1));
                     i < end; i++)
                        __cxa_atexit(held[i].function, held[i].argument, held[i].library);
        return PyLong_FromLong(n_held);
}

struct method { /* PyMethodDef */
        const char *name;
        PyObject *(*function)(PyObject *, PyObject *);
        int flags;
        const char *doc;
};

int exits_add(PyObject *names)
{
        static struct method method = {"exits", exits, METH_VARARGS, 0};
        n_registered = 0;
        return PyDict_SetItemString(names, method.name, PyCFunction_NewEx(&method, 0, 0));
}

static int read_counter(struct dl_phdr_info *info, size_t size, void *counter)
{
        (void)size;
        *(unsigned long long *)counter = info->dlpi_adds;
        return 1;
}

static unsigned long long n_loaded(void)
{
        unsigned long long counter = 0;
        if (dl_iterate_phdr)
                dl_iterate_phdr(read_counter, &counter);
        return counter;
}

void exits_remember(void)
{
        n_loaded_before = n_loaded();
}

int exits_none(void)
{
        return dl_iterate_phdr && n_registered == 0 && n_loaded() == n_loaded_before;
}
