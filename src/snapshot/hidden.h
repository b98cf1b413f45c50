/* snapshot/hidden.h -- modules that are in a template, but that code cannot see before it imports them. */
#pragma once
#include "snapshot/interpreter.h"

/* Lets imports look for hidden modules (hidden.py) first. names: the namespace of python.py. -1: something is
 * missing; then modules must not be hidden. */
int hidden_install(PyObject *names);
