/* snapshot/failure.c -- reports errors as pythonrun.c of the interpreter does. */
#include "snapshot/failure.h"

#include "snapshot/interpreter.h"

#define IS_INT (1ul << 24) /* Py_TPFLAGS_LONG_SUBCLASS */
#define IS_EXCEPTION (1ul << 30)
#define AS_TEXT 1 /* Py_PRINT_RAW */

extern void *fopen(const char *, const char *);
extern int fflush(void *);
extern void *stderr;

static int is(PyObject *object, unsigned long flag)
{
        PyObject *type = PyObject_Type(object);
        const int yes = (PyType_GetFlags(type) & flag) != 0;
        Py_DecRef(type);
        return yes;
}

static void say(PyObject *value)
{
        PyObject *stream = PySys_GetObject("stderr");
        PyErr_Clear();
        if (!is_none(stream)) {
                PyFile_WriteObject(value, stream, AS_TEXT);
        } else {
                PyObject_Print(value, stderr, AS_TEXT);
                fflush(stderr);
        }
        PySys_WriteStderr("\n");
}

static unsigned long version(void)
{
        PyObject *number = PySys_GetObject("hexversion");
        return number ? (unsigned long)PyLong_AsLong(number) : 0;
}

/* Whether this version discards an error that occurs while it handles the exit: the number is too large, or
 * the text cannot be created or written. */
static int forgets_errors(unsigned long v)
{
        return v < 0x030c0000 || (v >= 0x030c0800 && v < 0x030d0000) || v >= 0x030d0100;
}

int failure_exit_code(int *ret_error)
{
        PyObject *type, *value, *traceback, *code;
        const unsigned long v = version();
        int r = 0;
        PyErr_Fetch(&type, &value, &traceback); /* the value may not be an exception object yet */
        fflush(0);
        if (value && is(value, IS_EXCEPTION) && (code = PyObject_GetAttrString(value, "code"))) {
                if (v >= 0x030c0000) { /* these versions free the frames and their variables first */
                        Py_DecRef(traceback);
                        traceback = 0;
                }
                Py_DecRef(value);
                value = code;
        } /* otherwise the value itself is printed */
        if (!is_none(value) && is(value, IS_INT)) {
                r = (int)PyLong_AsLong(value);
        } else if (!is_none(value)) {
                say(value);
                r = 1;
        }
        *ret_error = PyErr_Occurred() && !forgets_errors(v);
        if (!*ret_error)
                PyErr_Clear();
        Py_DecRef(type);
        Py_DecRef(value);
        Py_DecRef(traceback); /* frees the frames and their variables */
        return r;
}

int failure_is_at_the_end(const char *code)
{
        PyObject *type, *value, *traceback;
        long lines = 0;
        for (; *code; code++) {
                if (*code == '\r')
                        return 1;
                lines += *code == '\n';
        }
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        PyObject *line = value ? PyObject_GetAttrString(value, "lineno") : 0;
        const int yes = line && PyLong_AsLong(line) >= lines;
        if (line)
                Py_DecRef(line);
        PyErr_Restore(type, value, traceback); /* replaces any error that occurred here */
        return yes;
}

int failure_from_file(const char *path)
{
        void *file = fopen(path, "rb");
        if (!file || !PyRun_SimpleFileExFlags) {
                PyErr_Print();
                return -1;
        }
        PyErr_Clear();
        return PyRun_SimpleFileExFlags(file, path, 1, 0);
}
