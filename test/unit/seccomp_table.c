/* test/unit/seccomp_table.c -- the filter does what the table says, and the table says
 * what it should.
 *
 * The filters of both architectures are run in a small BPF interpreter, so the one
 * that this machine cannot load is tested as well.  Numbers and constants in the cases
 * are written out: they must not come from where the compiler takes them. */
#include "test.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>

#include "seccomp_compile.h"

#define ALLOWED 0x7fff0000u
#define KILLED 0x80000000u
#define REFUSED 0x00050001u         /* EPERM */
#define REPORTED 0x7fc00001u        /* the same, by way of init */
#define MISSING 0x00050026u         /* ENOSYS */
#define NO_FAMILY 0x00050061u       /* EAFNOSUPPORT */
#define REPORTED_FAMILY 0x7fc00061u /* the same, by way of init */
#define NO_PROTOCOL 0x0005005du     /* EPROTONOSUPPORT */
#define ZERO 0x00050000u            /* returns 0 without effect */
#define BY_ARGUMENT 0xa59u          /* no verdict: a rule looks at the arguments */
#define BROKEN 0xdeadbeefu          /* the program ran off its end or did something unknown */
#define HIGH 0x100000000ull         /* a bit that no int has */
#define ALL_HIGH 0xffffffff00000000ull

#include "seccomp_verdicts.h"

struct filter {
        const char *arch;
        uint32_t audit;
        uint32_t scmp;
        struct sock_filter code[SECCOMP_PROGRAM_MAX];
        int len;
};

