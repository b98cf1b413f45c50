/* snapshot/restore.c -- becomes the process that a template contains.
 *
 * It is an ordinary command of a sandbox, behind every wall. It never maps over an existing mapping
 * (MAP_FIXED_NOREPLACE). If the kernel has placed the stack at an address that the template needs, it reports
 * this and exits, and the code is started without a template.
 *
 * The end of the heap is not restored, because the call for that (prctl(PR_SET_MM)) is forbidden in
 * sandboxes. The break stays where the kernel has put it, and python.c makes libc continue there, or with
 * mmap(). */
#include "snapshot/template.h"

#include <errno.h>
#include <linux/prctl.h>

#include "snapshot/bare.h"

#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 0x02
#define MAP_DROPPABLE 0x08 /* Linux 6.11 */
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20
#define MAP_GROWSDOWN 0x100
#define MAP_NORESERVE 0x4000
#define MAP_FIXED_NOREPLACE 0x100000
#define MREMAP_MAYMOVE 1
#define MREMAP_FIXED 2
#define ARCH_SET_FS 0x1002
#define AT_SYSINFO_EHDR 33
#define STACK_ROOM 0x100000u /* distance from the current stack address that must stay free */

/* The compiler may generate calls to these functions, but must not do so inside them. */
#ifdef __clang__
#define NO_LIBRARY_CALLS
#else
#define NO_LIBRARY_CALLS __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif
NO_LIBRARY_CALLS void *memset(void *to, int c, size_t n);
NO_LIBRARY_CALLS void *memcpy(void *restrict to, const void *restrict from, size_t n);

void *memset(void *to, int c, size_t n)
{
        char *p = to;
        while (n--)
                *p++ = (char)c;
        return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
        char *p = to;
        const char *q = from;
        while (n--)
                *p++ = *q++;
        return to;
}

static __attribute__((noreturn)) void give_up(const char *why)
{
        sys_call3(SYS_write, SNAPSHOT_CONTROL_FD, why, bare_strlen(why));
        for (;;)
                sys_call1(SYS_exit_group, RESTORE_FAILED);
}

static long map_at(uint64_t address, uint64_t length, unsigned protection, int flags, int fd, uint64_t offset)
{
        long r = sys_call6(SYS_mmap, (long)address, (long)length, (long)protection,
                           flags | MAP_FIXED_NOREPLACE, fd, (long)offset);
        return r == (long)address ? 0 : r < 0 ? r : -EEXIST;
}

static const struct template_head *map_head(void)
{
        const struct template_head *head = (void *)RESTORE_HEAD;
        if (map_at(RESTORE_HEAD, TEMPLATE_HEAD_MAX, PROT_READ, MAP_PRIVATE, SNAPSHOT_TEMPLATE_FD, 0) < 0 ||
            head->magic != TEMPLATE_MAGIC)
                give_up("Fthe template is missing or invalid");
        return head;
}

static const void *part(const struct template_head *head, uint64_t offset)
{
        return (const char *)head + offset;
}

/* Moves the kernel's own pages to the addresses that libc has stored. */
static void move_specials(const struct template_head *head, uint64_t vdso)
{
        const uint64_t here = (uint64_t)__builtin_frame_address(0);
        for (uint32_t i = 0; i < head->n_specials; i++) {
                const struct template_special *s = &head->specials[i];
                const uint64_t from = s->address - head->vdso + vdso;
                if (s->address < here + STACK_ROOM && here < s->address + s->length + STACK_ROOM)
                        give_up("Aan address is in use"); /* mremap() would replace the mapping there */
                if (from != s->address &&
                    sys_call5(SYS_mremap, from, s->length, s->length, MREMAP_MAYMOVE | MREMAP_FIXED,
                              s->address) != (long)s->address)
                        give_up("Fthe pages of the kernel cannot be moved");
        }
}

static void map_stack(const struct template_piece *piece)
{
        uint64_t done = 0;
        if (map_at(piece->address, piece->length, piece->protection,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_NORESERVE, -1, 0) < 0)
                give_up("Aan address is in use");
        while (done < piece->length) {
                long n = sys_call4(SYS_pread64, SNAPSHOT_TEMPLATE_FD, piece->address + done,
                                   piece->length - done, piece->offset + done);
                if (n <= 0)
                        give_up("Fthe template is truncated");
                done += (uint64_t)n;
        }
}

