/* snapshot/shutdown.c -- one short, orderly shutdown for all code.
 *
 * Py_FinalizeEx() joins the threads, runs the atexit callbacks, flushes the standard streams, collects
 * garbage, removes all modules from sys.modules, collects again, clears the modules that are still alive,
 * the last imported first, and frees the interpreter.  It is used here, too, so that everything happens in
 * its own order.  The difference: the template is frozen (gc.freeze()) and its modules are referenced from
 * here, so that both collections only concern what the code has made.  After the second one the objects
 * that are still alive and not frozen are examined.  Usually none of them would notice its destruction.
 * Then all that is left to do is to destroy the template, which takes long and cannot be observed: the
 * process exits instead.
 *
 * If one of them would notice, something keeps it alive: the code has stored it in the template (as an
 * attribute of a module, in a cache, in a registry), or C code holds it.  Then the template is unfrozen and
 * collected as well, and Py_FinalizeEx() continues to its end.
 *
 * Most programs leave nothing that would notice its destruction already after the first collection.  Then
 * nothing can observe what Py_FinalizeEx() does to the template's own modules: it writes to most of their
 * pages, which would all be copied.  So only the modules of the code are removed and their objects destroyed.
 *
 * Three hooks are needed.  A callback in gc.callbacks is called by the first collection.  It stores an object
 * in sys.ps1, whose destructor runs when the special attributes of sys are removed, before the modules.  Or,
 * if something notices, it appends a module to sys.modules, which is therefore the first that is cleared
 * after the second collection, and the destructor of an object in that module runs. */
#include "snapshot/shutdown.h"

#define IS_TYPE (1ul << 31) /* Py_TPFLAGS_TYPE_SUBCLASS */
#define HAS_GC (1ul << 14)  /* Py_TPFLAGS_HAVE_GC: the collector knows the instances of the type */
#define LAST_MODULE "_cella_last"
#define N_LAYERS 3 /* a text stream, its buffer, its file */
#define METH_VARARGS 1

struct method { /* PyMethodDef */
        const char *name;
        PyObject *(*function)(PyObject *, PyObject *);
        int flags;
        const char *doc;
};

static struct {
        PyObject *modules; /* of the template, by name, in the order of their import; NULL: released */
        PyObject *hidden;  /* see hidden.py */
        PyObject *
                unfrozen; /* a list that the collector knows, as long as the code does not call gc.freeze() */
        PyObject *streams[2];       /* the standard output and error that the interpreter created */
        PyObject *layers[N_LAYERS]; /* the types that such a stream consists of */
        PyObject *memory[2];        /* the types of streams in memory */
        PyObject *closed[3];        /* types whose destructor closes a descriptor, perhaps with a warning */
        PyObject *filters;          /* the list of the interpreter's warning filters */
        PyObject *keyed_reference;  /* the type of the references in a WeakValueDictionary; NULL: none */
        PyObject *callbacks;        /* gc.callbacks */
        PyObject *get_objects, *get_debug, *is_enabled, *unfreeze, *is_finalizing;
        PyObject *hook; /* on_collection() */
        PyObject *del;  /* "__del__" */
        PyObject *builtins;
        long n_builtins;
        int types_are_second; /* words of objects */
} known;

static void (*end_process)(void);

static int answers_yes(PyObject *function)
{
        PyObject *answer = PyObject_CallFunction(function, "");
        const int yes = answer && PyObject_IsTrue(answer) == 1;
        if (answer)
                Py_DecRef(answer);
        PyErr_Clear();
        return yes;
}

/* Py_TYPE(), borrowed: the second word, which the interpreter's own macro reads, too.  PyObject_Type() would
 * write to the page of each type, and so copy it.  Builds without a global lock have another layout. */
static PyObject *type_of(PyObject *object)
{
        if (known.types_are_second)
                return ((PyObject **)object)[1];
        PyObject *type = PyObject_Type(object);
        Py_DecRef(type); /* the object holds it */
        return type;
}

static int is_exactly(PyObject *object, const void *type)
{
        return type_of(object) == type;
}

/* Lets the rest of Py_FinalizeEx() destroy the template, too. */
static void release_template(int unfreeze)
{
        PyObject *done = unfreeze && known.modules ? PyObject_CallFunction(known.unfreeze, "") : 0;
        if (done)
                Py_DecRef(done);
        PyErr_Clear();
        if (!known.modules)
                return;
        for (int i = 0; i < 2; i++)
                Py_DecRef(known.streams[i]); /* they are flushed when the last reference is gone */
        PyDict_Clear(known.modules);
        PyDict_Clear(known.hidden); /* functions of modules */
        known.modules = 0;
}

