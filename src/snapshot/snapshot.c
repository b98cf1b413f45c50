/* snapshot/snapshot.c -- writes the process into which it is loaded to a template.
 *
 * It is called in the child of a fork, which has one thread. Restored processes return from the same call.
 * Everything in /proc/self/maps is written, including program text and libraries. So a template depends on no
 * other file, which could be upgraded, and it can use large pages, which the kernel maps and unmaps in one
 * step. */
#include "snapshot/snapshot.h"

#include "snapshot/bare.h"
#include "snapshot/capture.h"

#define O_RDONLY_CLOEXEC 02000000
#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_FIXED 0x10
#define MAP_ANONYMOUS 0x20
#define MADV_COLLAPSE 25
#define LARGE_PAGE (UINT64_C(2) << 20)
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#define ZERO_RUN 512                    /* pages; shorter runs of zeros are not worth a separate mapping */
#define GAP_MAX (UINT64_C(128) * 1024)  /* the same for ranges that are not readable */
#define HOLE_MAX (UINT64_C(64) * 1024)  /* the same for unmapped ranges */
#define FIXED_MAX (UINT64_C(64) * 1024) /* the same for read-only data between writable data */
#define NEG_EFAULT (-14)
#define PR_GET_TID_ADDRESS 40
#define MAPS_MAX (1024u * 1024)
#define DROPPABLE_MAX 16

static struct template_head head;
static struct template_piece pieces[TEMPLATE_PIECES_MAX];
static unsigned char has_gaps[TEMPLATE_PIECES_MAX];    /* the piece contains unreadable or unmapped ranges */
static struct template_range ranges[TEMPLATE_HOT_MAX]; /* those that are being recorded */
static uint32_t n_ranges;
static uint64_t droppable[DROPPABLE_MAX]; /* start addresses of these mappings */
static unsigned n_droppable;
static char maps[MAPS_MAX];

const char *snapshot_problem = "";

static int problem(const char *what)
{
        snapshot_problem = what;
        return -1;
}

/* ---- mappings ---- */

static int has_pages(unsigned source)
{
        return source == TEMPLATE_PAGES || source == TEMPLATE_STACK;
}

/* Whether the two become one mapping: creating and removing a mapping costs as much as copying a page. */
static int belong_together(const struct template_piece *last, const struct template_piece *next)
{
        const unsigned both = last->protection & next->protection, any = last->protection | next->protection;
        const uint64_t hole = next->address - last->address - last->length;
        if (last->source != next->source || last->source == TEMPLATE_STACK)
                return 0;
        if (last->protection == next->protection && hole == 0)
                return 1;
        if (last->source != TEMPLATE_PAGES)
                return 0;
        /* Text and constants of a program. */
        if (hole == 0 && !(any & PROT_WRITE))
                return 1;
        /* Data, with small read-only ranges (tables of the linker and of libc) or unmapped ranges between.
         * The merged range is private memory of the process. */
        if (any & PROT_EXEC || !(both & PROT_READ))
                return 0;
        if (hole > 0)
                return both & PROT_WRITE && hole <= HOLE_MAX;
        return (next->protection & PROT_WRITE ? last->length : next->length) <= FIXED_MAX;
}

static int add_piece(uint64_t address, uint64_t length, unsigned source, const struct bare_map *map)
{
        const struct template_piece next = {
                .address = address,
                .length = length,
                .protection = (map->readable ? PROT_READ : 0u) | (map->writable ? PROT_WRITE : 0u) |
                              (map->executable ? PROT_EXEC : 0u),
                .source = source,
        };
        struct template_piece *last = head.n_pieces ? &pieces[head.n_pieces - 1] : 0;
        if (last && belong_together(last, &next)) {
                has_gaps[head.n_pieces - 1] |= last->address + last->length != address;
                last->protection |= next.protection;
                last->length = address + length - last->address;
                return 0;
        }
        if (head.n_pieces == TEMPLATE_PIECES_MAX)
                return problem("the interpreter has too many mappings");
        pieces[head.n_pieces++] = next;
        return 0;
}