static struct filter filters[] = {
        {.arch = "x86_64", .audit = 0xc000003e, .scmp = SCMP_ARCH_X86_64},
        {.arch = "aarch64", .audit = 0xc00000b7, .scmp = SCMP_ARCH_AARCH64},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FOR_EACH_FILTER(f) for (struct filter *f = filters; f < filters + COUNT(filters); f++)

__attribute__((constructor(101))) static void compile_filters(void)
{
        FOR_EACH_FILTER(f)
        {
                char why[200] = "";

                f->len = seccomp_compile(f->arch, f->code, why, sizeof(why));
                if (f->len < 0)
                        printf("%s: %s\n", f->arch, why);
        }
}

/* ---- the interpreter ------------------------------------------------------------- */

/* Recorded while the program runs. */
struct trace {
        bool arguments; /* it loaded an argument */
        bool unusual;   /* an instruction at which the kernel's search for constants stops */
};

static uint32_t run_filter(const struct filter *f, const struct seccomp_data *data, struct trace *ret)
{
        uint32_t a = 0, word;

        *ret = (struct trace){0};
        for (int pc = 0; pc < f->len; pc++) {
                const struct sock_filter *i = &f->code[pc];

                switch (i->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        if (i->k % 4 != 0 || i->k > sizeof(*data) - 4)
                                return BROKEN;
                        memcpy(&word, (const char *)data + i->k, sizeof(word));
                        ret->arguments |= i->k >= offsetof(struct seccomp_data, instruction_pointer);
                        a = word;
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= i->k;
                        break;
                case BPF_JMP | BPF_JA:
                        pc += (int)i->k;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        pc += a == i->k ? i->jt : i->jf;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        pc += a >= i->k ? i->jt : i->jf;
                        break;
                case BPF_JMP | BPF_JSET | BPF_K:
                        pc += a & i->k ? i->jt : i->jf;
                        break;
                case BPF_LDX | BPF_IMM:
                        ret->unusual = true;
                        break;
                case BPF_RET | BPF_K:
                        return i->k;
                default:
                        return BROKEN;
                }
        }
        return BROKEN;
}

static uint32_t verdict(const struct filter *f, uint32_t number, const uint64_t args[6])
{
        struct seccomp_data data = {.nr = (int)number, .arch = f->audit};
        struct trace trace;

        if (args != NULL)
                memcpy(data.args, args, sizeof(data.args));
        return run_filter(f, &data, &trace);
}

/* ---- the shape of the program ---------------------------------------------------- */

TEST(filters_compile)
{
        FOR_EACH_FILTER(f)
        CHECK(f->len > 0 && f->len <= SECCOMP_FILTER_MAX);
}

/* init answers with what is in the lower half, and knows the name of each. */
TEST(requests_to_init_are_answered_with_an_errno_and_a_name)
{
        FOR_EACH_FILTER(f)
        {
                for (int pc = 0; pc < f->len; pc++)
                        if (f->code[pc].code == (BPF_RET | BPF_K) && f->code[pc].k >> 16 == 0x7fc0)
                                CHECK(f->code[pc].k == REPORTED || f->code[pc].k == REPORTED_FAMILY);
                for (size_t i = 0; i < seccomp_table_len; i++) {
                        bool reported = seccomp_is_reported(i);

                        if (seccomp_table[i].class == SECCOMP_REPORT)
                                CHECK(reported);
                        else if (seccomp_table[i].class == SECCOMP_CHECK)
                                CHECK_INT(reported, !strcmp(seccomp_table[i].name, "clone") ||
                                                            !strcmp(seccomp_table[i].name, "socket") ||
                                                            !strcmp(seccomp_table[i].name, "ioctl"));
                        else
                                CHECK(!reported);
                        CHECK(!reported ||
                              strlen(seccomp_table[i].name) < sizeof((struct seccomp_reported *)0)->name);
                }
        }
}

/* What it takes to load grows with the length; see tools/seccomp_compile.c. */
TEST(filters_stay_short)
{
        FOR_EACH_FILTER(f)
        CHECK(f->len < 240);
}

TEST(jumps_stay_inside_the_program)
{
        FOR_EACH_FILTER(f)
        {
                for (int pc = 0; pc < f->len; pc++) {
                        const struct sock_filter *i = &f->code[pc];
                        int left = f->len - pc - 1; /* instructions behind this one */

                        if (i->code == (BPF_JMP | BPF_JA))
                                CHECK(i->k < (uint32_t)left);
                        else if (BPF_CLASS(i->code) == BPF_JMP)
                                CHECK(i->jt < left && i->jf < left);
                }
                if (f->len > 0)
                        CHECK_INT(BPF_CLASS(f->code[f->len - 1].code), BPF_RET);
        }
}

TEST(every_instruction_is_reached)
{
        FOR_EACH_FILTER(f)
        {
                bool reached[SECCOMP_PROGRAM_MAX + UINT8_MAX + 2] = {true};

                for (int pc = 0; pc < f->len; pc++) {
                        const struct sock_filter *i = &f->code[pc];

                        CHECK(reached[pc]);
                        if (i->code == (BPF_JMP | BPF_JA))
                                reached[(size_t)pc + 1 + i->k] = true;
                        else if (BPF_CLASS(i->code) == BPF_JMP)
                                reached[pc + 1 + i->jt] = reached[pc + 1 + i->jf] = true;
                        else if (BPF_CLASS(i->code) != BPF_RET)
                                reached[pc + 1] = true;
                }
        }
}

/* ---- the whole table ------------------------------------------------------------- */

static const struct seccomp_entry *find_entry(const struct filter *f, int number)
{
        for (size_t i = 0; i < seccomp_table_len; i++)
                if (seccomp_number(f->arch, seccomp_table[i].name) == number)
                        return &seccomp_table[i];
        return NULL;
}

static uint32_t reject_if(bool bad, uint32_t how)
{
        return bad ? how : ALLOWED;
}

static uint32_t expect_mode(uint64_t mode)
{
        return reject_if(mode & 06000, REFUSED);
}

static uint32_t expect_node(uint64_t mode)
{
        uint64_t type = mode & 0170000;

        return reject_if(mode & 06000 || type == 0020000 || type == 0060000, REFUSED);
}

static uint32_t expect_socket(uint32_t family, uint32_t type, uint32_t protocol)
{
        if (family == 1)
                return ALLOWED;
        if (family == 16)
                return reject_if(protocol != 0, protocol == 12 ? REPORTED_FAMILY : NO_FAMILY);
        if (family != 2 && family != 10)
                return REPORTED_FAMILY;
        if ((type & 15) != 1 && (type & 15) != 2)
                return REPORTED;
        return reject_if(protocol != 0 && protocol != 6 && protocol != 17, NO_PROTOCOL);
}

static uint32_t expect_seccomp(uint32_t operation, uint32_t flags)
{
        if (operation == 1)
                return reject_if(flags & 8, REFUSED);
        return reject_if(operation != 0 && operation != 2, REFUSED);
}

/* The rules once more, in plain C. */
static uint32_t expect_rule(const char *name, const uint64_t args[6])
{
        uint32_t a[6];

        for (int i = 0; i < 6; i++)
                a[i] = (uint32_t)args[i];
        if (strcmp(name, "clone") == 0)
                return reject_if(a[0] & 0x7e020080, REPORTED);
        if (strcmp(name, "fadvise64") == 0)
                return reject_if(a[3] == 4, ZERO);
        if (strcmp(name, "madvise") == 0)
                return reject_if(a[2] == 12 || a[2] == 20 || a[2] == 21, REFUSED);
        if (strcmp(name, "socket") == 0)
                return expect_socket(a[0], a[1], a[2]);
        if (strcmp(name, "socketpair") == 0)
                return reject_if(a[0] != 1, NO_FAMILY);
        if (strcmp(name, "setsockopt") == 0)
                return reject_if((a[1] == 0 || a[1] == 41) &&
                                         (a[2] == 42 || a[2] == 46 ||
                                          (a[1] == 0 ? a[2] == 35 || a[2] == 39
                                                     : a[2] == 20 || a[2] == 27 || a[2] == 32)),
                                 REFUSED);
        if (strcmp(name, "ioctl") == 0)
                return reject_if(a[1] == 0x5412 || a[1] == 0x541c || a[1] == 0x5423,
                                 a[1] == 0x5412 ? REPORTED : REFUSED);
        if (strcmp(name, "chmod") == 0 || strcmp(name, "fchmod") == 0 || strcmp(name, "mkdir") == 0 ||
            strcmp(name, "creat") == 0)
                return expect_mode(a[1]);
        if (strcmp(name, "fchmodat") == 0 || strcmp(name, "fchmodat2") == 0 || strcmp(name, "mkdirat") == 0)
                return expect_mode(a[2]);
        if (strcmp(name, "open") == 0)
                return a[1] & 020000100 ? expect_mode(a[2]) : ALLOWED;
        if (strcmp(name, "openat") == 0)
                return a[2] & 020000100 ? expect_mode(a[3]) : ALLOWED;
        if (strcmp(name, "mknod") == 0)
                return expect_node(a[1]);
        if (strcmp(name, "mknodat") == 0)
                return expect_node(a[2]);
        if (strcmp(name, "renameat2") == 0)
                return reject_if(a[4] & 4, REFUSED);
        if (strcmp(name, "personality") == 0)
                return reject_if(a[0] != 0 && a[0] != 0x40000 && a[0] != 0xffffffff, REFUSED);
        if (strcmp(name, "prlimit64") == 0 || strcmp(name, "sched_setscheduler") == 0 ||
            strcmp(name, "sched_setattr") == 0 || strcmp(name, "sched_setaffinity") == 0 ||
            strcmp(name, "sched_setparam") == 0)
                return reject_if(a[0] == 1, REFUSED);
        if (strcmp(name, "setpriority") == 0)
                return reject_if(a[0] != 0 || a[1] == 1, REFUSED);
        if (strcmp(name, "ioprio_set") == 0)
                return reject_if(a[0] != 1 || a[1] == 1, REFUSED);
        if (strcmp(name, "prctl") == 0)
                return reject_if(a[0] == 35 || a[0] == 62 || a[0] == 67, REFUSED);
        if (strcmp(name, "seccomp") == 0)
                return expect_seccomp(a[0], a[1]);
        return BROKEN;
}

static uint32_t expect(const struct seccomp_entry *entry, const uint64_t args[6])
{
        if (entry == NULL)
                return MISSING;
        switch (entry->class) {
        case SECCOMP_ALLOW:
                return ALLOWED;
        case SECCOMP_DENY:
                return REFUSED;
        case SECCOMP_REPORT:
                return REPORTED;
        case SECCOMP_ABSENT:
                return MISSING;
        case SECCOMP_CHECK:
                return expect_rule(entry->name, args);
        }
        return BROKEN;
}

TEST(each_number_gets_the_verdict_of_its_line)
{
        static const uint64_t zeros[6], ones[6] = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};

