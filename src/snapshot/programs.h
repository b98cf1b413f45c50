/* snapshot/programs.h -- the programs and scripts of this folder, as bytes inside cella-server. */
#pragma once
#include <stdint.h>

/* NOLINTBEGIN(bugprone-macro-parentheses): a name cannot be in parentheses */
#define WARM_PROGRAM(name)                                                                                   \
        extern const char name[];                                                                            \
        extern const uint64_t name##_len

WARM_PROGRAM(warm_python_so); /* python.c: loaded into python3 */
WARM_PROGRAM(warm_hidden_py); /* hidden.py, learned.py and python.py: its Python part, in this order */
WARM_PROGRAM(warm_learned_py);
WARM_PROGRAM(warm_python_py);
WARM_PROGRAM(warm_restore);    /* restore.c: a program */
WARM_PROGRAM(warm_hold_so);    /* hold.c: loaded into a shell */
WARM_PROGRAM(warm_context_py); /* drivers of contexts */
WARM_PROGRAM(warm_context_js);
WARM_PROGRAM(warm_context_bash);

#undef WARM_PROGRAM
/* NOLINTEND(bugprone-macro-parentheses) */
