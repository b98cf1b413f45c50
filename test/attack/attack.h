/* attack.h -- functions and macros for attacks.
 *
 * One attack per file; each registers itself, and all are linked into one static
 * program, cella-attacks, which is only ever run inside a sandbox.  An attack is
 * judged twice: with all walls up it must be BLOCKED, and with its one wall taken
 * away it must SUCCEED.  Therefore:
 *
 *  - BLOCKED is returned for the one refusal that the named wall gives, and for no
 *    other.  Anything unforeseen is BROKEN, so that a test cannot pass by accident.
 *  - The walls overlap on purpose.  Where a second wall would still stop the attack,
 *    "succeeded" means that the named wall let it through to that second one: a
 *    different errno, or an answer that only the kernel itself gives.
 *  - An attack with two walls would succeed only without both, and never more than one is
 *    taken down.  So for these it is shown that each wall holds without the other, and
 *    another attack that only one of them stops shows that this one is there at all:
 *    kernel_calls and capabilities for kernel_control, leaked_dir and device_ioctl for
 *    leaked_dir_read, signal_process and init_environ for process_environ, sysv_shm and
 *    posix_queue_create for posix_queue.
 *  - Two walls count processes, the cgroup exactly and the rlimit with some to spare.  A bomb
 *    succeeds when it gets more than its limit; without the cgroup the rlimit must still
 *    end it.  raise_limits shows the rlimit by itself.
 *  - Nothing here may do damage even if it succeeds: files of the host are opened but
 *    never written, processes only get signal 0 or SIGCONT, calls that would change
 *    the machine get arguments that the kernel refuses, and bombs are bounded. */
#pragma once
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail/walls.h"

enum attack_outcome {
        ATTACK_SUCCEEDED = 0,
        ATTACK_BLOCKED = 1,
        ATTACK_BROKEN = 2, /* could not be tried; attack_say() printed why */
};

/* What the runner placed on the host, as KEY=VALUE arguments (key = field).  Text is
 * NULL and numbers are -1 when not given. */
struct attack_victim {
        const char *nonce;     /* the secret that every victim holds */
        const char *host_file; /* world-readable file on the host */
        const char *link;      /* symbolic link to it, in a directory shown to the sandbox */
        const char *dir;       /* that directory; host_file is "../secret" from it */
        const char *shm_file;  /* name in the host's /dev/shm */
        const char *socket;    /* path of a listening Unix socket of the host */
        const char *abstract;  /* name of a listening abstract one */
        const char *queue;     /* POSIX message queue */
        const char *terminal;  /* path of a terminal, open to everybody; "": the host has none */
        const char *host_name;
        long fd;      /* descriptor of host_file, open in the sandbox's creator */
        long dir_fd;  /* descriptor of the host's root directory, likewise */
        long pid;     /* process of the host, with the nonce in its environment */
        long pid_ns;  /* inode of the host's pid namespace */
        long port;    /* TCP port that the host listens on, 127.0.0.1 */
        long shm_key; /* System V shared memory */
        long limit;   /* of what a bomb uses up */
        long users;   /* several: how many ids the sandbox has, from 0 on; otherwise -1 */
};

/* An id that must not be in reach: root's, or in a sandbox with several users, where root is an ordinary id
 * of the host, the first that the sandbox does not have. */
static inline unsigned attack_foreign_id(const struct attack_victim *victim)
{
        return victim->users > 0 ? (unsigned)victim->users : 0;
}

enum {
        ATTACK_BOMB = 1u << 0, /* uses up resources or hides from its end: judged by what it leaves */
};

struct attack {
        const char *name;
        uint32_t wall; /* one bit, or two for an attack that each of them stops alone */
        const char *what;
        enum attack_outcome (*run)(const struct attack_victim *victim);
        unsigned flags;
        struct attack *next;
};

void attack_register(struct attack *attack);
struct attack *attack_first(void);

