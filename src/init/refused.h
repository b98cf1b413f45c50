/* init/refused.h -- system calls that the filter refused and that matter: TELL in jail/syscalls.def. */
#pragma once

/* Where the kernel says that somebody made one; -1: it says nothing. */
void refused_listen(int fd);
int refused_fd(void);

/* One waits there: answers it, and tells the owner if it is new. */
void refused_answer(void);

/* All that wait, but no more than there can be without a flood. */
void refused_drain(void);

/* What was told of is told of again. */
void refused_forget(void);

/* A request of the owner was carried out. */
void refused_heard(void);