/* Adds the pages of a mapping. Long runs of zeros take no space in the template. */
static int add_pages(const struct bare_map *map)
{
        uint64_t start = map->start;
        while (start < map->end) {
                uint64_t end = start, zeros = 0;
                for (; end < map->end; end += TEMPLATE_PAGE) {
                        zeros = bare_is_zero((void *)end, TEMPLATE_PAGE) ? zeros + 1 : 0;
                        if (zeros == ZERO_RUN)
                                break;
                }
                const int run = zeros == ZERO_RUN;
                if (run)
                        end -= (ZERO_RUN - 1) * (uint64_t)TEMPLATE_PAGE;
                if (end > start && add_piece(start, end - start, TEMPLATE_PAGES, map) < 0)
                        return -1;
                start = end;
                if (!run)
                        continue;
                /* Do not examine the first pages again: they may contain our list, which has grown since, and
                 * a piece of length 0 is not valid. */
                end += ZERO_RUN * (uint64_t)TEMPLATE_PAGE;
                while (end < map->end && bare_is_zero((void *)end, TEMPLATE_PAGE))
                        end += TEMPLATE_PAGE;
                if (add_piece(start, end - start, TEMPLATE_ZERO, map) < 0)
                        return -1;
                start = end;
        }
        return 0;
}

static int add_special(const struct bare_map *map)
{
        if (head.n_specials == TEMPLATE_SPECIALS_MAX)
                return problem("the kernel has unknown mappings");
        head.specials[head.n_specials++] = (struct template_special){map->start, map->end - map->start};
        if (bare_same(map->name, "[vdso]"))
                head.vdso = map->start;
        return 0;
}

static int add_stack(const struct bare_map *map)
{
        struct bare_map used = *map;
        /* The stack below belongs to calls that have returned, or to this file. */
        used.start = (CAPTURE_STACK(&head.registers) - 256) & ~(uint64_t)(TEMPLATE_PAGE - 1);
        return add_piece(used.start, used.end - used.start, TEMPLATE_STACK, &used);
}

/* Whether the range only fills the space between the text and the data of a library, up to the next multiple
 * of the largest page size (64 KiB on aarch64). It becomes part of the text's piece, and so do constants that
 * follow it. */
static int is_gap(const struct bare_map *map)
{
        const struct template_piece *last = head.n_pieces ? &pieces[head.n_pieces - 1] : 0;
        return last && last->source == TEMPLATE_PAGES && !(last->protection & PROT_WRITE) &&
               last->address + last->length == map->start && map->end - map->start <= GAP_MAX;
}

static int add_map(const struct bare_map *map)
{
        for (unsigned i = 0; i < n_droppable; i++)
                if (droppable[i] == map->start)
                        return add_piece(map->start, map->end - map->start, TEMPLATE_DROPPABLE, map);
        if (map->name[0] == '[' && map->name[1] == 'v')
                return bare_same(map->name, "[vsyscall]") ? 0 : add_special(map);
        if (bare_same(map->name, "[stack]"))
                return add_stack(map);
        if (!map->readable && is_gap(map)) {
                has_gaps[head.n_pieces - 1] = 1;
                return add_piece(map->start, map->end - map->start, TEMPLATE_PAGES, map);
        }
        if (!map->readable)
                return add_piece(map->start, map->end - map->start, TEMPLATE_ZERO, map);
        if (map->shared && map->writable)
                return problem("the interpreter has writable shared memory");
        return add_pages(map);
}

static int has_flag(const char *line, char a, char b)
{
        for (; *line && *line != '\n'; line++)
                if (line[0] == ' ' && line[1] == a && line[2] == b)
                        return 1;
        return 0;
}

static int starts_with(const char *line, const char *word)
{
        while (*word && *line == *word)
                line++, word++;
        return !*word;
}

