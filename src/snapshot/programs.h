/* snapshot/programs.h -- the programs and scripts of this folder, as bytes inside cella-server. */
#pragma once
#include <stdint.h>

/* NOLINTBEGIN(bugprone-macro-parentheses): a name cannot be in parentheses */
#define SNAPSHOT_PROGRAM(name)                                                                               \
        extern const char name[];                                                                            \
        extern const uint64_t name##_len

SNAPSHOT_PROGRAM(snapshot_python_so); /* python.c: loaded into python3 */
SNAPSHOT_PROGRAM(
        snapshot_hidden_py); /* hidden.py, learned.py and python.py: its Python part, in this order */
SNAPSHOT_PROGRAM(snapshot_learned_py);
SNAPSHOT_PROGRAM(snapshot_python_py);
SNAPSHOT_PROGRAM(snapshot_restore);    /* restore.c: a program */
SNAPSHOT_PROGRAM(snapshot_hold_so);    /* hold.c: loaded into a shell */
SNAPSHOT_PROGRAM(snapshot_context_py); /* drivers of contexts */
SNAPSHOT_PROGRAM(snapshot_context_js);
SNAPSHOT_PROGRAM(snapshot_context_bash);

#undef SNAPSHOT_PROGRAM
/* NOLINTEND(bugprone-macro-parentheses) */
