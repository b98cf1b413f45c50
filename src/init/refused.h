/* init/refused.h -- reports refused system calls that are marked REPORT in jail/syscalls.def. */
#pragma once

/* The descriptor of the kernel's notifications; -1: there is none. */
void refused_listen(int fd);
int refused_fd(void);

/* Answers one pending notification, and reports it to the owner if it is new. */
void refused_answer(void);

/* Answers all pending notifications, up to a limit that only a flood exceeds. */
void refused_drain(void);

/* Forgets which calls were reported, so that they are reported again. */
void refused_forget(void);

/* Call it after a request of the owner was carried out. */
void refused_received(void);
