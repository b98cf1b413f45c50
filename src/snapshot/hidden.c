/* snapshot/hidden.c -- the function of importlib that finds a module, with a look at the hidden ones before.
 *
 * The interpreter calls it, as a member of the module, for each import of a name that is not in sys.modules.
 * It is written in C because a Python function would be visible in tracebacks and to trace functions. */
#include "snapshot/hidden.h"

#define METH_VARARGS 1

struct method { /* PyMethodDef */
        const char *name;
        void *function;
        int flags;
        const char *doc;
};

static struct {
        PyObject *hidden; /* a dictionary of hidden.py */
        PyObject *reveal; /* a function of hidden.py */
        PyObject *spies;  /* a list of hidden.py */
        PyObject *find_and_load;
        PyObject *(*add_audit_hook)(void *, void *, void *, void *);
        int is_audited; /* the code has installed an audit hook */
} known;

/* Whether something wants to see each step of an import. */
static int is_watched(void)
{
        const long n = PyList_Size(known.spies);
        int watched = known.is_audited;
        for (long i = 0; i < n && !watched; i++) {
                PyObject *call = PyList_GetItem(known.spies, i);
                PyObject *spy = PyObject_CallObject(PyTuple_GetItem(call, 0), PyTuple_GetItem(call, 1));
                watched = !is_none(spy);
                if (spy)
                        Py_DecRef(spy);
        }
        return watched;
}

static PyObject *find_and_load(PyObject *self, PyObject *arguments)
{
        PyObject *name = PyTuple_GetItem(arguments, 0);
        (void)self;
        if (name && PyDict_GetItem(known.hidden, name)) {
                if (is_watched()) {
                        PyDict_DelItem(known.hidden, name);
                        return PyObject_CallObject(known.find_and_load, arguments);
                }
                PyObject *module = PyObject_CallFunction(known.reveal, "O", name);
                if (!module || !is_none(module))
                        return module;
                Py_DecRef(module);
        }
        return PyObject_CallObject(known.find_and_load, arguments);
}

/* With the arguments of any calling convention: all are in registers. */
static PyObject *add_audit_hook(void *self, void *arguments, void *more, void *names)
{
        known.is_audited = 1;
        return known.add_audit_hook(self, arguments, more, names);
}

/* Replaces sys.addaudithook() by a function that looks the same. */
static int watch_audit_hooks(PyObject *names)
{
        static struct method method = {"addaudithook", add_audit_hook, 0, 0};
        PyObject *original = PySys_GetObject("addaudithook");
        PyObject *doc = PyDict_GetItemString(names, "AUDIT_DOC");
        if (!original || !doc || PyObject_Type(original) != (PyObject *)&PyCFunction_Type)
                return -1;
        *(void **)&known.add_audit_hook = PyCFunction_GetFunction(original);
        method.flags = PyCFunction_GetFlags(original);
        method.doc = PyUnicode_AsUTF8AndSize(doc, 0);
        PyObject *ours =
                PyCFunction_NewEx(&method, PyCFunction_GetSelf(original), PyUnicode_InternFromString("sys"));
        return ours && method.doc ? PySys_SetObject("addaudithook", ours) : -1;
}

int hidden_install(PyObject *names)
{
        static struct method method = {"_find_and_load", find_and_load, METH_VARARGS, 0};
        PyObject *machinery = PyModule_GetDict(PyImport_AddModule("_frozen_importlib"));
        known.hidden = PyDict_GetItemString(names, "hidden");
        known.reveal = PyDict_GetItemString(names, "reveal");
        known.spies = PyDict_GetItemString(names, "SPIES");
        known.find_and_load = PyDict_GetItemString(machinery, method.name);
        PyObject *ours = PyCFunction_NewEx(&method, 0, PyUnicode_InternFromString("_frozen_importlib"));
        if (!known.hidden || !known.reveal || !known.spies || !known.find_and_load || !ours ||
            watch_audit_hooks(names) < 0)
                return -1;
        Py_IncRef(known.hidden);
        Py_IncRef(known.reveal);
        Py_IncRef(known.spies);
        Py_IncRef(known.find_and_load);
        return PyDict_SetItemString(machinery, method.name, ours);
}
