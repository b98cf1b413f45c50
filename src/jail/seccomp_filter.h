/* jail/seccomp_filter.h -- the filter that tools/seccomp_gen made at build time. */
#pragma once
#include <linux/filter.h>
#include <stdint.h>

/* Maximum number of instructions. */
#define SECCOMP_FILTER_MAX 256

extern const struct sock_filter seccomp_filter[];
extern const unsigned short seccomp_filter_len;

/* The calls that are reported to init, by number. */
struct seccomp_reported {
        uint16_t number;
        char name[22];
};

extern const struct seccomp_reported seccomp_reported[];
extern const unsigned short seccomp_reported_len;