/* ATTACK(id, wall, "what it tries") { body }: the body gets `victim`. */
#define ATTACK(id, walls, text) ATTACK_DEFINE(id, #id, walls, text, 0)
#define BOMB(id, walls, text) ATTACK_DEFINE(id, #id, walls, text, ATTACK_BOMB)
#define ATTACK_DEFINE(id, id_name, walls, text, attack_flags)                                                \
        static enum attack_outcome id##_run(const struct attack_victim *victim);                             \
        __attribute__((constructor)) static void id##_register(void)                                         \
        {                                                                                                    \
                static struct attack attack = {                                                              \
                        .name = id_name,                                                                     \
                        .wall = (walls),                                                                     \
                        .what = (text),                                                                      \
                        .run = id##_run,                                                                     \
                        .flags = (attack_flags),                                                             \
                };                                                                                           \
                attack_register(&attack);                                                                    \
        }                                                                                                    \
        static enum attack_outcome id##_run(__attribute__((unused)) const struct attack_victim *victim)

/* One line on stdout: what was seen. */
void attack_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the text and returns the outcome. */
enum attack_outcome attack_succeeded(const char *format, ...) __attribute__((format(printf, 1, 2)));
enum attack_outcome attack_blocked(const char *format, ...) __attribute__((format(printf, 1, 2)));
enum attack_outcome attack_broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Blocked, but by the kernel or the processor itself: taking the wall away can show
 * nothing here.  The line starts with "moot: ", which the runner looks for. */
enum attack_outcome attack_moot(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Combines two tries of one attack: success has priority, then a broken try. */
enum attack_outcome attack_worse(enum attack_outcome a, enum attack_outcome b);

/* Judges a raw call: done, or one of `answers` (ended by 0: what only the kernel itself
 * says, so the wall let the call through) is success; `refusal` is blocked. */
enum attack_outcome attack_judge(const char *call, long result, int refusal, const int *answers);
#define ANSWERS(...) ((const int[]){__VA_ARGS__, 0})

/* A system call without libc in between, so that nothing is emulated: -errno or the
 * result.  Arguments left out are 0. */
#define CALL(...) CALL_PADDED(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define CALL_PADDED(nr, a, b, c, d, e, f, ...)                                                               \
        attack_call((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
long attack_call(long nr, long a, long b, long c, long d, long e, long f);

/* Not mapped in any process: a call that got as far as looking at it says EFAULT. */
#define BAD_POINTER ((void *)8)

/* True on a kernel older than that: what a wall can do depends on it. */
bool attack_kernel_before(int major, int minor);

/* True where AppArmor refuses user namespaces to ordinary programs, by the same error
 * as the filter (Ubuntu). */
bool attack_userns_restricted(void);

/* Looks for the nonce in what can be read from fd, and closes it. */
enum attack_outcome attack_steal(int fd, const struct attack_victim *victim);

/* Opens path and looks for the nonce.  ENOENT is blocked: the file is not visible. */
enum attack_outcome attack_open_and_steal(const char *path, const struct attack_victim *victim);

/* Opens a file for writing, at path, without ever writing.  EROFS is blocked; done, or
 * refused for its owner and mode, is success: that the mount is read-only was the wall.
 * A file that is not there, or has /dev/null mounted over it, is blocked. */
enum attack_outcome attack_open_for_writing(const char *path);

/* Bombs of processes end here, so that a missing wall costs little. */
#define ATTACK_BOMB_SIZE 300

/* Judges a bomb that had n processes at once, itself included.  stopped: then no more could be made.  More
 * than the limit is success. */
enum attack_outcome attack_counted(long n, const char *what, bool stopped,
                                   const struct attack_victim *victim);
#define ATTACK_THEN_STOPPED "then stopped" /* the end of the output line of such a success */

/* For every process that a bomb leaves behind: alarms are not inherited. */
void attack_fuse(void);

/* True in a pid namespace of our own; otherwise says so.  Guards the attacks that send
 * signals to everyone. */
bool attack_alone(const struct attack_victim *victim);
