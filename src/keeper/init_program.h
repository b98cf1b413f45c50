/* keeper/init_program.h -- init's program, carried in ours. */
#pragma once
#include <stdint.h>

extern const char init_program[];
extern const uint64_t init_program_len;

/* A sealed, executable memfd with it.  Returns the descriptor or -errno. */
int init_program_open(void);
