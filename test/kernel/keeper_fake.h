/* test/kernel/keeper_fake.h -- a daemon with a server that the test controls.
 *
 * The test program is started by `cella serve` as if it were cella-server, hands the socket to the
 * keeper over to the test, says how it finds itself, and waits for the way in which it is to end.  So the
 * test speaks to the real keeper in the server's place. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cella.h"
#include "wire/keeper.h"

struct fake_daemon {
        char directory[64]; /* programs, state, log */
        pid_t pid;          /* cella serve */
        pid_t server;
        int link;          /* to the server */
        int keeper;        /* its socket to the keeper */
        int egress;        /* the last received socket of an egress process; -1: none */
        unsigned n_egress; /* how many were received */
        int more[8];       /* what came with the last packet behind its first descriptor; ours to close */
        unsigned n_more;
        char report[8192];
        double ready_ms; /* from fork to the server's first message */
};

union fake_packet {
        struct {
                uint32_t type, number;
        };
        struct keeper_about about;
        struct keeper_made made;
        struct keeper_failed failed;
        struct keeper_counted counted;
        char bytes[2048];
};

struct fake_sandbox {
        uint32_t handle;
        int control;
        struct keeper_made made;
        int way_out[2]; /* see INIT_NETWORK; from fake_ready() */
        unsigned n_way_out;
};

/* Starts one in a new directory, or in that of a daemon that died (keep true); arguments end with
 * NULL.  False: it did not come up; the log says why. */
bool fake_start(struct fake_daemon *d, bool keep, const char *const *arguments);
/* Starts one in a new directory.  If it does not come up, prints its log and ends the test program. */
void fake_up(struct fake_daemon *d, const char *const *arguments);
/* Tells the server how to end: 'q' exit 0, 'e' exit 3, 'c' close its socket, 'k' kill -9. */
void fake_tell(struct fake_daemon *d, char how);
/* Waits for cella serve to end.  Returns its exit status, 128 + signal, or -1: it did not within the
 * time. */
int fake_wait(struct fake_daemon *d, int ms);
/* Closes and removes everything, whatever state it is in; nothing if it was done already. */
void fake_done(struct fake_daemon *d);
/* Returns the daemon's log. */
void fake_log(const struct fake_daemon *d, char *text, size_t size);

bool fake_send(struct fake_daemon *d, const void *packet, size_t len);
/* Receives the next packet except KEEPER_EGRESS, which can come at any time; the caller owns *fd.  Returns
 * its length, 0 at the end, -1 after ms. */
ssize_t fake_receive(struct fake_daemon *d, union fake_packet *packet, int *fd, int ms);
/* Sends a request about a sandbox, and, if type is not 0, waits for the answer with its number, skipping
 * KEEPER_DIED. */
bool fake_ask(struct fake_daemon *d, uint32_t what, uint32_t handle, uint32_t type,
              union fake_packet *answer);

void fake_fill(struct keeper_make *make);
bool fake_make(struct fake_daemon *d, const struct keeper_make *make, struct fake_sandbox *ret);
/* Waits for INIT_READY, and receives an INIT_NETWORK that may come before. */
bool fake_ready(struct fake_sandbox *s);
/* Starts a shell script; its output is discarded. */
bool fake_spawn(struct fake_sandbox *s, const char *script, bool final);
/* Waits for the end of the script.  Returns its wait status, or -1 if it did not end in time. */
int fake_exited(struct fake_sandbox *s);

/* Lists the descendants of pid.  Returns their number. */
size_t fake_descendants(pid_t pid, pid_t *ret, size_t max);
/* Returns how many of these processes still exist, without zombies. */
size_t fake_alive(const pid_t *pids, size_t n);
/* The name of the control group of a process, cella-N; empty if it has none. */
void fake_group(pid_t pid, char *ret, size_t size);
/* The directory of the group of this name; below: a hierarchy (with a slash at its end), or all of them. */
bool fake_group_find(const char *below, const char *name, char *ret, size_t size);
/* Whether a group of this name is in any hierarchy. */
bool fake_group_exists(const char *name);
/* Descriptors of a process: of namespaces and control groups, which it may have in stock, and all others; its
 * mounts. */
struct fake_held {
        int networks, counters, ipc, views, users, groups, others;
};
struct fake_held fake_held(pid_t pid);
/* Mounts with a path of the daemon in its mount namespace.  Other programs may mount and unmount beside it.
 */
int fake_mounts(const struct fake_daemon *d);
double fake_now_ms(void);

/* Where the next daemon is put before it starts: a directory of cgroup v2; NULL: where we are. */
extern const char *fake_start_group;

/* TMPDIR, or /tmp. */
const char *fake_temporary(void);

/* How many times as long everything may take: CELLA_SLACK, for a machine that is emulated. */
double fake_slack(void);

/* How many times as long as usual a test waits for what must come: it costs nothing where it comes, and a
 * machine that others use has been seen to let a process wait for a third of a second. */
double fake_patience(void);
