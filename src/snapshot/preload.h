/* snapshot/preload.h -- the default of the setting `preload` of pools. */
#pragma once

/* Python: the standard library (STANDARD in hidden.py) is in the template, hidden until code imports it.
 * Node: its built-in modules are loaded (prelude.js). */
#define PRELOAD_AUTO "auto"
