/* cli/admin/job.h -- runs cella-server for one job instead of as a server.
 *
 * The libraries for JSON, databases and certificates are in cella-server only.  The job runs as the server's
 * user: what it reads in the state directory could have been written by a server that was taken over. */
#pragma once
#include <stddef.h>

#include "cella.h"
#include "cli/program.h"

#define JOB_FD 3 /* in the job: the first of fds */

/* argv[0] is the program's name.  Waits for the end; messages of the job go to stderr.  Returns the exit
 * status of the job, or -errno. */
int job_run(char *const *argv, const int *fds, size_t n_fds, const struct server_user *user,
            struct cella_err *err);
