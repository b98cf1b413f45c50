/* jail/seccomp.c -- loads the filter made at build time, and reads it. */
#include "jail/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "jail/seccomp_filter.h"
#include "sys/file.h"
#include "sys/raw.h"

static int listener = -1;

static bool is_return(const struct sock_filter *i, uint32_t action)
{
        return i->code == (BPF_RET | BPF_K) && (i->k & SECCOMP_RET_ACTION_FULL) == action;
}

/* Asking nobody unless somebody is to listen. */
static int load(unsigned flags)
{
        struct sock_filter code[SECCOMP_FILTER_MAX];
        const struct sock_fprog program = {.len = seccomp_filter_len, .filter = code};

        for (unsigned i = 0; i < seccomp_filter_len; i++) {
                code[i] = seccomp_filter[i];
                if (is_return(&code[i], SECCOMP_RET_USER_NOTIF) && flags == 0)
                        code[i].k = SECCOMP_RET_ERRNO | (code[i].k & SECCOMP_RET_DATA);
        }
        /* No other flag on purpose.  SPEC_ALLOW would save a little time on kernels before
         * 5.16, which turn on speculation mitigations for a filtered task; code that
         * nobody knows is whom those are for. */
        return (int)sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

int seccomp_load(void)
{
        int fd = load(SECCOMP_FILTER_FLAG_NEW_LISTENER);
        if (fd < 0)
                return load(0);
        listener = fd;
        if (fd < SECCOMP_LISTENER_LEAST) {
                listener = sys_dup_above(fd, SECCOMP_LISTENER_LEAST);
                sys_close(fd);
        }
        return listener < 0 ? listener : 0; /* nobody would answer */
}

int seccomp_listener(void)
{
        return listener;
}

/* The filter itself says which errno it is, in the half of its verdict that the kernel leaves alone: so there
 * is no second list of them that could differ. */
int seccomp_errno(const struct seccomp_data *call)
{
        uint32_t a = 0;
        for (unsigned at = 0; at < seccomp_filter_len; at++) {
                const struct sock_filter *i = &seccomp_filter[at];
                switch (i->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        memcpy(&a, (const char *)call + i->k, sizeof a);
                        break;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= i->k;
                        break;
                case BPF_JMP | BPF_JA:
                        at += i->k;
                        break;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        at += a == i->k ? i->jt : i->jf;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        at += a >= i->k ? i->jt : i->jf;
                        break;
                case BPF_JMP | BPF_JSET | BPF_K:
                        at += a & i->k ? i->jt : i->jf;
                        break;
                case BPF_RET | BPF_K:
                        return is_return(i, SECCOMP_RET_USER_NOTIF) ? (int)(i->k & SECCOMP_RET_DATA) : EPERM;
                default: /* BPF_LDX: nobody reads what it writes */
                        break;
                }
        }
        return EPERM;
}

const char *seccomp_name(const struct seccomp_data *call)
{
        for (unsigned i = 0; i < seccomp_told_len; i++)
                if (seccomp_told[i].number == call->nr)
                        return seccomp_told[i].name;
        return NULL;
}
