/* jail/seccomp.c -- loads the filters made at build time. */
#include "jail/seccomp.h"

#include <linux/seccomp.h>

#include "jail/seccomp_filter.h"
#include "sys/raw.h"

static int load(const struct sock_filter *filter, unsigned short len)
{
        const struct sock_fprog program = {
                .len = len, .filter = (struct sock_filter *)filter, /* the kernel only reads it */
        };

        /* No flag on purpose.  SPEC_ALLOW would save a little time on kernels before
         * 5.16, which turn on speculation mitigations for a filtered task; code that
         * nobody knows is whom those are for. */
        return (int)sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int seccomp_load(void)
{
        return load(seccomp_filter, seccomp_filter_len);
}

int seccomp_close(void)
{
        return load(seccomp_late, seccomp_late_len);
}
