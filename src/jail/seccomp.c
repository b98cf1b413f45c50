/* jail/seccomp.c -- loads and interprets the filter that was made at build time. */
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

/* Without a listener, replaces reports by plain refusals. */
static int seccomp_load_program(bool set_id, unsigned flags)
{
        struct sock_filter code[SECCOMP_FILTER_MAX];
        const struct sock_fprog program = {.len = seccomp_filter_len, .filter = code};

        for (unsigned i = 0; i < seccomp_filter_len; i++) {
                code[i] = seccomp_filter[i];
                if (is_return(&code[i], SECCOMP_RET_USER_NOTIF) && flags == 0)
                        code[i].k = SECCOMP_RET_ERRNO | (code[i].k & SECCOMP_RET_DATA);
        }
        if (set_id)
                seccomp_allow_set_id(code, seccomp_filter_len);
        /* No other flag on purpose.  SPEC_ALLOW would save a little time on kernels before 5.16, which enable
         * speculation mitigations for filtered tasks; untrusted code needs these mitigations. */
        return (int)sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

int seccomp_load(bool set_id)
{
        int fd = seccomp_load_program(set_id, SECCOMP_FILTER_FLAG_NEW_LISTENER);
        if (fd < 0)
                return seccomp_load_program(set_id, 0);
        listener = fd;
        if (fd < SECCOMP_LISTENER_LEAST) {
                listener = sys_dup_above(fd, SECCOMP_LISTENER_LEAST);
                sys_close(fd);
        }
        return listener < 0 ? listener : 0; /* without the listener, reported calls would never be answered */
}

int seccomp_listener(void)
{
        return listener;
}

/* Interprets the filter: the data half of its verdict, which the kernel ignores, holds the errno.  A separate
 * list could differ from the filter. */
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
                default: /* BPF_LDX: the result is not used */
                        break;
                }
        }
        return EPERM;
}

const char *seccomp_name(const struct seccomp_data *call)
{
        for (unsigned i = 0; i < seccomp_reported_len; i++)
                if (seccomp_reported[i].number == call->nr)
                        return seccomp_reported[i].name;
        return NULL;
}
