/* cli/admin/server_program.h -- where cella-server is: it has the libraries that this program does without.
 */
#pragma once
#include <stddef.h>

#include "cella.h"

#define SERVER_PROGRAM_SIZE 1024
#define PROGRAM_DIRECTORY_SIZE 512

int server_program_find(char ret[SERVER_PROGRAM_SIZE], struct cella_err *err);

/* The same for another program that is installed beside it. */
int program_find(const char *name, char ret[SERVER_PROGRAM_SIZE], struct cella_err *err);

/* The directory that this program is in; "" if nobody can say. */
void program_directory(char ret[PROGRAM_DIRECTORY_SIZE]);