/* ---- objects that notice their destruction ---- */

/* A type is examined without calling its metaclass. */
static int has_finalizer(PyObject *type)
{
        return _PyType_Lookup(type, known.del) != 0;
}

static int is_function_of_template(PyObject *function)
{
        PyObject *globals = PyFunction_GetGlobals(function);
        PyObject *name = globals ? PyDict_GetItemString(globals, "__name__") : 0;
        PyObject *module = name ? PyDict_GetItem(known.modules, name) : 0;
        return module && PyModule_GetDict(module) == globals;
}

/* Containers of weak references (WeakSet, the registries of ABCs and of logging) use callbacks that only
 * update the container. */
static int is_bookkeeping(PyObject *callback)
{
        if (is_exactly(callback, &PyFunction_Type))
                return is_function_of_template(callback);
        if (!is_exactly(callback, &PyCFunction_Type))
                return 0;
        PyObject *self = PyCFunction_GetSelf(callback); /* _abc passes a weak reference to its set */
        return self && is_exactly(self, &_PyWeakref_RefType);
}

static int has_callback(PyObject *reference)
{
        PyObject *callback = PyObject_GetAttrString(reference, "__callback__");
        const int yes = !callback || (!is_none(callback) && !is_bookkeeping(callback));
        if (callback)
                Py_DecRef(callback);
        return yes;
}

/* Whether the interpreter would print that a file was not closed: the first filter for this decides.  A
 * filter is a tuple: action, pattern of the message, category, pattern of the module, line. */
static int shows_unclosed(void)
{
        const long n = PyList_Size(known.filters);
        for (long i = 0; i < n; i++) {
                PyObject *filter = PyList_GetItem(known.filters, i);
                PyObject *category = PyTuple_GetItem(filter, 2), *word = PyTuple_GetItem(filter, 0);
                const char *action = word ? PyUnicode_AsUTF8AndSize(word, 0) : 0;
                if (!action || !category)
                        return 1;
                if (!PyType_IsSubtype(PyExc_ResourceWarning, category))
                        continue;
                if (action[0] != 'i') /* not "ignore" */
                        return 1;
                if (is_none(PyTuple_GetItem(filter, 1)) && is_none(PyTuple_GetItem(filter, 3)))
                        return PyLong_AsLong(PyTuple_GetItem(filter, 4)) != 0;
        }
        return 1;
}

/* The destructor of such an object closes it, which also happens at the end of the process.  A subclass may
 * do more. */
static int is_closed_quietly(PyObject *type)
{
        if (type == known.memory[0] || type == known.memory[1])
                return 1;
        for (int i = 0; i < 3; i++)
                if (type == known.closed[i])
                        return !shows_unclosed();
        return 0;
}

static int notices_destruction(PyObject *object)
{
        PyObject *type = type_of(object);
        if (has_finalizer(type))
                return !is_closed_quietly(type);
        if (PyType_GetFlags(type) & IS_TYPE) /* instances that the collector does not know */
                return !(PyType_GetFlags(object) & HAS_GC) && has_finalizer(object);
        if (type == (PyObject *)&_PyWeakref_RefType || type == known.keyed_reference)
                return has_callback(object);
        return type == (PyObject *)&_PyWeakref_ProxyType ||
               type == (PyObject *)&_PyWeakref_CallableProxyType ||
               PyType_IsSubtype(type, (PyObject *)&_PyWeakref_RefType);
}

enum left {
        LEFT_NOTHING,
        LEFT_SOMETHING,
        LEFT_UNKNOWN, /* the code called gc.freeze(), or the objects cannot be listed */
};

static enum left what_is_left(void)
{
        PyObject *objects = PyObject_CallFunction(known.get_objects, "");
        const long n = objects ? PyList_Size(objects) : 0;
        int noticed = 0, all_seen = 0;
        for (long i = 0; i < n && !(noticed && all_seen); i++) {
                PyObject *object = PyList_GetItem(objects, i);
                all_seen |= object == known.unfrozen;
                noticed = noticed || notices_destruction(object);
        }
        if (objects)
                Py_DecRef(objects);
        PyErr_Clear();
        return !all_seen ? LEFT_UNKNOWN : noticed ? LEFT_SOMETHING : LEFT_NOTHING;
}

/* ---- the standard streams ---- */

