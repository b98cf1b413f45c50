/* snapshot/template.h -- a process as data: an initialised interpreter from which many sandboxes start.
 *
 * snapshot.c, loaded into the interpreter, writes a template; restore.c, executed in a sandbox, becomes that
 * process. Both run behind all walls, like any other command: a template is only bytes, and its maker has no
 * power over the processes that start from it. It is valid for one machine, one boot and one kernel: native
 * byte order.
 *
 *   head | pieces | ranges that any code writes to | ranges that typical code touches | pages
 *
 * Both are built without a libc, because the libc of the image is not known. */
#pragma once
#include <stdint.h>

#define TEMPLATE_MAGIC 0x356574616c706d74u /* "tmplate5" */
#define TEMPLATE_PAGE 4096u
#define TEMPLATE_PIECES_MAX 8192u
#define TEMPLATE_HOT_MAX 12288u
#define TEMPLATE_WRITTEN_MAX 1024u
#define TEMPLATE_HEAD_MAX 0x80000u /* of all parts before the pages */
#define TEMPLATE_SPECIALS_MAX 6u
#define TEMPLATE_SIGNALS 64
#define TEMPLATE_ACTION_SIZE 32 /* maximum size of the kernel's struct sigaction */

/* The address of restore.c, which is one page. No kernel places a program, a stack or a mapping there by
 * itself, with 39 or more address bits. The head follows it, so that both are unmapped at once. The heap
 * may begin there: the kernel does not let it grow until they are unmapped, and libc then uses mmap(). */
#define RESTORE_BASE 0x2000000000u
#define RESTORE_HEAD (RESTORE_BASE + TEMPLATE_PAGE)
#define RESTORE_LENGTH (TEMPLATE_PAGE + TEMPLATE_HEAD_MAX)

/* Descriptors during the restore. */
#define SNAPSHOT_CONTROL_FD 3
#define SNAPSHOT_TEMPLATE_FD 4

/* Exit status of a process that cannot be restored; no code has run then. */
#define RESTORE_FAILED 125

enum template_source {
        TEMPLATE_ZERO,      /* never written */
        TEMPLATE_PAGES,     /* mapped from the template, copied on write */
        TEMPLATE_STACK,     /* grows; its pages are read, not mapped */
        TEMPLATE_DROPPABLE, /* the kernel may drop it at any time; empty after the restore */
};

struct template_piece {
        uint64_t address, length;
        uint64_t offset; /* in the template */
        uint32_t protection;
        uint32_t source;
};

/* The kernel's own mappings (vdso and its data), which are moved to the addresses that the interpreter's
 * libc knows. */
struct template_special {
        uint64_t address, length;
};

struct template_range {
        uint64_t address;
        uint64_t length; /* number of pages times two; odd: written */
};

struct template_registers {
        uint64_t saved[24]; /* see capture() */
};

struct template_head {
        uint64_t magic;
        uint32_t n_pieces, n_specials, n_hot, n_written;
        uint64_t pieces, hot, written; /* offsets */
        struct template_registers registers;
        uint64_t maker, writer; /* process numbers that a restored process must not have: see python.c */
        uint64_t thread_pointer;
        uint64_t tid_address;
        uint64_t robust_list, robust_length;
        uint64_t rseq, rseq_length;
        uint64_t signal_mask;
        uint64_t alternate_stack[3];
        uint8_t actions[TEMPLATE_SIGNALS][TEMPLATE_ACTION_SIZE];
        uint64_t vdso; /* address of the vdso: the kernel reports only this one for another process; the other
                          mappings have the same distance from it as here */
        struct template_special specials[TEMPLATE_SPECIALS_MAX];
};

#if defined __x86_64__
#define RSEQ_SIGNATURE 0x53053053
#else
#define RSEQ_SIGNATURE 0xd428bc00
#endif
