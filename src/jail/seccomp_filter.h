/* jail/seccomp_filter.h -- the filters that tools/seccomp_gen made at build time. */
#pragma once
#include <linux/filter.h>

extern const struct sock_filter seccomp_filter[];
extern const unsigned short seccomp_filter_len;

extern const struct sock_filter seccomp_late[];
extern const unsigned short seccomp_late_len;
