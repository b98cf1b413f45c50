/* image/cage.c -- see cage.h.
 *
 * This process parses untrusted data in complex formats.  An attacker who takes it over can only access the
 * store, which readers treat as hostile, and the network, which he could access before. */
#include "image/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/file.h"
#include "sys/own_filter.h"
#include "sys/process.h"
#include "sys/raw.h"

#define MEMORY_MAX ((uint64_t)4 << 30)
#define ACCESS_READ_FILE (1u << 2)
#define ACCESS_READ_DIR (1u << 3)
#define ACCESS_BEFORE_IOCTL ((1u << 15) - 1) /* all access rights up to ABI 4 */
#define ACCESS_ABI_2 ((1u << 14) - 1)
#define ACCESS_EXECUTE (1u << 0)

/* Files for looking up names and certificates; missing ones are ignored. */
static const char *const readable[] = {
        "/etc",      "/usr/share",   "/usr/lib",           "/usr/local/share", "/run/systemd/resolve",
        "/dev/null", "/dev/urandom", "/proc/sys/net/ipv6",
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        "/proc", /* the leak check at exit reads all threads */
#endif
};

static int image_cage_allow(int ruleset, int fd, uint64_t access)
{
        const struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
        return (int)sys_call4(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* On a kernel without Landlock, or with its first version, which forbids every link and rename between
 * directories, only the rights of the user restrict the process. */
static int restrict_files(int store)
{
        int abi = sys_landlock_abi();
        if (abi < 2)
                return 0;
        struct {
                uint64_t handled_access_fs;
        } attr = {abi >= 3 ? ACCESS_BEFORE_IOCTL : ACCESS_ABI_2};
        AUTO(sys_close) int ruleset = (int)sys_call3(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
        if (ruleset < 0)
                return ruleset;
        int r = image_cage_allow(ruleset, store, attr.handled_access_fs & ~(uint64_t)ACCESS_EXECUTE);
        for (size_t i = 0; i < ARRAY_LEN(readable) && r == 0; i++) {
                AUTO(sys_close) int fd = sys_openat(AT_FDCWD, readable[i], O_PATH, 0);
                if (fd < 0)
                        continue;
                r = image_cage_allow(ruleset, fd, ACCESS_READ_FILE | ACCESS_READ_DIR);
                if (r == -EINVAL) /* not a directory */
                        r = image_cage_allow(ruleset, fd, ACCESS_READ_FILE);
        }
#ifdef CELLA_COVERAGE_DIR /* a coverage build: the counters are written there when the process exits */
        AUTO(sys_close) int counters = sys_openat(AT_FDCWD, CELLA_COVERAGE_DIR, O_PATH, 0);
        if (counters >= 0 && r == 0)
                r = image_cage_allow(ruleset, counters, attr.handled_access_fs & ~(uint64_t)ACCESS_EXECUTE);
#endif
        return r < 0 ? r : (int)sys_call2(SYS_landlock_restrict_self, ruleset, 0);
}

static const char *const calls[] = {
        /* descriptors */
        "syncfs",
        "copy_file_range",
        /* files */
        "openat2",
        "creat",
        "link",
        "linkat",
        "symlink",
        "symlinkat",
        "truncate",
        /* the network */
        "connect",
        "bind",
        "recvmmsg",
        "sendmmsg",
        /* memory and threads */
        "get_robust_list",
        "sched_getparam",
        "sched_getscheduler",
        /* signals and time */
        "alarm",
        "setitimer",
};

static int allow_socket(scmp_filter_ctx filter, int family, int type)
{
        return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2,
                                SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family),
                                SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, (scmp_datum_t)type));
}

static int add_conditional(scmp_filter_ctx filter)
{
        int r = 0;
        r |= allow_socket(filter, AF_INET, SOCK_STREAM) | allow_socket(filter, AF_INET, SOCK_DGRAM);
        r |= allow_socket(filter, AF_INET6, SOCK_STREAM) | allow_socket(filter, AF_INET6, SOCK_DGRAM);
        /* The addresses of this machine, by which the resolver orders the addresses of a name. */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
                              SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE));
        return r;
}

int image_cage_enter(int store, struct cella_err *err)
{
        int r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);
        if (r == 0)
                r = sys_setrlimit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        if (r == 0)
                r = sys_setrlimit(RLIMIT_DATA, MEMORY_MAX);
        if (r == 0)
                r = sys_prctl(PR_SET_DUMPABLE, 0, 0);
#endif
        if (r < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r, "cannot limit the process itself");
        if ((r = restrict_files(store)) < 0)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "landlock: cannot restrict the process itself");
        r = own_filter_load(&(struct own_filter){calls, ARRAY_LEN(calls), add_conditional});
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "seccomp: cannot filter the process itself")
                     : 0;
}
