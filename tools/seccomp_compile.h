/* tools/seccomp_compile.h -- turns src/jail/syscalls.def into a classic BPF program.
 *
 * Runs when Cella is built, not when it runs: the generator and the unit test are the
 * only users, and the only programs that need libseccomp. */
#pragma once
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "jail/seccomp_filter.h"

enum seccomp_class { SECCOMP_ALLOW, SECCOMP_DENY, SECCOMP_REPORT, SECCOMP_ABSENT, SECCOMP_CHECK };

/* A line of the table; rule is "" unless class is SECCOMP_CHECK. */
struct seccomp_entry {
        const char *name;
        enum seccomp_class class;
        const char *rule;
};

extern const struct seccomp_entry seccomp_table[];
extern const size_t seccomp_table_len;

/* The kernel's maximum. */
#define SECCOMP_PROGRAM_MAX BPF_MAXINSNS

/* The number of a call on arch ("x86_64", "aarch64").  -ENOENT: that machine has no
 * such call.  -EINVAL: neither libseccomp nor the table knows the name or the arch. */
int seccomp_number(const char *arch, const char *name);

/* Writes the filter for arch to ret, which holds SECCOMP_PROGRAM_MAX instructions.
 * Returns its length, or -errno with a sentence about the cause in why. */
int seccomp_compile(const char *arch, struct sock_filter *ret, char *why, size_t why_size);

/* Whether init hears of this entry of the table when it is refused, or when some of its arguments are. */
bool seccomp_is_reported(size_t entry);
