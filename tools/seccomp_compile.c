/* tools/seccomp_compile.c -- from the table of system calls to a BPF program.
 *
 * Loading a filter is on the path of every sandbox, and the kernel needs time for each
 * instruction and for each system call number that it tries in advance.  So:
 *
 *  1. Sort the calls by number and join neighbours with the same target into runs
 *     that cover all 2^32 numbers.  A target is a return value or a rule.
 *  2. Emit a balanced binary search over the first numbers of the runs, and each
 *     target once.
 *
 * Instructions are emitted from the last to the first: BPF jumps only go forward, so
 * the place of every target is then known when a jump to it is made.
 *
 * Allowed calls below a certain number, the busy ones, are reached by loading just
 * the number and the architecture and comparing: this the kernel (5.11 on) can play
 * through, and it then never runs the filter for them.  That is worth about 12 ns a
 * call, and costs about 40 ns a number at load time.  So for the others an instruction
 * is put in the way that it does not play through, and gives up there. */
#include "seccomp_compile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "jail/seccomp_filter.h"

/* ---- rules ----------------------------------------------------------------------- */

/* The targets of a comparison: a return, or the first step of a rule. */
enum target {
        TO_NONE,
        TO_ALLOW,
        TO_KILL,
        TO_ZERO, /* returns 0, and nothing is done */
        TO_EPERM,
        TO_ENOSYS,
        TO_EAFNOSUPPORT,
        TO_EPROTONOSUPPORT,
        TO_REPORT_EPERM, /* the same, but init answers and reports the call */
        TO_REPORT_EAFNOSUPPORT,
        TO_CLONE,
        TO_FILE_ADVICE,
        TO_MEMORY_ADVICE,
        TO_SOCKET,
        TO_SOCKET_INET,
        TO_SOCKET_INET_PROTOCOL,
        TO_SOCKET_NETLINK,
        TO_SOCKETPAIR,
        TO_SOCKET_OPTION,
        TO_IP_OPTION,
        TO_IPV6_OPTION,
        TO_IOCTL,
        TO_MODE_1,
        TO_MODE_2,
        TO_MODE_3,
        TO_OPEN_1,
        TO_OPEN_2,
        TO_NODE,
        TO_NODE_1,
        TO_NODE_2,
        TO_RENAME,
        TO_PERSONALITY,
        TO_NOT_INIT,
        TO_NOT_INIT_2ND,
        TO_PRIORITY,
        TO_IO_PRIORITY,
        TO_PRCTL,
        TO_SECCOMP,
        TO_SECCOMP_FLAGS,
        N_TARGETS,
};

/* LOAD takes the low half of an argument.  The kernel declares every argument looked
 * at here, but for one that it does not look at, as int, unsigned int or umode_t (and takes
 * the low half of clone's flags itself), so it ignores the high half; comparing that too would
 * let a call through whose high half is not zero. */
enum step_op { LOAD, LOAD_HIGH, MASK, IF_EQUAL, IF_ANY, ELSE };

struct step {
        enum step_op op;
        uint32_t k; /* LOAD: which argument */
        enum target to;
};

#define MAX_STEPS 8