static void map_pieces(const struct template_head *head)
{
        const struct template_piece *pieces = part(head, head->pieces);
        for (uint32_t i = 0; i < head->n_pieces; i++) {
                const struct template_piece *p = &pieces[i];
                int from = SNAPSHOT_TEMPLATE_FD, flags = MAP_PRIVATE;
                if (p->source == TEMPLATE_STACK) {
                        map_stack(p);
                        continue;
                }
                if (p->source == TEMPLATE_DROPPABLE) {
                        /* as in the original process: also wiped in children */
                        flags = MAP_DROPPABLE | MAP_ANONYMOUS;
                        from = -1;
                } else if (p->source == TEMPLATE_ZERO) {
                        flags |= MAP_ANONYMOUS | (p->protection ? 0 : MAP_NORESERVE);
                        from = -1;
                }
                long r = map_at(p->address, p->length, p->protection, flags, from, p->offset);
                if (r < 0)
                        give_up(r == -EEXIST ? "Aan address is in use"
                                             : "Fnot enough memory for the template");
        }
}

/* Finds the vdso in the block that the kernel put on the stack: the number of arguments, pointers to the
 * arguments and to the environment, NULL, and the auxiliary vector. */
static uint64_t find_vdso(const uint64_t *at)
{
        at += 1 + at[0] + 1;
        while (*at++)
                continue;
        for (; at[0]; at += 2)
                if (at[0] == AT_SYSINFO_EHDR)
                        return at[1];
        give_up("Fthe kernel reports no address of the vdso");
}

static void restore_kernel(const struct template_head *head)
{
        for (int s = 1; s <= TEMPLATE_SIGNALS; s++) {
                const uint64_t *action = (const void *)head->actions[s - 1];
                if (action[0]) /* the default is already set for all signals */
                        sys_call4(SYS_rt_sigaction, s, action, 0, 8);
        }
        if (!(head->alternate_stack[1] & 2)) /* SS_DISABLE */
                sys_call2(SYS_sigaltstack, head->alternate_stack, 0);
        sys_call4(SYS_rt_sigprocmask, 2, &head->signal_mask, 0, 8);
        sys_call1(SYS_set_tid_address, head->tid_address);
        *(int *)head->tid_address = (int)sys_call0(SYS_gettid);
        if (head->robust_list)
                sys_call2(SYS_set_robust_list, head->robust_list, head->robust_length);
        if (head->rseq)
                sys_call4(SYS_rseq, head->rseq, head->rseq_length, 0, RSEQ_SIGNATURE);
}

static __attribute__((noreturn)) void jump(const struct template_head *head)
{
        const struct template_registers *r = &head->registers;
#if defined __x86_64__
        sys_call2(SYS_arch_prctl, ARCH_SET_FS, head->thread_pointer);
        __asm__ volatile("mov 0(%0), %%rbx\nmov 8(%0), %%rbp\nmov 16(%0), %%r12\nmov 24(%0), %%r13\n"
                         "mov 32(%0), %%r14\nmov 40(%0), %%r15\nmov 48(%0), %%rsp\n"
                         "jmp *56(%0)"
                         :
                         : "D"(r), "a"(1));
#else
        __asm__ volatile("msr tpidr_el0, %1\n"
                         "mov x9, %0\n"
                         "ldp x19, x20, [x9]\nldp x21, x22, [x9, 16]\nldp x23, x24, [x9, 32]\n"
                         "ldp x25, x26, [x9, 48]\nldp x27, x28, [x9, 64]\nldp x29, x30, [x9, 80]\n"
                         "ldr x10, [x9, 96]\nmov sp, x10\n"
                         "ldp d8, d9, [x9, 104]\nldp d10, d11, [x9, 120]\nldp d12, d13, [x9, 136]\n"
                         "ldp d14, d15, [x9, 152]\nmov x0, 1\nret"
                         :
                         : "r"(r), "r"(head->thread_pointer)
                         : "x9", "x10");
#endif
        __builtin_unreachable();
}

__attribute__((used)) static void restore(const uint64_t *kernels_stack)
{
        const uint64_t self = (uint64_t)sys_call0(SYS_getpid);
        sys_call2(SYS_prctl, PR_SET_NAME, "python3");
        const struct template_head *head = map_head();
        if (self == head->maker || self == head->writer)
                give_up("Athe process ID is that of the template");
        move_specials(head, find_vdso(kernels_stack));
        map_pieces(head);
        restore_kernel(head);
        jump(head);
}

/* Runs on the stack that the kernel has created, below the arguments and the environment that /proc shows: it
 * stays mapped, and usually needs no further page. */
#if defined __x86_64__
__asm__(".text\n.globl _start\n_start:\nmov %rsp, %rdi\nand $-16, %rsp\nxor %ebp, %ebp\ncall restore\n");
#else
__asm__(".text\n.globl _start\n_start:\nmov x0, sp\nmov x29, 0\nbl restore\n");
#endif
