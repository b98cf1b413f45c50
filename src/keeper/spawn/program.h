/* keeper/spawn/program.h -- the programs carried in ours: init, and the egress process. */
#pragma once

/* A sealed, executable memfd with it, out of the way of low numbers.  The descriptor, or -errno. */
int program_open_init(void);
int program_open_egress(void);
