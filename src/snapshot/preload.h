/* snapshot/preload.h -- the default of the setting `preload` of pools. */
#pragma once

/* The standard library (STANDARD in hidden.py) is in the template, hidden until code imports it. */
#define PRELOAD_AUTO "auto"