/* Sets of bits, and constants which no header for userland has in a usable form. */
enum {
        FLAG_TMPFILE = 020000000,     /* __O_TMPFILE, the same on both machines */
        FLAG_WHITEOUT = 4,            /* RENAME_WHITEOUT */
        OPTION_SCHED_CORE = 62,       /* PR_SCHED_CORE */
        OPTION_MEMORY_MERGE = 67,     /* PR_SET_MEMORY_MERGE */
        FILE_DONT_NEED = 4,           /* POSIX_FADV_DONTNEED, the same on both machines */
        MEMORY_MERGEABLE = 12,        /* MADV_MERGEABLE */
        MEMORY_COLD = 20,             /* MADV_COLD */
        MEMORY_PAGEOUT = 21,          /* MADV_PAGEOUT */
        VALUE_NO_RANDOMIZE = 0x40000, /* ADDR_NO_RANDOMIZE */
        SOCKET_TYPE_MASK = 0xf,       /* the rest of the type is SOCK_CLOEXEC and the like */
        PROTOCOL_TCP = 6,
        PROTOCOL_UDP = 17,
        PROTOCOL_NETFILTER = 12, /* NETLINK_NETFILTER */
        LEVEL_IP = 0,
        LEVEL_IPV6 = 41,
        IP_JOIN = 35, /* IP_ADD_MEMBERSHIP */
        IP_JOIN_SOURCE = 39,
        IPV6_JOIN = 20,     /* IPV6_ADD_MEMBERSHIP */
        IPV6_JOIN_ONE = 27, /* IPV6_JOIN_ANYCAST */
        IPV6_LABELS = 32,   /* IPV6_FLOWLABEL_MGR */
        ANY_JOIN = 42,      /* MCAST_JOIN_GROUP, of both */
        ANY_JOIN_SOURCE = 46,
        SET_ID = S_ISUID | S_ISGID,
        NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                     CLONE_NEWCGROUP | CLONE_NEWTIME,
};

_Static_assert(O_CREAT == 0100, "O_CREAT is the same on both machines");

