/* snapshot/bind.h -- looks up now what the dynamic linker would look up at the first call. */
#pragma once

/* In everything that is loaded; with one thread. */
void bind_functions(void);
