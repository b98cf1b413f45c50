/* snapshot/plug.h -- arranges memory so that a restored interpreter writes to few pages. */
#pragma once

/* Allocates the free gaps between objects, so that later objects are adjacent. Call it before the process
 * is written to a template. */
void plug_holes(void);