static const struct step rules[N_TARGETS][MAX_STEPS] = {
        [TO_CLONE] = {{LOAD, 0, 0}, {IF_ANY, NAMESPACES, TO_REPORT_EPERM}, {ELSE, 0, TO_ALLOW}},

        /* Offset and length are 64 bits wide on both machines: one argument each. */
        [TO_FILE_ADVICE] = {{LOAD, 3, 0}, {IF_EQUAL, FILE_DONT_NEED, TO_ZERO}, {ELSE, 0, TO_ALLOW}},
        [TO_MEMORY_ADVICE] = {{LOAD, 2, 0},
                              {IF_EQUAL, MEMORY_MERGEABLE, TO_EPERM},
                              {IF_EQUAL, MEMORY_COLD, TO_EPERM},
                              {IF_EQUAL, MEMORY_PAGEOUT, TO_EPERM},
                              {ELSE, 0, TO_ALLOW}},

        [TO_SOCKET] = {{LOAD, 0, 0},
                       {IF_EQUAL, AF_UNIX, TO_ALLOW},
                       {IF_EQUAL, AF_INET, TO_SOCKET_INET},
                       {IF_EQUAL, AF_INET6, TO_SOCKET_INET},
                       {IF_EQUAL, AF_NETLINK, TO_SOCKET_NETLINK},
                       {ELSE, 0, TO_REPORT_EAFNOSUPPORT}},
        [TO_SOCKET_INET] = {{LOAD, 1, 0},
                            {MASK, SOCKET_TYPE_MASK, 0},
                            {IF_EQUAL, SOCK_STREAM, TO_SOCKET_INET_PROTOCOL},
                            {IF_EQUAL, SOCK_DGRAM, TO_SOCKET_INET_PROTOCOL},
                            {ELSE, 0, TO_REPORT_EPERM}},
        /* Else SCTP, MPTCP, SMC, L2TP, UDP-Lite.  Go tries MPTCP first and takes this
         * error for a kernel without it. */
        [TO_SOCKET_INET_PROTOCOL] = {{LOAD, 2, 0},
                                     {IF_EQUAL, 0, TO_ALLOW},
                                     {IF_EQUAL, PROTOCOL_TCP, TO_ALLOW},
                                     {IF_EQUAL, PROTOCOL_UDP, TO_ALLOW},
                                     {ELSE, 0, TO_EPROTONOSUPPORT}},
        /* SOCK_DGRAM and SOCK_RAW are all that the kernel takes: no need to look.  Audit, udev and ss try
         * theirs and do without; who wants the packet filter's is up to something. */
        [TO_SOCKET_NETLINK] = {{LOAD, 2, 0},
                               {IF_EQUAL, 0, TO_ALLOW},
                               {IF_EQUAL, PROTOCOL_NETFILTER, TO_REPORT_EAFNOSUPPORT},
                               {ELSE, 0, TO_EAFNOSUPPORT}},
        [TO_SOCKETPAIR] = {{LOAD, 0, 0}, {IF_EQUAL, AF_UNIX, TO_ALLOW}, {ELSE, 0, TO_EAFNOSUPPORT}},
        [TO_SOCKET_OPTION] = {{LOAD, 1, 0},
                              {IF_EQUAL, LEVEL_IP, TO_IP_OPTION},
                              {IF_EQUAL, LEVEL_IPV6, TO_IPV6_OPTION},
                              {ELSE, 0, TO_ALLOW}},
        [TO_IP_OPTION] = {{LOAD, 2, 0},
                          {IF_EQUAL, IP_JOIN, TO_EPERM},
                          {IF_EQUAL, IP_JOIN_SOURCE, TO_EPERM},
                          {IF_EQUAL, ANY_JOIN, TO_EPERM},
                          {IF_EQUAL, ANY_JOIN_SOURCE, TO_EPERM},
                          {ELSE, 0, TO_ALLOW}},
        [TO_IPV6_OPTION] = {{LOAD, 2, 0},
                            {IF_EQUAL, IPV6_JOIN, TO_EPERM},
                            {IF_EQUAL, IPV6_JOIN_ONE, TO_EPERM},
                            {IF_EQUAL, IPV6_LABELS, TO_EPERM},
                            {IF_EQUAL, ANY_JOIN, TO_EPERM},
                            {IF_EQUAL, ANY_JOIN_SOURCE, TO_EPERM},
                            {ELSE, 0, TO_ALLOW}},

        [TO_IOCTL] = {{LOAD, 1, 0},
                      {IF_EQUAL, TIOCSTI, TO_REPORT_EPERM},
                      {IF_EQUAL, TIOCLINUX, TO_EPERM},
                      {IF_EQUAL, TIOCSETD, TO_EPERM},
                      {ELSE, 0, TO_ALLOW}},

        [TO_MODE_1] = {{LOAD, 1, 0}, {IF_ANY, SET_ID, TO_EPERM}, {ELSE, 0, TO_ALLOW}},
        [TO_MODE_2] = {{LOAD, 2, 0}, {IF_ANY, SET_ID, TO_EPERM}, {ELSE, 0, TO_ALLOW}},
        [TO_MODE_3] = {{LOAD, 3, 0}, {IF_ANY, SET_ID, TO_EPERM}, {ELSE, 0, TO_ALLOW}},
        /* Unless a file is created the mode is whatever the register held. */
        [TO_OPEN_1] = {{LOAD, 1, 0}, {IF_ANY, O_CREAT | FLAG_TMPFILE, TO_MODE_2}, {ELSE, 0, TO_ALLOW}},
        [TO_OPEN_2] = {{LOAD, 2, 0}, {IF_ANY, O_CREAT | FLAG_TMPFILE, TO_MODE_3}, {ELSE, 0, TO_ALLOW}},
        [TO_NODE_1] = {{LOAD, 1, 0}, {ELSE, 0, TO_NODE}},
        [TO_NODE_2] = {{LOAD, 2, 0}, {ELSE, 0, TO_NODE}},
        [TO_NODE] = {{IF_ANY, SET_ID, TO_EPERM},
                     {MASK, S_IFMT & ~(S_IFBLK & ~S_IFCHR), 0}, /* makes S_IFBLK S_IFCHR */
                     {IF_EQUAL, S_IFCHR, TO_EPERM},
                     {ELSE, 0, TO_ALLOW}},
        [TO_RENAME] = {{LOAD, 4, 0}, {IF_ANY, FLAG_WHITEOUT, TO_EPERM}, {ELSE, 0, TO_ALLOW}},

        [TO_PERSONALITY] = {{LOAD, 0, 0},
                            {IF_EQUAL, 0, TO_ALLOW},
                            {IF_EQUAL, VALUE_NO_RANDOMIZE, TO_ALLOW},
                            {IF_EQUAL, UINT32_MAX, TO_ALLOW}, /* only asks */
                            {ELSE, 0, TO_EPERM}},
        [TO_NOT_INIT] = {{LOAD, 0, 0}, {IF_EQUAL, 1, TO_EPERM}, {ELSE, 0, TO_ALLOW}},
        [TO_NOT_INIT_2ND] = {{LOAD, 1, 0}, {IF_EQUAL, 1, TO_EPERM}, {ELSE, 0, TO_ALLOW}},
        [TO_PRIORITY] = {{LOAD, 0, 0},
                         {IF_EQUAL, 0, TO_NOT_INIT_2ND},
                         {ELSE, 0, TO_EPERM}}, /* PRIO_PROCESS */
        [TO_IO_PRIORITY] = {{LOAD, 0, 0},
                            {IF_EQUAL, 1, TO_NOT_INIT_2ND},
                            {ELSE, 0, TO_EPERM}}, /* IOPRIO_WHO_PROCESS */
        [TO_PRCTL] = {{LOAD, 0, 0},
                      {IF_EQUAL, PR_SET_MM, TO_EPERM}, /* could make /proc/PID/cmdline endless */
                      {IF_EQUAL, OPTION_SCHED_CORE, TO_EPERM},
                      {IF_EQUAL, OPTION_MEMORY_MERGE, TO_EPERM},
                      {ELSE, 0, TO_ALLOW}},
        [TO_SECCOMP] = {{LOAD, 0, 0},
                        {IF_EQUAL, SECCOMP_SET_MODE_STRICT, TO_ALLOW},
                        {IF_EQUAL, SECCOMP_SET_MODE_FILTER, TO_SECCOMP_FLAGS},
                        {IF_EQUAL, SECCOMP_GET_ACTION_AVAIL, TO_ALLOW},
                        {ELSE, 0, TO_EPERM}},
        [TO_SECCOMP_FLAGS] = {{LOAD, 1, 0},
                              {IF_ANY, SECCOMP_FILTER_FLAG_NEW_LISTENER, TO_EPERM},
                              {ELSE, 0, TO_ALLOW}},
};