/* A stream of the interpreter's own types can be flushed twice without any effect of the second call. */
static int is_plain_stream(PyObject *stream)
{
        static const char *const names[N_LAYERS - 1] = {"buffer", "raw"};
        Py_IncRef(stream);
        for (int i = 0; stream; i++) {
                const int same = is_exactly(stream, known.layers[i]);
                PyObject *next = same && i < N_LAYERS - 1 ? PyObject_GetAttrString(stream, names[i]) : 0;
                Py_DecRef(stream);
                if (!same || i == N_LAYERS - 1)
                        return same;
                stream = next;
        }
        PyErr_Clear();
        return 0;
}

static int is_closed(PyObject *stream)
{
        PyObject *closed = PyObject_GetAttrString(stream, "closed");
        const int yes = closed && PyObject_IsTrue(closed) == 1;
        if (closed)
                Py_DecRef(closed);
        PyErr_Clear();
        return yes;
}

static int flush(PyObject *stream)
{
        PyObject *done = PyObject_CallMethod(stream, "flush", 0);
        if (done)
                Py_DecRef(done);
        PyErr_Clear();
        return done ? 0 : -1;
}

/* Py_FinalizeEx() has flushed them, but only its result says whether that failed.  What could not be written
 * is still in the buffer, so that it fails again. */
static int streams_are_flushed(void)
{
        static const char *const names[2] = {"stdout", "stderr"};
        for (int i = 0; i < 2; i++) {
                PyObject *stream = PySys_GetObject(names[i]);
                if (is_none(stream))
                        continue;
                if (!is_plain_stream(stream) || (!is_closed(stream) && flush(stream) < 0))
                        return 0;
        }
        return 1;
}

/* ---- hooks ---- */

static void leave_template(void)
{
        for (int i = 0; i < 2; i++) /* output of finalizers */
                flush(known.streams[i]);
        end_process();
}

/* Destructor of the capsule in sys.ps1, before the modules are removed. */
static void on_attributes_removed(PyObject *capsule)
{
        PyObject *modules = PyImport_GetModuleDict(), *name, *module;
        (void)capsule;
        if (!known.modules)
                return;
        for (long at = 0; PyDict_Next(modules, &at, &name, &module);)
                if (PyDict_GetItem(known.modules, name) != module)
                        PyDict_SetItem(modules, name, (PyObject *)&_Py_NoneStruct);
        PyErr_Clear();
        PyGC_Collect();
        leave_template();
}

/* Whether nothing can observe in which order the objects of the code are destroyed. */
static int set_attribute_hook(void)
{
        if (PyList_Size(known.callbacks) > 0 || PyDict_Size(known.builtins) != known.n_builtins ||
            what_is_left() != LEFT_NOTHING)
                return 0;
        PyObject *capsule = PyCapsule_New(&known, 0, on_attributes_removed);
        const int failed = !capsule || PySys_SetObject("ps1", capsule) < 0;
        if (capsule)
                Py_DecRef(capsule); /* on failure, this is its end */
        return !failed;
}

/* Destructor of the capsule in the last module, after the second collection. */
static void on_modules_cleared(PyObject *capsule)
{
        (void)capsule;
        if (!known.modules)
                return;
        const enum left left = what_is_left();
        if (left == LEFT_NOTHING)
                leave_template();
        release_template(left == LEFT_SOMETHING);
        if (left == LEFT_SOMETHING)
                PyGC_Collect();
}

static int add_last_module(void)
{
        /* our reference is kept, so that the module is alive then */
        PyObject *module = PyModule_New(LAST_MODULE);
        PyObject *capsule = module ? PyCapsule_New(&known, 0, on_modules_cleared) : 0;
        if (!capsule)
                return -1;
        const int failed = PyDict_SetItemString(PyModule_GetDict(module), "_capsule", capsule) < 0 ||
                           PyDict_SetItemString(PyImport_GetModuleDict(), LAST_MODULE, module) < 0;
        Py_DecRef(capsule);
        return failed ? -1 : 0;
}

/* Called by the collector, with the phase and a dictionary.  The first collection after the interpreter has
 * begun to finalize is the one in Py_FinalizeEx(). */
static PyObject *on_collection(PyObject *self, PyObject *arguments)
{
        (void)self;
        const char *phase = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(arguments, 0), 0);
        if (known.modules && phase && phase[2] == 'o' /* "stop" */ && answers_yes(known.is_finalizing)) {
                if (PyList_Size(known.callbacks) > 0 && PyList_GetItem(known.callbacks, 0) == known.hook)
                        PySequence_DelItem(known.callbacks, 0);
                if (answers_yes(known.get_debug) || !streams_are_flushed() ||
                    (!set_attribute_hook() && add_last_module() < 0))
                        release_template(1);
        }
        PyErr_Clear();
        Py_IncRef((PyObject *)&_Py_NoneStruct);
        return (PyObject *)&_Py_NoneStruct;
}

