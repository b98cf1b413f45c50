/* warm/plain.h -- whether the end of an interpreter can be noticed by the code that it ran. */
#pragma once

/* Code that names nothing by which it could has made nothing that notices.  To look through what it has made
 * (python.py) would cost more than to run it.  UTF-8; 0 where that is not known. */
int plain_code(const char *code);
