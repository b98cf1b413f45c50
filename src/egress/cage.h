/* egress/cage.h -- isolation of the egress process itself. */
#pragma once

/* Drops privileges and capabilities, disables ptrace and core dumps, and loads a system call filter that
 * only allows what forwarding needs: the process cannot open files, execute programs or send signals, and
 * can only create TCP and UDP sockets.  Returns 0 or -errno. */
int egress_cage_enter(void);
