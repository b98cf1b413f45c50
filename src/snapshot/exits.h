/* snapshot/exits.h -- exit functions of C libraries. */
#pragma once
#include "snapshot/interpreter.h"

/* Adds the function exits() to the namespace of hidden.py. Functions that modules register from now on are
 * called.
 */
int exits_add(PyObject *names);
/* Call before the template is written: the destructors of its libraries need not be called. */
void exits_remember(void);
/* Whether there is nothing that exit() would have to call. */
int exits_none(void);