        FOR_EACH_FILTER(f)
        for (int number = 0; number <= 600; number++) {
                const struct seccomp_entry *entry = find_entry(f, number);

                CHECK_INT(verdict(f, (uint32_t)number, zeros), expect(entry, zeros));
                CHECK_INT(verdict(f, (uint32_t)number, ones), expect(entry, ones));
        }
}

/* Values at which some rule changes its mind, and their neighbours. */
static const uint64_t telling[] = {
        0,          1,          2,          3,          4,          5,         6,          7,
        8,          10,         16,         17,         35,         38,        58,         62,
        0100,       0644,       0777,       01777,      02755,      04755,     06000,      0100644,
        0020666,    0060600,    0010644,    0140755,    0120777,    0102644,   020000000,  020200002,
        0x1200011,  0x3d0f00,   0x20000,    0x40000,    0x40008,    0x2000000, 0x4000000,  0x8000000,
        0x10000000, 0x20000000, 0x40000000, 0x80000000, 0xffffffff, 0x5401,    0x5412,     0x541c,
        0x5413,     0x5423,     0x80801,    0x80803,    132,        262,       0x7fffffff, 0x80,
        12,         20,         21,         67,
};

TEST(rules_agree_with_plain_c_for_many_arguments)
{
        uint64_t random = 42;

        FOR_EACH_FILTER(f)
        for (size_t e = 0; e < seccomp_table_len; e++) {
                int number = seccomp_number(f->arch, seccomp_table[e].name);

                if (seccomp_table[e].class != SECCOMP_CHECK || number < 0)
                        continue;
                for (int round = 0; round < 20000; round++) {
                        uint64_t args[6];

                        for (int i = 0; i < 6; i++) {
                                random = random * 6364136223846793005ull + 1442695040888963407ull;
                                args[i] = telling[(random >> 33) % COUNT(telling)];
                                if (random >> 63)
                                        args[i] |= ALL_HIGH;
                        }
                        CHECK_INT(verdict(f, (uint32_t)number, args), expect(&seccomp_table[e], args));
                }
        }
}

static const char *const mode_calls[] = {"chmod", "fchmod", "fchmodat", "fchmodat2", "mkdir",  "mkdirat",
                                         "creat", "open",   "openat",   "mknod",     "mknodat"};

static bool takes_a_mode(const char *name)
{
        for (size_t i = 0; i < COUNT(mode_calls); i++)
                if (strcmp(mode_calls[i], name) == 0)
                        return true;
        return false;
}

/* For images with several users: the same filter, except that modes may have set-id bits.  The bits are
 * masked out of what the rules expect then; other arguments of these calls are the same in both. */