static uint32_t return_value(enum target target)
{
        switch (target) {
        case TO_ALLOW:
                return SECCOMP_RET_ALLOW;
        case TO_ZERO:
                return SECCOMP_RET_ERRNO; /* errno 0: the call returns 0 */
        case TO_EPERM:
                return SECCOMP_RET_ERRNO | EPERM;
        case TO_ENOSYS:
                return SECCOMP_RET_ERRNO | ENOSYS;
        case TO_EAFNOSUPPORT:
                return SECCOMP_RET_ERRNO | EAFNOSUPPORT;
        case TO_EPROTONOSUPPORT:
                return SECCOMP_RET_ERRNO | EPROTONOSUPPORT;
        /* The kernel ignores the lower half of these.  It is for jail/seccomp.c. */
        case TO_REPORT_EPERM:
                return SECCOMP_RET_USER_NOTIF | EPERM;
        case TO_REPORT_EAFNOSUPPORT:
                return SECCOMP_RET_USER_NOTIF | EAFNOSUPPORT;
        default:
                return SECCOMP_RET_KILL_PROCESS;
        }
}

static bool is_return(enum target target)
{
        return target < TO_CLONE;
}

/* ---- the table ------------------------------------------------------------------- */

/* The same lines three times: what others may see, where each leads, and the numbers. */
const struct seccomp_entry seccomp_table[] = {
#define ALLOW(name) {#name, SECCOMP_ALLOW, ""},
#define DENY(name) {#name, SECCOMP_DENY, ""},
#define REPORT(name) {#name, SECCOMP_REPORT, ""},
#define ABSENT(name) {#name, SECCOMP_ABSENT, ""},
#define CHECK(name, rule) {#name, SECCOMP_CHECK, #rule},
#define NUMBER(name, x86_64, aarch64)
#include "jail/syscalls.def"
#undef ALLOW
#undef DENY
#undef REPORT
#undef ABSENT
#undef CHECK
#undef NUMBER
};

