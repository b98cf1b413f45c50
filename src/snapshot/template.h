/* snapshot/template.h -- a process as data: an initialised interpreter that many sandboxes start from.
 *
 * snapshot.c, loaded into the interpreter, writes one; restore.c, executed in a sandbox, turns into
 * it.  Both run behind all walls, as any other command does: a template is bytes, and whoever made it
 * has no say over who starts from it.  One machine, one boot, one kernel: native byte order.
 *
 *   head | pieces | pages that are written to | ranges that are touched | pages
 *
 * Both are built without a libc, because the one in the image is not known. */
#pragma once
#include <stdint.h>

#define TEMPLATE_MAGIC 0x346574616c706d74u /* "tmplate4" */
#define TEMPLATE_PAGE 4096u
#define TEMPLATE_PIECES_MAX 8192u
#define TEMPLATE_HOT_MAX 4096u
#define TEMPLATE_FIRST_MAX 1024u
#define TEMPLATE_HEAD_MAX 0x60000u /* all of these */
#define TEMPLATE_SPECIALS_MAX 6u
#define TEMPLATE_SIGNALS 64
#define TEMPLATE_ACTION_SIZE 32 /* the kernel's struct sigaction, at most */

/* Where restore.c lives, which is one page: no kernel puts a program, a stack or a mapping there by itself,
 * with 39 bits of addresses or more.  The head is behind it, so that both go at once.  The heap may begin in
 * there: the kernel does not let it grow until they are gone, and libc goes on with mmap(). */
#define RESTORE_BASE 0x2000000000u
#define RESTORE_HEAD (RESTORE_BASE + TEMPLATE_PAGE)
#define RESTORE_LENGTH (TEMPLATE_PAGE + TEMPLATE_HEAD_MAX)

/* Descriptors of what is being restored. */
#define WARM_CONTROL_FD 3
#define WARM_TEMPLATE_FD 4

/* What a restored process exits with when it cannot be one; nothing of the code ran then. */
#define RESTORE_FAILED 125

enum template_source {
        TEMPLATE_ZERO,      /* nothing was ever written there */
        TEMPLATE_PAGES,     /* copied from the template when written to */
        TEMPLATE_STACK,     /* grows; its pages are read, not mapped */
        TEMPLATE_DROPPABLE, /* what the kernel may drop at any time, and has dropped when it is restored */
};

struct template_piece {
        uint64_t address, length;
        uint64_t offset; /* in the template */
        uint32_t protection;
        uint32_t source;
};

/* The kernel's own mappings (vdso and its data): moved to where the interpreter's libc knows them. */
struct template_special {
        uint64_t address, length;
};

struct template_range {
        uint64_t address;
        uint64_t length; /* in pages, times two; odd: written to */
};

/* A page that whatever code there is writes to.  To write what is there already copies it, and costs less
 * than to ask the kernel for the copy; but it is there only as long as nothing else was written. */
struct template_first {
        uint64_t address;
        uint64_t word; /* its first one */
};

struct template_registers {
        uint64_t saved[24]; /* see capture() */
};

struct template_head {
        uint64_t magic;
        uint32_t n_pieces, n_specials, n_hot, n_first;
        uint64_t pieces, hot, first; /* offsets */
        struct template_registers registers;
        uint64_t maker, writer; /* numbers of processes that a restored one must not have: see python.c */
        uint64_t thread_pointer;
        uint64_t tid_address;
        uint64_t robust_list, robust_length;
        uint64_t rseq, rseq_length;
        uint64_t signal_mask;
        uint64_t alternate_stack[3];
        uint8_t actions[TEMPLATE_SIGNALS][TEMPLATE_ACTION_SIZE];
        uint64_t vdso; /* where that one of them is: of another process the kernel says where, and the others
                        * are as far from it as here */
        struct template_special specials[TEMPLATE_SPECIALS_MAX];
};

#if defined __x86_64__
#define RSEQ_SIGNATURE 0x53053053
#else
#define RSEQ_SIGNATURE 0xd428bc00
#endif