TEST(set_id_bits_can_be_allowed_and_nothing_else_changes)
{
        uint64_t random = 43;

        FOR_EACH_FILTER(f)
        {
                static struct filter changed;

                changed = *f;
                seccomp_allow_set_id(changed.code, (unsigned)changed.len);
                int differ = 0;
                for (int i = 0; i < f->len; i++)
                        differ += memcmp(&f->code[i], &changed.code[i], sizeof f->code[i]) != 0;
                CHECK(differ >= 3 && differ <= 5); /* three places of a mode, and nodes */
                for (size_t e = 0; e < seccomp_table_len; e++) {
                        int number = seccomp_number(f->arch, seccomp_table[e].name);

                        for (int round = 0; round < 2000 && number >= 0; round++) {
                                uint64_t args[6], plain[6];

                                for (int i = 0; i < 6; i++) {
                                        random = random * 6364136223846793005ull + 1442695040888963407ull;
                                        args[i] = telling[(random >> 33) % COUNT(telling)];
                                        plain[i] = args[i];
                                        if (takes_a_mode(seccomp_table[e].name))
                                                plain[i] &= ~UINT64_C(06000);
                                }
                                CHECK_INT(verdict(&changed, (uint32_t)number, args),
                                          verdict(f, (uint32_t)number, plain));
                        }
                }
        }
}

TEST(allowed_without_a_look_at_the_arguments)
{
        FOR_EACH_FILTER(f)
        for (size_t e = 0; e < seccomp_table_len; e++) {
                struct seccomp_data data = {.nr = seccomp_number(f->arch, seccomp_table[e].name),
                                            .arch = f->audit};
                struct trace trace;

                if (seccomp_table[e].class != SECCOMP_ALLOW || data.nr < 0)
                        continue;
                CHECK_INT(run_filter(f, &data, &trace), ALLOWED);
                CHECK(!trace.arguments);
        }
}

/* For these calls the kernel must detect that the filter always allows them. */
TEST(busy_calls_skip_the_filter)
{
        static const int busy[2][16] = {
                /* read, write, close, fstat, poll, lseek, mmap, mprotect, munmap, brk,
                 * rt_sigaction, rt_sigprocmask, pread64, writev, sched_yield, sendto */
                {0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 17, 20, 24, 44},
                /* read, write, close, fstat, ppoll, lseek, newfstatat, readv, writev,
                 * pread64, pwrite64, rt_sigaction, rt_sigprocmask, futex, sched_yield,
                 * epoll_pwait */
                {63, 64, 57, 80, 73, 62, 79, 65, 66, 67, 68, 134, 135, 98, 124, 22},
        };

        for (size_t k = 0; k < COUNT(filters); k++)
                for (size_t i = 0; i < COUNT(busy[k]); i++) {
                        struct seccomp_data data = {.nr = busy[k][i], .arch = filters[k].audit};
                        struct trace trace;

                        CHECK_INT(run_filter(&filters[k], &data, &trace), ALLOWED);
                        CHECK(!trace.arguments && !trace.unusual);
                }
}

TEST(all_calls_libseccomp_knows_are_in_the_table)
{
        FOR_EACH_FILTER(f)
        for (int number = 0; number <= 460; number++) {
                char *name = seccomp_syscall_resolve_num_arch(f->scmp, number);
                const struct seccomp_entry *entry = find_entry(f, number);

                if (name != NULL)
                        CHECK_STR(entry ? entry->name : NULL, name);
                free(name);
        }
}

/* From 424 on, both architectures number alike. */
TEST(calls_up_to_linux_6_18_are_in_the_table)
{
        FOR_EACH_FILTER(f)
        for (int number = 424; number <= 470; number++)
                CHECK(find_entry(f, number) != NULL);
        CHECK_STR(find_entry(&filters[0], 335)->name, "uretprobe");
        CHECK_STR(find_entry(&filters[0], 336)->name, "uprobe");
}

/* ---- the verdicts, by hand -------------------------------------------------------- */

static int line_number(const struct verdict_line *line, const struct filter *f)
{
        return f == &filters[0] ? line->x86_64 : line->aarch64;
}

static const struct verdict_line *find_line(const struct filter *f, int number)
{
        for (size_t i = 0; i < COUNT(verdict_lines); i++)
                if (line_number(&verdict_lines[i], f) == number)
                        return &verdict_lines[i];
        return NULL;
}

/* A call that depends on its arguments is listed with no other verdict, and only such a call. */
TEST(each_call_gets_the_verdict_written_by_hand)
{
        static const uint64_t zeros[6], ones[6] = {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};

        FOR_EACH_FILTER(f)
        for (size_t i = 0; i < COUNT(verdict_lines); i++) {
                const struct verdict_line *line = &verdict_lines[i];
                int number = line_number(line, f);

                if (number < 0 || line->verdict == BY_ARGUMENT)
                        continue;
                if (verdict(f, (uint32_t)number, zeros) != line->verdict ||
                    verdict(f, (uint32_t)number, ones) != line->verdict)
                        printf("%s, %s:\n", f->arch, line->name);
                CHECK_INT(verdict(f, (uint32_t)number, zeros), line->verdict);
                CHECK_INT(verdict(f, (uint32_t)number, ones), line->verdict);
        }
}

