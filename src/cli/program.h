/* cli/program.h -- finds the other programs of Cella, and the user they run as.
 * They are beside this program in a build directory, and in libexecdir/cella once they are installed. */
#pragma once
#include "cella.h"

#define PROGRAM_SIZE 1024
#define PROGRAM_DIRECTORY_SIZE 512

/* Finds a program of libexecdir/cella.  CELLA_NOT_FOUND if it is not installed. */
int program_find(const char *name, char ret[PROGRAM_SIZE], struct cella_err *err);

/* Finds `cella` itself, for a program of libexecdir/cella. */
int program_find_cella(char ret[PROGRAM_SIZE], struct cella_err *err);

/* The directory of this program; "" if it is unknown. */
void program_directory(char ret[PROGRAM_DIRECTORY_SIZE]);

/* The user that unprivileged processes run as, and that owns their files. */
struct server_user {
        bool change; /* this process is root, and its children change to this user; otherwise: its own */
        unsigned uid, gid;
};

/* name: the value of --user.  NULL: the user `cella`, or a number that no user has. */
int server_user_find(const char *name, struct server_user *ret, struct cella_err *err);
