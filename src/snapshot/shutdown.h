/* snapshot/shutdown.h -- ends the interpreter of a restored process without destroying its template. */
#pragma once
#include "snapshot/interpreter.h"

/* Called before the template is written.  names: the namespace of python.py.  -1: something is missing. */
int shutdown_prepare(PyObject *names);

/* Runs Py_FinalizeEx().  Calls end(), which must not return, as soon as the rest of it would only destroy
 * the template; otherwise returns what Py_FinalizeEx() returned. */
int shutdown_short(void (*end)(void));

/* Runs all of Py_FinalizeEx() and returns its result.  An exception may be set. */
int shutdown_full(void);
