/* warm/plain.h -- whether the end of an interpreter can be noticed by the code that it ran. */
#pragma once
#include <stddef.h>

/* Code that names nothing by which it could has made nothing that notices, nor sees its own file.  To look
 * through what it has made (python.py) would cost more than to run it.  UTF-8, with a NUL behind it; 0 where
 * that is not known.  Goes for what is imported only if it was there already: what is searched for may be
 * anybody's (script_searched()). */
int plain_code(const char *code, size_t length);

/* What it does the first time, and need not be done again: for a process that is to be written down. */
void plain_prepare(void);
