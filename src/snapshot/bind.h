/* snapshot/bind.h -- resolves symbols now that the dynamic linker would resolve at the first call. */
#pragma once

/* Resolves them in all loaded objects; the process must have one thread. */
void bind_functions(void);
