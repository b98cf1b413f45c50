/* snapshot/plug.h -- memory laid out so that a restored interpreter writes to few pages. */
#pragma once

/* Gives away the room between what is in memory, so that what is made later is beside each other.  For before
 * a process is written down. */
void plug_holes(void);
