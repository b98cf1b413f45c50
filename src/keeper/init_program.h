/* keeper/init_program.h -- init's program, carried in ours. */
#pragma once

extern const char init_program[];
extern const char init_program_end[];

/* A sealed, executable memfd with it.  Returns the descriptor or -errno. */
int init_program_open(void);