/* Numbers that syscalls.def has, or that libseccomp knows up to Linux 6.18. */
TEST(each_known_call_has_a_verdict_written_by_hand)
{
        FOR_EACH_FILTER(f)
        for (int number = 0; number <= 600; number++) {
                char *known = seccomp_syscall_resolve_num_arch(f->scmp, number);
                const struct seccomp_entry *entry = find_entry(f, number);
                const struct verdict_line *line = find_line(f, number);
                const char *name = entry ? entry->name : number <= 470 ? known : NULL;

                CHECK_STR(line ? line->name : NULL, name);
                if (line != NULL && entry != NULL)
                        CHECK_INT(line->verdict == BY_ARGUMENT, entry->class == SECCOMP_CHECK);
                free(known);
        }
}

/* ---- other machines' calls ------------------------------------------------------- */

TEST(foreign_architectures_are_killed)
{
        static const uint32_t foreign[] = {
                0x40000003, /* i386: int 0x80 in a 64-bit program */
                0x40000028, /* 32-bit ARM */
                0xc000003e ^ 0xc00000b7 ^ 0xffffffff,
                0,
                0xffffffff,
                0x800000b7,
                0xc00000f3,
        };

        FOR_EACH_FILTER(f)
        for (size_t i = 0; i < COUNT(foreign); i++)
                for (int number = 0; number < 500; number++) {
                        struct seccomp_data data = {.nr = number, .arch = foreign[i]};
                        struct trace trace;

                        CHECK_INT(run_filter(f, &data, &trace), KILLED);
                }
        for (int i = 0; i < 2; i++) { /* each other's */
                struct seccomp_data data = {.nr = 0, .arch = filters[1 - i].audit};
                struct trace trace;

                CHECK_INT(run_filter(&filters[i], &data, &trace), KILLED);
        }
}

TEST(x32_calls_are_killed)
{
        for (uint32_t number = 0; number < 600; number++) {
                CHECK_INT(verdict(&filters[0], 0x40000000 + number, NULL), KILLED);
                CHECK_INT(verdict(&filters[1], 0x40000000 + number, NULL), MISSING);
        }
        CHECK_INT(verdict(&filters[0], 0x3fffffff, NULL), MISSING);
        CHECK_INT(verdict(&filters[0], 0x7fffffff, NULL), KILLED);
        CHECK_INT(verdict(&filters[0], 0x80000000, NULL), KILLED);
        CHECK_INT(verdict(&filters[0], 0xc0000000, NULL), KILLED);
        CHECK_INT(verdict(&filters[0], 0xfffffffe, NULL), KILLED);
}

TEST(unassigned_numbers_are_missing)
{
        static const uint32_t unknown[] = {471, 472, 500, 512, 520, 547, 548, 1000, 0x3fffffff, 0xffffffff};

        FOR_EACH_FILTER(f)
        for (size_t i = 0; i < COUNT(unknown); i++)
                CHECK_INT(verdict(f, unknown[i], NULL), MISSING);
}

/* ---- cases, by hand -------------------------------------------------------------- */

struct hand_case {
        const char *what;
        int x86_64, aarch64; /* -1: has no such call */
        uint32_t verdict;
        uint64_t args[6];
};

