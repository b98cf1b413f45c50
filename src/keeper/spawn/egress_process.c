#include "keeper/spawn/egress_process.h"

#include <sys/socket.h>

#include "base/auto.h"
#include "keeper/spawn/assemble.h"
#include "sys/file.h"
#include "wire/egress.h"

#define EGRESS_UID                                                                                           \
        1879048189u /* a uid that no other software uses; the server's and those of sandboxes follow */

_Static_assert(EGRESS_CONTROL_FD == CHILD_FIRST_FD, "the descriptor numbers must match");

int egress_process_start(struct egress_process *ret, struct cella_err *err)
{
        static char *const argv[] = {"cella-egress", NULL};
        struct child child;
        int socket;
        const struct child_setup setup = {
                .program = -1,
                .open_program = program_open_egress,
                .argv = argv,
                .change_user = sandbox_is_privileged(),
                .uid = EGRESS_UID,
                .gid = EGRESS_UID,
        };
        int r = child_start_linked(&setup, SOCK_SEQPACKET, &child, &socket, err);
        if (r < 0)
                return r;
        *ret = (struct egress_process){child, socket};
        return 0;
}

void egress_process_end(struct egress_process *p)
{
        sys_close(TAKE_FD(p->socket));
        child_end(&p->child);
}