/* A libc may keep the state of its random numbers in memory that the kernel wipes in children. From a
 * template all restored processes would get the same state; returns -1 then. Memory that the kernel may also
 * drop at any time (glibc 2.41, Linux 6.11) is left empty: its owner expects that, and asks the kernel for
 * new numbers. */
static int find_secrets(const char *smaps)
{
        uint64_t start = 0;
        n_droppable = 0;
        while (*smaps) {
                const char *line = smaps;
                while (*smaps && *smaps++ != '\n')
                        continue;
                if ((*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f')) {
                        start = bare_hex(&line);
                } else if (!starts_with(line, "VmFlags:")) {
                        continue;
                } else if (has_flag(line, 'd', 'p')) {
                        if (n_droppable == DROPPABLE_MAX)
                                return -1;
                        droppable[n_droppable++] = start;
                } else if (has_flag(line, 'w', 'f')) {
                        return -1;
                }
        }
        return 0;
}

static int survey(void)
{
        char *at = maps;
        struct bare_map map;
        if (bare_read_file("/proc/self/smaps", maps, sizeof maps) < 0)
                return problem("/proc/self/smaps cannot be read");
        if (find_secrets(maps) < 0)
                return problem("libc keeps the state of its random numbers in memory");
        if (bare_read_file("/proc/self/maps", maps, sizeof maps) < 0)
                return problem("/proc/self/maps cannot be read");
        while (bare_next_map(&at, &map))
                if (add_map(&map) < 0)
                        return -1;
        return head.vdso ? 0 : problem("the kernel has no vdso");
}

/* ---- state in the kernel ---- */

extern const long __rseq_offset __attribute__((weak)); /* glibc 2.35 */
extern const unsigned __rseq_size __attribute__((weak));

static uint64_t thread_pointer(void)
{
        uint64_t value;
#if defined __x86_64__
        __asm__("mov %%fs:0, %0" : "=r"(value));
#else
        __asm__("mrs %0, tpidr_el0" : "=r"(value));
#endif
        return value;
}

static int survey_kernel(void)
{
        uint64_t *tid = 0;
        int self = (int)sys_call0(SYS_gettid);
        head.writer = (uint64_t)self;
        head.maker = (uint64_t)sys_call0(SYS_getppid);
        head.thread_pointer = thread_pointer();
        if (sys_call5(SYS_prctl, PR_GET_TID_ADDRESS, &tid, 0, 0, 0) < 0)
                return problem("the kernel has no CONFIG_CHECKPOINT_RESTORE");
        /* The address at which libc keeps the thread ID, which it does not request again. */
        if (!tid || *(int *)tid != self)
                return problem("libc keeps the thread ID at an unknown address");
        head.tid_address = (uint64_t)tid;
        sys_call3(SYS_get_robust_list, 0, &head.robust_list, &head.robust_length);
        if (&__rseq_offset && &__rseq_size && __rseq_size > 0) {
                head.rseq = head.thread_pointer + (uint64_t)__rseq_offset;
                head.rseq_length = 32;
        }
        sys_call2(SYS_sigaltstack, 0, head.alternate_stack);
        sys_call4(SYS_rt_sigprocmask, 0, 0, &head.signal_mask, 8);
        for (int s = 1; s <= TEMPLATE_SIGNALS; s++)
                sys_call4(SYS_rt_sigaction, s, 0, head.actions[s - 1], 8);
        return 0;
}

/* ---- writing ---- */

static int put(int fd, const void *data, uint64_t length)
{
        const char *p = data;
        while (length > 0) {
                long n = sys_call3(SYS_write, fd, p, length);
                if (n <= 0)
                        return problem("not enough memory for the template");
                p += n;
                length -= (uint64_t)n;
        }
        return 0;
}

static uint64_t place(uint64_t *at, uint64_t length)
{
        uint64_t offset = *at;
        *at += (length + 15) & ~15u;
        return offset;
}

/* Returns the offset for the piece. Text that fills large pages gets the same alignment in the file as in
 * memory, so that the kernel can use large pages for it. */
static uint64_t place_pages(uint64_t at, const struct template_piece *piece)
{
        const uint64_t large = (piece->address + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
        if (piece->protection & PROT_WRITE || large + LARGE_PAGE > piece->address + piece->length)
                return at;
        return at + ((piece->address - at) & (LARGE_PAGE - 1));
}

/* A gap cannot be read. It stays a hole in the file, and is zeros in memory after the restore. */
static int write_piece(int fd, uint32_t i)
{
        const struct template_piece *piece = &pieces[i];
        uint64_t done = 0;
        while (done < piece->length) {
                long n = sys_call4(SYS_pwrite64, fd, piece->address + done, piece->length - done,
                                   piece->offset + done);
                if (n == NEG_EFAULT && has_gaps[i])
                        n = (long)(TEMPLATE_PAGE - done % TEMPLATE_PAGE);
                if (n <= 0)
                        return problem("not enough memory for the template");
                done += (uint64_t)n;
        }
        return 0;
}

static int write_pages(int fd)
{
        for (uint32_t i = 0; i < head.n_pieces; i++)
                if (has_pages(pieces[i].source) && write_piece(fd, i) < 0)
                        return -1;
        return 0;
}

_Static_assert(sizeof head + sizeof pieces + (TEMPLATE_WRITTEN_MAX + TEMPLATE_HOT_MAX) * sizeof *ranges +
                               TEMPLATE_PAGE <=
                       TEMPLATE_HEAD_MAX,
               "restore.c maps TEMPLATE_HEAD_MAX bytes");

static int write_template(int fd)
{
        uint64_t at = 0;
        head.magic = TEMPLATE_MAGIC;
        place(&at, sizeof head);
        head.pieces = place(&at, head.n_pieces * sizeof *pieces);
        head.written =
                place(&at, TEMPLATE_WRITTEN_MAX * sizeof *ranges); /* filled in later, like the next one */
        head.hot = place(&at, TEMPLATE_HOT_MAX * sizeof *ranges);
        at = (at + TEMPLATE_PAGE - 1) & ~(uint64_t)(TEMPLATE_PAGE - 1);
        for (uint32_t i = 0; i < head.n_pieces; i++)
                if (has_pages(pieces[i].source)) {
                        pieces[i].offset = place_pages(at, &pieces[i]);
                        at = pieces[i].offset + pieces[i].length;
                }
        /* Align by seeking: a hole reads as zero. */
        const struct {
                uint64_t offset;
                const void *data;
                uint64_t length;
        } parts[] = {
                {0, &head, sizeof head},
                {head.pieces, pieces, head.n_pieces * sizeof *pieces},
        };
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                sys_call3(SYS_lseek, fd, parts[i].offset, 0);
                if (put(fd, parts[i].data, parts[i].length) < 0)
                        return -1;
        }
        return write_pages(fd);
}

/* Not inlined into its caller, which returns twice. */
static __attribute__((noinline)) int write_down(int fd)
{
        return survey_kernel() < 0 || survey() < 0 || write_template(fd) < 0 ? -1 : 0;
}

int snapshot(int fd)
{
        return capture(&head.registers) ? 1 : write_down(fd);
}

/* ---- large pages ---- */

void snapshot_pack(int fd)
{
        const uint64_t size = (uint64_t)sys_call3(SYS_lseek, fd, 0, 2); /* SEEK_END */
        const uint64_t length = (size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
        long room =
                sys_call6(SYS_mmap, 0, (long)(length + LARGE_PAGE), 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (sys_call2(SYS_ftruncate, fd, length) < 0 || (room < 0 && room > -4096))
                return;
        const uint64_t at = ((uint64_t)room + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
        if (sys_call6(SYS_mmap, (long)at, (long)length, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == (long)at)
                /* fails before Linux 6.1; then the template is slower */
                sys_call3(SYS_madvise, at, length, MADV_COLLAPSE);
        sys_call2(SYS_munmap, room, length + LARGE_PAGE);
}

/* ---- record the pages that code touches ---- */

#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_FILE (1ull << 61)

static uint64_t entries[512];

static void note_touched(uint64_t address, unsigned written, uint32_t max)
{
        struct template_range *last = n_ranges ? &ranges[n_ranges - 1] : 0;
        if (last && last->address + last->length / 2 * TEMPLATE_PAGE == address &&
            last->length % 2 == written)
                last->length += 2;
        else if (n_ranges < max)
                ranges[n_ranges++] = (struct template_range){address, 2 + written};
}

/* A page is private memory after a write, and a page of the file after a read.  Data that was only read is
 * left out: the kernel maps sixteen pages when one is read, so most of them were not used, and mapping all of
 * them takes almost as long as copying the others. */
static void find_touched(int pagemap, const struct template_piece *piece, int all)
{
        const uint64_t end = piece->address + piece->length;
        const int is_text = !(piece->protection & PROT_WRITE);
        for (uint64_t at = piece->address; at < end; at += sizeof entries / 8 * TEMPLATE_PAGE) {
                long n = sys_call4(SYS_pread64, pagemap, entries, sizeof entries, at / TEMPLATE_PAGE * 8);
                for (long i = 0; i < n / 8 && at + (uint64_t)i * TEMPLATE_PAGE < end; i++) {
                        const uint64_t address = at + (uint64_t)i * TEMPLATE_PAGE;
                        const int written = !(entries[i] & PAGEMAP_FILE);
                        if (!(entries[i] & PAGEMAP_PRESENT))
                                continue;
                        if (all && (written || is_text))
                                note_touched(address, (unsigned)written, TEMPLATE_HOT_MAX);
                        else if (!all && written && !is_text)
                                note_touched(address, 1, TEMPLATE_WRITTEN_MAX);
                }
        }
}

int snapshot_touched(int fd, int all)
{
        long pagemap = sys_call4(SYS_openat, BARE_AT_FDCWD, "/proc/self/pagemap", O_RDONLY_CLOEXEC, 0);
        if (pagemap < 0)
                return problem("/proc/self/pagemap cannot be read");
        if (sys_call4(SYS_pread64, fd, &head, sizeof head, 0) != sizeof head ||
            head.n_pieces > TEMPLATE_PIECES_MAX ||
            sys_call4(SYS_pread64, fd, pieces, head.n_pieces * sizeof *pieces, head.pieces) < 0)
                return problem("the template cannot be read");
        n_ranges = 0;
        for (uint32_t i = 0; i < head.n_pieces; i++)
                if (pieces[i].source == TEMPLATE_PAGES)
                        find_touched((int)pagemap, &pieces[i], all);
        sys_call1(SYS_close, pagemap);
        *(all ? &head.n_hot : &head.n_written) = n_ranges;
        sys_call4(SYS_pwrite64, fd, ranges, n_ranges * sizeof *ranges, all ? head.hot : head.written);
        sys_call4(SYS_pwrite64, fd, &head, sizeof head, 0);
        return 0;
}

/* ---- touch these pages in advance ---- */

static const struct template_head *const restored = (const void *)RESTORE_HEAD; /* mapped by restore.c */

/* Fails before Linux 5.14; then the process is slower. */
void snapshot_touch(int all)
{
        const struct template_range *r =
                (const void *)((const char *)restored + (all ? restored->hot : restored->written));
        const uint32_t n = all ? restored->n_hot : restored->n_written;
        for (uint32_t i = 0; i < n; i++)
                if (sys_call3(SYS_madvise, r[i].address, r[i].length / 2 * TEMPLATE_PAGE,
                              r[i].length % 2 ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) < 0)
                        break;
}

void snapshot_forget(void)
{
        sys_call2(SYS_munmap, RESTORE_BASE, RESTORE_LENGTH);
}
