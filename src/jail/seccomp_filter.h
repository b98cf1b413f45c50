/* jail/seccomp_filter.h -- the filter that tools/seccomp_gen made at build time. */
#pragma once
#include <linux/filter.h>
#include <stdint.h>

/* Maximum number of instructions. */
#define SECCOMP_FILTER_MAX 256

extern const struct sock_filter seccomp_filter[];
extern const unsigned short seccomp_filter_len;

/* Changes the filter so that files may get set-user-id and set-group-id bits: each test of a mode for these
 * bits becomes one for no bits, which is never true.  No other instruction tests for exactly them. */
#define SECCOMP_SET_ID 06000u

static inline void seccomp_allow_set_id(struct sock_filter *code, unsigned len)
{
        for (unsigned i = 0; i < len; i++)
                if (code[i].code == (BPF_JMP | BPF_JSET | BPF_K) && code[i].k == SECCOMP_SET_ID)
                        code[i].k = 0;
}

/* The calls that are reported to init, by number. */
struct seccomp_reported {
        uint16_t number;
        char name[22];
};

extern const struct seccomp_reported seccomp_reported[];
extern const unsigned short seccomp_reported_len;