static const struct hand_case hand_cases[] = {
        /* fadvise64(fd, offset, length, advice), madvise(address, length, advice) */
        {"POSIX_FADV_DONTNEED", 221, 223, ZERO, {3, 0, 0, 4}},
        {"POSIX_FADV_DONTNEED of a part, high bits", 221, 223, ZERO, {3, 4096, 4096, ALL_HIGH | 4}},
        {"POSIX_FADV_SEQUENTIAL", 221, 223, ALLOWED, {3, 0, 0, 2}},
        {"POSIX_FADV_WILLNEED of 4 bytes", 221, 223, ALLOWED, {4, 4, 4, 3}},
        {"MADV_DONTNEED", 28, 233, ALLOWED, {4096, 4096, 4}},
        {"MADV_FREE of 12 bytes", 28, 233, ALLOWED, {12, 12, 8}},
        {"MADV_HUGEPAGE", 28, 233, ALLOWED, {4096, 4096, 14}},
        {"MADV_UNMERGEABLE", 28, 233, ALLOWED, {4096, 4096, 13}},
        {"MADV_MERGEABLE", 28, 233, REFUSED, {4096, 4096, 12}},
        {"MADV_MERGEABLE, high bits", 28, 233, REFUSED, {4096, 4096, ALL_HIGH | 12}},
        {"MADV_COLD", 28, 233, REFUSED, {4096, 4096, 20}},
        {"MADV_PAGEOUT", 28, 233, REFUSED, {4096, 4096, HIGH | 21}},

        /* clone(flags) */
        {"fork by clone", 56, 220, ALLOWED, {0x01200011}},
        {"pthread_create", 56, 220, ALLOWED, {0x003d0f00}},
        {"vfork by clone", 56, 220, ALLOWED, {0x00004111}},
        {"fork with high bits", 56, 220, ALLOWED, {ALL_HIGH | 0x01200011}},
        {"new mount namespace", 56, 220, REPORTED, {0x00020011}},
        {"new cgroup namespace", 56, 220, REPORTED, {0x02000011}},
        {"new uts namespace", 56, 220, REPORTED, {0x04000011}},
        {"new ipc namespace", 56, 220, REPORTED, {0x08000011}},
        {"new user namespace", 56, 220, REPORTED, {0x10000011}},
        {"new pid namespace", 56, 220, REPORTED, {0x20000011}},
        {"new network namespace", 56, 220, REPORTED, {0x40000011}},
        {"new time namespace", 56, 220, REPORTED, {0x00000080}},
        {"new user namespace, high bit", 56, 220, REPORTED, {HIGH | 0x10000011}},

        /* socket(family, type, protocol) */
        {"unix stream", 41, 198, ALLOWED, {1, 1, 0}},
        {"unix datagram, close on exec", 41, 198, ALLOWED, {1, 02000002, 0}},
        {"tcp", 41, 198, ALLOWED, {2, 1, 0}},
        {"tcp, non-blocking", 41, 198, ALLOWED, {2, 02004001, 6}},
        {"udp", 41, 198, ALLOWED, {2, 2, 17}},
        {"tcp over v6", 41, 198, ALLOWED, {10, 1, 6}},
        {"udp over v6", 41, 198, ALLOWED, {10, 2, 0}},
        {"tcp, high bits", 41, 198, ALLOWED, {HIGH | 2, HIGH | 1, HIGH}},
        {"raw v4", 41, 198, REPORTED, {2, 3, 1}},
        {"raw v6", 41, 198, REPORTED, {10, 3, 58}},
        {"raw v4, close on exec", 41, 198, REPORTED, {2, 02000003, 255}},
        {"raw v4, high bits", 41, 198, REPORTED, {HIGH | 2, HIGH | 3, 1}},
        {"v4 packet type", 41, 198, REPORTED, {2, 10, 3}},
        {"dccp", 41, 198, REPORTED, {2, 6, 33}},
        {"sctp one-to-one", 41, 198, NO_PROTOCOL, {2, 1, 132}},
        {"sctp one-to-many", 41, 198, REPORTED, {2, 5, 132}},
        {"mptcp", 41, 198, NO_PROTOCOL, {2, 1, 262}},
        {"smc by protocol", 41, 198, NO_PROTOCOL, {10, 1, 256}},
        {"sctp, high bits", 41, 198, NO_PROTOCOL, {HIGH | 10, HIGH | 1, HIGH | 132}},
        {"route netlink", 41, 198, ALLOWED, {16, 02000003, 0}},
        {"route netlink, datagram", 41, 198, ALLOWED, {16, 2, 0}},
        {"route netlink, high bits", 41, 198, ALLOWED, {HIGH | 16, 3, HIGH}},
        {"netfilter netlink", 41, 198, REPORTED_FAMILY, {16, 3, 12}},
        {"audit netlink", 41, 198, NO_FAMILY, {16, 3, 9}},
        {"uevent netlink, high bits", 41, 198, NO_FAMILY, {16, 3, HIGH | 15}},
        {"packet", 41, 198, REPORTED_FAMILY, {17, 3, 3}},
        {"alg", 41, 198, REPORTED_FAMILY, {38, 5, 0}},
        {"vsock", 41, 198, REPORTED_FAMILY, {40, 1, 0}},
        {"vsock, high bit", 41, 198, REPORTED_FAMILY, {HIGH | 40, 1, 0}},
        {"xdp", 41, 198, REPORTED_FAMILY, {44, 3, 0}},
        {"family 0", 41, 198, REPORTED_FAMILY, {0, 1, 0}},
        {"netfilter netlink, high bits", 41, 198, REPORTED_FAMILY, {HIGH | 16, 3, HIGH | 12}},
        {"socket diagnosis netlink", 41, 198, NO_FAMILY, {16, 3, 4}},
        {"family -1", 41, 198, REPORTED_FAMILY, {~0ull, 1, 0}},
        {"unix pair", 53, 199, ALLOWED, {1, 1, 0}},
        {"tipc pair", 53, 199, NO_FAMILY, {30, 5, 0}},
        {"inet pair, high bit", 53, 199, NO_FAMILY, {HIGH | 2, 1, 0}},

        /* ioctl(fd, request) */
        {"TCGETS", 16, 29, ALLOWED, {0, 0x5401}},
        {"FIONREAD", 16, 29, ALLOWED, {0, 0x541b}},
        {"TIOCSTI", 16, 29, REPORTED, {0, 0x5412}},
        {"TIOCSTI, high bit", 16, 29, REPORTED, {0, HIGH | 0x5412}},
        {"TIOCSTI, all high bits", 16, 29, REPORTED, {0, ALL_HIGH | 0x5412}},
        {"TIOCLINUX", 16, 29, REFUSED, {0, 0x541c}},
        {"TIOCLINUX, high bit", 16, 29, REFUSED, {0, HIGH | 0x541c}},
        {"TIOCSETD", 16, 29, REFUSED, {0, 0x5423}},

        /* modes */
        {"chmod 755", 90, -1, ALLOWED, {0, 0755}},
        {"chmod 1777", 90, -1, ALLOWED, {0, 01777}},
        {"chmod 4755", 90, -1, REFUSED, {0, 04755}},
        {"chmod 2755, high bit", 90, -1, REFUSED, {0, HIGH | 02755}},
        {"fchmod 644", 91, 52, ALLOWED, {6000, 0644}},
        {"fchmod 4755", 91, 52, REFUSED, {0, 04755}},
        {"fchmodat 600", 268, 53, ALLOWED, {0, 06000, 0600}},
        {"fchmodat 2755", 268, 53, REFUSED, {0, 0, 02755}},
        {"fchmodat 4755, high bit", 268, 53, REFUSED, {0, 0, HIGH | 04755}},
        {"fchmodat2 600", 452, 452, ALLOWED, {0, 06000, 0600}},
        {"fchmodat2 6755", 452, 452, REFUSED, {0, 0, 06755}},
        {"mkdir 777", 83, -1, ALLOWED, {0, 0777}},
        {"mkdir 2777", 83, -1, REFUSED, {0, 02777}},
        {"mkdirat 2777", 258, 34, REFUSED, {0, 0, 02777}},
        {"creat 644", 85, -1, ALLOWED, {0, 0644}},
        {"creat 4755", 85, -1, REFUSED, {0, 04755}},
        {"open, mode left over", 2, -1, ALLOWED, {0, 0, 04755}},
        {"open to create 644", 2, -1, ALLOWED, {0, 0101, 0644}},
        {"open to create 4755", 2, -1, REFUSED, {0, 0101, 04755}},
        {"open O_TMPFILE 4755", 2, -1, REFUSED, {0, 020200002, 04755}},
        {"openat, mode left over", 257, 56, ALLOWED, {0, 0, 02000000, 06755}},
        {"openat to create 666", 257, 56, ALLOWED, {0, 06000, 02000101, 0666}},
        {"openat to create 4755", 257, 56, REFUSED, {0, 0, 02000101, 04755}},
        {"openat to create 2755, high bits", 257, 56, REFUSED, {0, 0, HIGH | 0101, HIGH | 02755}},
        {"openat O_TMPFILE 4755, x86-64's O_DIRECTORY", 257, 56, REFUSED, {0, 0, 020200002, 04755}},
        {"openat O_TMPFILE 4755, aarch64's O_DIRECTORY", 257, 56, REFUSED, {0, 0, 020040002, 04755}},
        {"mknod fifo", 133, -1, ALLOWED, {0, 0010644, 0}},
        {"mknod file", 133, -1, ALLOWED, {0, 0100644, 0}},
        {"mknod character device", 133, -1, REFUSED, {0, 0020666, 0x103}},
        {"mknod block device", 133, -1, REFUSED, {0, 0060600, 0x800}},
        {"mknodat fifo", 259, 33, ALLOWED, {0, 0, 0010644, 0}},
        {"mknodat socket", 259, 33, ALLOWED, {0, 0, 0140755, 0}},
        {"mknodat file 4755", 259, 33, REFUSED, {0, 0, 0104755, 0}},
        {"mknodat character device", 259, 33, REFUSED, {0, 0, 0020666, 0x103}},
        {"mknodat whiteout, high bit", 259, 33, REFUSED, {0, 0, HIGH | 0020000, 0}},
        {"mknodat block device", 259, 33, REFUSED, {0, 0, 0060600, 0x800}},
        {"rename without replacing", 316, 276, ALLOWED, {0, 0, 0, 0, 1}},
        {"rename exchanging", 316, 276, ALLOWED, {0, 0, 0, 0, HIGH | 2}},
        {"rename leaving a whiteout", 316, 276, REFUSED, {0, 0, 0, 0, 4}},
        {"rename leaving a whiteout, high bit", 316, 276, REFUSED, {0, 0, 0, 0, HIGH | 5}},

        /* groups and labels */
        {"a lifetime of packets", 54, 208, ALLOWED, {3, 0, 2}},
        {"an option of TCP of a number that joins by IP", 54, 208, ALLOWED, {3, 6, 35}},
        {"an option of IP of a number that joins by IPv6", 54, 208, ALLOWED, {3, 0, 20}},
        {"a group", 54, 208, REFUSED, {3, 0, 35}},
        {"a group, high bits", 54, 208, REFUSED, {3, HIGH, HIGH | 35}},
        {"a group of one sender", 54, 208, REFUSED, {3, 0, 39}},
        {"a group of any family", 54, 208, REFUSED, {3, 0, 42}},
        {"a group of IPv6", 54, 208, REFUSED, {3, 41, 20}},
        {"a group of IPv6, one sender", 54, 208, REFUSED, {3, 41, 46}},
        {"an address of many", 54, 208, REFUSED, {3, 41, 27}},
        {"a label of a flow", 54, 208, REFUSED, {3, 41, 32}},
        {"only IPv6", 54, 208, ALLOWED, {3, 41, 26}},

        /* init's limits and scheduling, personality, prctl, seccomp */
        {"prlimit of oneself", 302, 261, ALLOWED, {0, 7}},
        {"prlimit of another", 302, 261, ALLOWED, {42, 7}},
        {"prlimit of init", 302, 261, REFUSED, {1, 7}},
        {"prlimit of init, high bit", 302, 261, REFUSED, {HIGH | 1, 7}},
        {"sched_setscheduler of init", 144, 119, REFUSED, {1, 5}},
        {"sched_setattr of init", 314, 274, REFUSED, {1}},
        {"sched_setaffinity of init", 203, 122, REFUSED, {1}},
        {"sched_setaffinity of oneself", 203, 122, ALLOWED, {0}},
        {"nice of oneself", 141, 140, ALLOWED, {0, 0, 19}},
        {"nice of init", 141, 140, REFUSED, {0, 1, 19}},
        {"nice of init's group", 141, 140, REFUSED, {1, 1, 19}},
        {"nice of the user", 141, 140, REFUSED, {2, 0, 19}},
        {"ioprio_set of init", 251, 30, REFUSED, {1, 1}},
        {"ioprio_set of oneself", 251, 30, ALLOWED, {1, 0}},
        {"sched_setparam of init", 142, 118, REFUSED, {1}},
        {"personality, asked", 135, 92, ALLOWED, {0xffffffff}},
        {"personality, asked with -1", 135, 92, ALLOWED, {~0ull}},
        {"PER_LINUX", 135, 92, ALLOWED, {0}},
        {"ADDR_NO_RANDOMIZE", 135, 92, ALLOWED, {0x40000}},
        {"READ_IMPLIES_EXEC", 135, 92, REFUSED, {0x400000}},
        {"READ_IMPLIES_EXEC, high bit", 135, 92, REFUSED, {HIGH | 0x400000}},
        {"MMAP_PAGE_ZERO", 135, 92, REFUSED, {0x100000}},
        {"UNAME26", 135, 92, REFUSED, {0x20000}},
        {"PER_LINUX32", 135, 92, REFUSED, {8}},
        {"ADDR_NO_RANDOMIZE and more", 135, 92, REFUSED, {0x440000}},
        {"PR_SET_NAME", 157, 167, ALLOWED, {15}},
        {"PR_SET_NO_NEW_PRIVS", 157, 167, ALLOWED, {38, 1}},
        {"PR_SET_SECCOMP", 157, 167, ALLOWED, {22, 2}},
        {"PR_SET_VMA", 157, 167, ALLOWED, {0x53564d41}},
        {"PR_SET_MM", 157, 167, REFUSED, {35, 1}},
        {"PR_SET_MM, high bit", 157, 167, REFUSED, {HIGH | 35, 1}},
        {"PR_SET_MM_EXE_FILE", 157, 167, REFUSED, {35, 13}},
        {"PR_SET_MM_MAP", 157, 167, REFUSED, {35, 14, 0x7fff0000}},
        {"PR_SET_MM_MAP_SIZE", 157, 167, REFUSED, {35, 15}},
        {"PR_SCHED_CORE", 157, 167, REFUSED, {62, 1}},
        {"PR_SET_MEMORY_MERGE", 157, 167, REFUSED, {67, 1}},
        {"PR_SET_MEMORY_MERGE, high bits", 157, 167, REFUSED, {ALL_HIGH | 67, 1}},
        {"PR_GET_MEMORY_MERGE", 157, 167, ALLOWED, {68}},
        {"seccomp strict", 317, 277, ALLOWED, {0, 0}},
        {"seccomp filter", 317, 277, ALLOWED, {1, 0}},
        {"seccomp filter for all threads", 317, 277, ALLOWED, {1, 1}},
        {"seccomp action available", 317, 277, ALLOWED, {2, 0}},
        {"seccomp filter with listener", 317, 277, REFUSED, {1, 8}},
        {"seccomp filter with listener, high bits", 317, 277, REFUSED, {HIGH | 1, HIGH | 9}},
        {"seccomp notification sizes", 317, 277, REFUSED, {3, 0}},
};

/* A rule without a case that it refuses would be as good as none. */
TEST(each_call_that_depends_on_its_arguments_has_a_refused_case)
{
        for (size_t i = 0; i < COUNT(verdict_lines); i++) {
                const struct verdict_line *line = &verdict_lines[i];
                bool found = line->verdict != BY_ARGUMENT;

                for (size_t k = 0; k < COUNT(hand_cases) && !found; k++)
                        found = hand_cases[k].x86_64 == line->x86_64 && hand_cases[k].verdict != ALLOWED;
                if (!found)
                        printf("%s:\n", line->name);
                CHECK(found);
        }
}

TEST(cases_written_by_hand)
{
        for (size_t i = 0; i < COUNT(hand_cases); i++) {
                const struct hand_case *c = &hand_cases[i];
                const int numbers[] = {c->x86_64, c->aarch64};

                for (size_t k = 0; k < COUNT(filters); k++) {
                        if (numbers[k] < 0 ||
                            verdict(&filters[k], (uint32_t)numbers[k], c->args) == c->verdict)
                                continue;
                        printf("%s, %s:\n", filters[k].arch, c->what);
                        CHECK_INT(verdict(&filters[k], (uint32_t)numbers[k], c->args), c->verdict);
                }
        }
}