/* ---- from outside ---- */

static PyObject *attribute(PyObject *module, const char *name)
{
        return PyDict_GetItemString(PyModule_GetDict(module), name);
}

/* The template holds these types. */
static void know_types(PyObject *names)
{
        PyObject *io = PyImport_AddModule("_io");
        known.memory[0] = io ? attribute(io, "StringIO") : 0;
        known.memory[1] = io ? attribute(io, "BytesIO") : 0;
        known.closed[0] = io ? attribute(io, "FileIO") : 0;
        known.closed[1] = io ? attribute(io, "BufferedReader") : 0;
        PyObject *socket = known.modules ? PyDict_GetItemString(known.modules, "socket") : 0;
        known.closed[2] = socket ? attribute(socket, "socket") : 0;
        known.filters = PyDict_GetItemString(names, "filters");
        PyObject *weakref = known.modules ? PyDict_GetItemString(known.modules, "weakref") : 0;
        known.keyed_reference = weakref ? attribute(weakref, "KeyedRef") : 0;
}

int shutdown_prepare(PyObject *names)
{
        static struct method method = {"shutdown", on_collection, METH_VARARGS, 0};
        PyObject *gc = PyDict_GetItemString(names, "gc"), *sys = PyImport_AddModule("sys");
        if (!_PyType_Lookup || !gc)
                return -1;
        known.modules = PyDict_GetItemString(names, "template");
        known.hidden = PyDict_GetItemString(names, "hidden");
        known.unfrozen = PyDict_GetItemString(names, "unfrozen");
        known.callbacks = attribute(gc, "callbacks");
        known.get_objects = attribute(gc, "get_objects");
        known.get_debug = attribute(gc, "get_debug");
        known.is_enabled = attribute(gc, "isenabled");
        known.unfreeze = attribute(gc, "unfreeze");
        known.is_finalizing = attribute(sys, "is_finalizing");
        known.streams[0] = attribute(sys, "__stdout__");
        known.streams[1] = attribute(sys, "__stderr__");
        know_types(names);
        known.hook = PyCFunction_NewEx(&method, 0, 0);
        known.del = PyUnicode_InternFromString("__del__");
        known.builtins = PyEval_GetBuiltins();
        known.n_builtins = PyDict_Size(known.builtins);
        if (!known.modules || !known.hidden || !known.unfrozen || !known.callbacks || !known.get_objects ||
            !known.get_debug || !known.is_enabled || !known.unfreeze || !known.is_finalizing ||
            !known.filters || is_none(known.streams[0]) || is_none(known.streams[1]) || !known.hook ||
            !known.del)
                return -1;
        PyObject *const references[] = {known.filters,       known.modules,    known.hidden,
                                        known.unfrozen,      known.callbacks,  known.get_objects,
                                        known.get_debug,     known.is_enabled, known.unfreeze,
                                        known.is_finalizing, known.streams[0], known.streams[1]};
        for (unsigned i = 0; i < sizeof references / sizeof *references; i++)
                Py_IncRef(references[i]);
        PyObject *buffer = PyObject_GetAttrString(known.streams[0], "buffer");
        PyObject *raw = buffer ? PyObject_GetAttrString(buffer, "raw") : 0;
        if (!raw)
                return -1;
        known.layers[0] = PyObject_Type(known.streams[0]);
        known.layers[1] = PyObject_Type(buffer);
        known.layers[2] = PyObject_Type(raw);
        Py_DecRef(raw);
        Py_DecRef(buffer);
        known.types_are_second = ((PyObject **)raw)[1] == known.layers[2];
        /* Restored processes find the attributes that this looks up in the interpreter's cache, and need not
         * write to it. */
        return streams_are_flushed() && what_is_left() != LEFT_UNKNOWN ? 0 : -1;
}

int shutdown_full(void)
{
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        release_template(1);
        PyErr_Restore(type, value, traceback);
        return Py_FinalizeEx();
}

int shutdown_short(void (*end)(void))
{
        end_process = end;
        if (PyList_Size(known.callbacks) != 0 || !answers_yes(known.is_enabled) ||
            PyList_Append(known.callbacks, known.hook) < 0)
                return shutdown_full();
        return Py_FinalizeEx();
}
