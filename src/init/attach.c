/* init/attach.c -- a relay (wire/relay.h) in a thread of init.
 *
 * It is not a process of its own, because the code could kill that, and because a signal to all processes
 * is meant for the code only. The thread shares init's memory but not its descriptors, which init places
 * and closes without regard to it. The thread uses only its own data and no libc function that keeps
 * state, because libc does not know about the thread. */
#include "init/attach.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "wire/relay.h"

#define OUR_END 2 /* our end of the socket: below all numbers that setting up the walls closes */
#define LAST_DESCRIPTOR 64
#define STACK_SIZE (128u * 1024)

struct attach {
        struct relay relay;
        char buffers[RELAY_BUFFERS]; /* untouched pages cost nothing */
        char stack[STACK_SIZE] __attribute__((aligned(16)));
};

static struct attach *attach;
static bool has_thread;

static long init_attach_receive(struct relay *r, char *data, size_t size)
{
        return sys_read(r->in, data, size);
}

static int make_socket(void)
{
        int pair[2], r = message_pair(pair);
        if (r < 0)
                return r;
        for (int i = 0; i < 2 && r >= 0; i++) { /* first move them away from each other's numbers */
                int high = sys_dup_above(pair[i], INIT_FREE_FD);
                sys_close(pair[i]);
                r = pair[i] = high;
        }
        if (r >= 0 && (r = sys_dup3(pair[0], OUR_END, O_CLOEXEC)) >= 0)
                r = sys_dup3(pair[1], INIT_CONTROL_FD, O_CLOEXEC);
        sys_close(pair[0]);
        sys_close(pair[1]);
        return r;
}

int attach_begin(void)
{
        int r = make_socket();
        if (r < 0)
                return r;
        struct attach *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (a == MAP_FAILED)
                return -ENOMEM;
        a->relay.inside = true;
        a->relay.in = 0;
        a->relay.out = 1;
        a->relay.local = OUR_END;
        a->relay.receive = init_attach_receive;
        sys_set_nonblock(0);
        sys_set_nonblock(1);
        relay_init(&a->relay, a->buffers);
        attach = a;
        r = relay_run(&a->relay, 1);
        return r == 1 ? 0 : r < 0 ? r : -EPIPE;
}

static void init_attach_carry(void *unused)
{
        (void)unused;
        for (int fd = OUR_END + 1; fd < LAST_DESCRIPTOR; fd++)
                sys_close(fd);
        relay_run(&attach->relay, 0);
        sys_exit(0);
}

int attach_continue(void)
{
        uint64_t signals;
        if (!attach)
                return 0;
        sys_block_signals(&signals);
        pid_t r = sys_clone(CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
                            attach->stack + sizeof attach->stack, init_attach_carry, NULL);
        sys_restore_signals(&signals);
        has_thread = r > 0;
        return r < 0 ? r : 0;
}

/* Closing our descriptors closes our end of the socket; the thread sends the rest and ends the process when
 * the other side has closed the stream. */
_Noreturn void attach_leave(int code)
{
        if (has_thread)
                for (;;)
                        sys_call1(SYS_exit, code);
        if (attach) {
                sys_close(INIT_CONTROL_FD);
                relay_run(&attach->relay, 0);
        }
        sys_exit(code);
}