static const enum target targets[] = {
#define ALLOW(name) TO_ALLOW,
#define DENY(name) TO_EPERM,
#define REPORT(name) TO_REPORT_EPERM,
#define ABSENT(name) TO_ENOSYS,
#define CHECK(name, rule) TO_##rule,
#define NUMBER(name, x86_64, aarch64)
#include "jail/syscalls.def"
#undef ALLOW
#undef DENY
#undef REPORT
#undef ABSENT
#undef CHECK
#undef NUMBER
};

static const struct {
        const char *name;
        int x86_64, aarch64;
} numbers[] = {
#define ALLOW(name)
#define DENY(name)
#define REPORT(name)
#define ABSENT(name)
#define CHECK(name, rule)
#define NUMBER(name, x86_64, aarch64) {#name, x86_64, aarch64},
#include "jail/syscalls.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TABLE_LEN COUNT(seccomp_table)
const size_t seccomp_table_len = TABLE_LEN;

/* ---- names to numbers ------------------------------------------------------------ */

struct machine {
        const char *name;
        uint32_t audit, scmp;
        uint32_t busy; /* below it are the numbers of the calls that programs make most */
        bool x32;      /* has a second table of calls behind bit 30 of the number */
};

static const struct machine machines[] = {
        {"x86_64", AUDIT_ARCH_X86_64, SCMP_ARCH_X86_64, 83, true},
        {"aarch64", AUDIT_ARCH_AARCH64, SCMP_ARCH_AARCH64, 136, false},
};

#define X32_BIT 0x40000000u

static const struct machine *find_machine(const char *arch)
{
        for (size_t i = 0; i < COUNT(machines); i++)
                if (strcmp(machines[i].name, arch) == 0)
                        return &machines[i];
        return NULL;
}

int seccomp_number(const char *arch, const char *name)
{
        const struct machine *machine = find_machine(arch);
        int known;

        if (machine == NULL)
                return -EINVAL;
        known = seccomp_syscall_resolve_name_arch(machine->scmp, name);
        for (size_t i = 0; i < COUNT(numbers); i++) {
                int ours = machine->x32 ? numbers[i].x86_64 : numbers[i].aarch64;

                if (strcmp(numbers[i].name, name) != 0)
                        continue;
                if (known >= 0 && known != ours)
                        return -EINVAL; /* one of the two is wrong: a developer must decide */
                return ours >= 0 ? ours : -ENOENT;
        }
        if (known == __NR_SCMP_ERROR)
                return -EINVAL;
        return known >= 0 ? known : -ENOENT; /* other negatives: only other machines have it */
}

/* ---- runs ------------------------------------------------------------------------ */

/* Consecutive numbers with one target, up to the next run's first. */
struct run {
        uint32_t first;
        enum target target;
};

#define MAX_RUNS (2 * TABLE_LEN + 4)

struct runs {
        struct run list[MAX_RUNS];
        size_t len;
        size_t busy; /* the number of runs below the busy limit */
};

struct call {
        uint32_t number;
        enum target target;
        const char *name;
};

/* Writes the reason and returns num. */
static int fail(char *why, size_t why_size, int num, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

static int fail(char *why, size_t why_size, int num, const char *format, ...)
{
        va_list ap;

        va_start(ap, format);
        vsnprintf(why, why_size, format, ap);
        va_end(ap);
        return num;
}

static int compare_calls(const void *a, const void *b)
{
        const struct call *x = a, *y = b;

        return x->number < y->number ? -1 : x->number > y->number;
}

/* Fills calls, sorted by number; returns how many this machine has. */
static int collect_calls(const struct machine *machine, struct call *calls, char *why, size_t why_size)
{
        int len = 0;

        for (size_t i = 0; i < TABLE_LEN; i++) {
                int number = seccomp_number(machine->name, seccomp_table[i].name);

                if (number == -ENOENT)
                        continue;
                if (number < 0)
                        return fail(why, why_size, number,
                                    "%s: libseccomp does not know it on %s, or not by the number given",
                                    seccomp_table[i].name, machine->name);
                calls[len++] = (struct call){(uint32_t)number, targets[i], seccomp_table[i].name};
        }
        qsort(calls, (size_t)len, sizeof(calls[0]), compare_calls);
        for (int i = 1; i < len; i++)
                if (calls[i].number == calls[i - 1].number)
                        return fail(why, why_size, -EEXIST, "%s and %s have the same number on %s",
                                    calls[i - 1].name, calls[i].name, machine->name);
        return len;
}

static void add_run(struct runs *runs, uint32_t first, enum target target)
{
        if (runs->len > 0 && runs->list[runs->len - 1].target == target)
                return;
        runs->list[runs->len++] = (struct run){.first = first, .target = target};
}

static void collect_runs(const struct machine *machine, const struct call *calls, int n_calls,
                         struct runs *runs)
{
        uint32_t next = 0;

        runs->len = 0;
        runs->busy = 0;
        for (int i = 0; i < n_calls; i++) {
                if (calls[i].number > next)
                        add_run(runs, next, TO_ENOSYS);
                add_run(runs, calls[i].number, calls[i].target);
                next = calls[i].number + 1;
        }
        add_run(runs, next, TO_ENOSYS);
        if (machine->x32) {
                add_run(runs, X32_BIT, TO_KILL);
                add_run(runs, UINT32_MAX, TO_ENOSYS); /* syscall(-1) belongs to no architecture */
        }
        while (runs->list[runs->busy].first < machine->busy)
                runs->busy++;
}

/* ---- emission, from the last instruction to the first ---------------------------- */

struct program {
        struct sock_filter code[SECCOMP_PROGRAM_MAX]; /* code[0] is the last instruction */
        size_t len;
        size_t place[N_TARGETS]; /* 1 + index of the nearest copy; 0: none yet */
        bool full;
};

/* How far a conditional jump reaches, less what may have to go in between: a way on
 * for each of its two sides. */
#define REACH (UINT8_MAX - 2)

static size_t emit(struct program *p, uint16_t code, size_t jt, size_t jf, uint32_t k)
{
        if (p->len == SECCOMP_PROGRAM_MAX) {
                p->full = true;
                return p->len - 1;
        }
        p->code[p->len] = (struct sock_filter){code, (uint8_t)jt, (uint8_t)jf, k};
        return p->len++;
}

static bool in_reach(const struct program *p, size_t place)
{
        return p->len - place - 1 <= REACH;
}

/* Returns a place in reach from which execution continues at the given one. */
static size_t bring_near(struct program *p, size_t place)
{
        if (in_reach(p, place))
                return place;
        return emit(p, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(p->len - place - 1));
}

static size_t emit_test(struct program *p, uint16_t op, uint32_t k, size_t yes, size_t no)
{
        yes = bring_near(p, yes);
        no = bring_near(p, no);
        return emit(p, (uint16_t)(BPF_JMP | BPF_K | op), p->len - yes - 1, p->len - no - 1, k);
}

/* An instruction that is not a jump, so what follows must be right behind it. */
static size_t emit_before(struct program *p, size_t next, uint16_t code, uint32_t k)
{
        if (next != p->len - 1)
                emit(p, BPF_JMP | BPF_JA, 0, 0, (uint32_t)(p->len - next - 1));
        return emit(p, code, 0, 0, k);
}

static size_t emit_load(struct program *p, size_t next, size_t offset)
{
        return emit_before(p, next, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static size_t emit_target(struct program *p, enum target target);

static size_t emit_rule(struct program *p, const struct step *steps)
{
        size_t len = 0, next = 0;

        while (steps[len].op != ELSE)
                len++;
        for (size_t i = 0; i <= len; i++) /* first, so that they do not come in between */
                if (steps[i].to != TO_NONE)
                        emit_target(p, steps[i].to);
        next = emit_target(p, steps[len].to);
        while (len-- > 0) {
                const struct step *step = &steps[len];

                switch (step->op) {
                case LOAD: /* both machines are little-endian: the low half comes first */
                        next = emit_load(p, next, offsetof(struct seccomp_data, args) + 8 * step->k);
                        break;
                case LOAD_HIGH:
                        next = emit_load(p, next, offsetof(struct seccomp_data, args) + 8 * step->k + 4);
                        break;
                case MASK:
                        next = emit_before(p, next, BPF_ALU | BPF_AND | BPF_K, step->k);
                        break;
                case IF_EQUAL:
                        next = emit_test(p, BPF_JEQ, step->k, emit_target(p, step->to), next);
                        break;
                case IF_ANY:
                        next = emit_test(p, BPF_JSET, step->k, emit_target(p, step->to), next);
                        break;
                case ELSE:
                        break;
                }
        }
        return next;
}

/* A place that does what target says: the one there is, or a new copy if that is
 * missing or, for a single return, out of reach. */
static size_t emit_target(struct program *p, enum target target)
{
        size_t place = p->place[target];

        if (place > 0 && (in_reach(p, place - 1) || !is_return(target)))
                return place - 1;
        if (is_return(target))
                place = emit(p, BPF_RET | BPF_K, 0, 0, return_value(target));
        else
                place = emit_rule(p, rules[target]);
        p->place[target] = place + 1;
        return place;
}

/* A balanced binary search for the run from i to j that has the number. */
static size_t emit_search(struct program *p, const struct runs *runs, size_t i, size_t j)
{
        size_t middle = (i + j + 1) / 2, high, low;

        if (i == j)
                return emit_target(p, runs->list[i].target);
        high = emit_search(p, runs, middle, j);
        low = emit_search(p, runs, i, middle - 1);
        return emit_test(p, BPF_JGE, runs->list[middle].first, high, low);
}

static size_t emit_numbers(struct program *p, const struct runs *runs)
{
        size_t others, busy;

        others = emit_search(p, runs, runs->busy, runs->len - 1);
        /* Where the kernel gives up.  Not by BPF_TAX: gVisor takes that for BPF_TXA, and loses the number. */
        others = emit_before(p, others, BPF_LDX | BPF_IMM, 0);
        busy = emit_search(p, runs, 0, runs->busy - 1);
        return emit_test(p, BPF_JGE, runs->list[runs->busy].first, others, busy);
}

int seccomp_compile(const char *arch, struct sock_filter *ret, char *why, size_t why_size)
{
        static struct program p;
        static struct runs runs;
        struct call calls[TABLE_LEN];
        const struct machine *machine = find_machine(arch);
        size_t next;
        int n_calls;

        if (machine == NULL)
                return fail(why, why_size, -EINVAL, "%s: no such architecture here", arch);
        n_calls = collect_calls(machine, calls, why, why_size);
        if (n_calls < 0)
                return n_calls;
        collect_runs(machine, calls, n_calls, &runs);

        memset(&p, 0, sizeof(p));
        next = emit_numbers(&p, &runs);
        next = emit_load(&p, next, offsetof(struct seccomp_data, nr));
        next = emit_test(&p, BPF_JEQ, machine->audit, next, emit_target(&p, TO_KILL));
        emit_load(&p, next, offsetof(struct seccomp_data, arch));
        if (p.full)
                return fail(why, why_size, -E2BIG, "more than %d instructions", SECCOMP_PROGRAM_MAX);
        for (size_t i = 0; i < p.len; i++)
                ret[i] = p.code[p.len - 1 - i];
        return (int)p.len;
}

static bool target_is_reported(enum target target)
{
        if (is_return(target))
                return target == TO_REPORT_EPERM || target == TO_REPORT_EAFNOSUPPORT;
        for (const struct step *step = rules[target];; step++) {
                if (step->to != TO_NONE && target_is_reported(step->to))
                        return true;
                if (step->op == ELSE)
                        return false;
        }
}

bool seccomp_is_reported(size_t entry)
{
        return target_is_reported(targets[entry]);
}
