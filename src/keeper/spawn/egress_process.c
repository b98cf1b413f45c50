#include "keeper/spawn/egress_process.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/err.h"
#include "keeper/spawn/assemble.h"
#include "sys/file.h"
#include "sys/raw.h"
#include "wire/egress.h"

#define EGRESS_UID                                                                                           \
        1879048189u /* a uid that no other software uses; the server's and those of sandboxes follow */

_Static_assert(EGRESS_CONTROL_FD == CHILD_FIRST_FD, "the descriptor numbers must match");

int egress_process_start(struct egress_process *ret, struct cella_err *err)
{
        static char *const argv[] = {"cella-egress", NULL};
        int pair[2];
        struct child child;
        int r = (int)sys_call4(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "egress: cannot make a socket");
        const struct child_setup setup = {
                .program = -1,
                .open_program = program_open_egress,
                .argv = argv,
                .fds = &pair[1],
                .n_fds = 1,
                .change_user = sandbox_is_privileged(),
                .uid = EGRESS_UID,
                .gid = EGRESS_UID,
        };
        r = child_start(&setup, &child, err);
        sys_close(pair[1]);
        if (r < 0) {
                sys_close(pair[0]);
                return r;
        }
        *ret = (struct egress_process){child, pair[0]};
        return 0;
}

void egress_process_end(struct egress_process *p)
{
        sys_close(TAKE_FD(p->socket));
        child_end(&p->child);
}
