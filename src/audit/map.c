#include "audit/map.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/file.h"

#define SLOT_SIZE 8192
#define MAGIC UINT64_C(0x31706d616c6c6563) /* "cellamp1" in the file */
#define FILE_SIZE ((MAP_SLOTS + 1) * (size_t)SLOT_SIZE)

#define ABOUT_SHIFT 16
_Static_assert(AUDIT_ABOUT_SLOT_MAX < 1 << ABOUT_SHIFT, "its length has 16 bits");

enum { SLOT_FREE = 0, SLOT_RUNNING = 1, SLOT_ENDED = 2 };

struct head {
        uint64_t magic;
        uint32_t slot_size, slots;
        _Atomic uint64_t last_row;
};

struct slot_fixed {
        _Atomic uint32_t state;
        uint32_t input_kept;
        uint64_t input_bytes;
        int64_t started_ms, finished_ms;
        int32_t exit_code, signal;
        uint64_t duration_us, cpu_us, memory_peak_bytes, output_total[2];
        uint32_t processes_peak;
        uint32_t present; /* low 16 bits: which names are not NULL; high 16 bits: length of `about` */
        char status[32];
        char id[64], sandbox[64], runtime[64], key[64];
        char session[256], agent[256];
};

/* `about` follows the input without a gap.  A file written before `about` existed has a length of 0 there. */
struct slot {
        struct slot_fixed fixed;
        char input[SLOT_SIZE - sizeof(struct slot_fixed)];
};
_Static_assert(sizeof(struct slot) == SLOT_SIZE, "a slot is whole pages");
_Static_assert(sizeof(struct head) <= SLOT_SIZE, "the head has a slot's room");

struct map {
        int fd;
        struct head *head;
        struct slot *slots;
        uint16_t free[MAP_SLOTS]; /* a stack, so that the same few pages are reused */
        unsigned n_free;
};

/* ---- opening ---- */

static void all_free(struct map *map)
{
        map->n_free = 0;
        for (unsigned i = MAP_SLOTS; i > 0; i--)
                map->free[map->n_free++] = (uint16_t)(i - 1);
}

/* A lock of the process, not of the descriptor: a child that still has a copy of the descriptor after the
 * process was killed does not block the next process. */
static int map_lock(int fd)
{
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        return fcntl(fd, F_SETLK, &whole) < 0 ? -errno : 0;
}

static int map_file(struct map *map, const char *path, bool *ret_damaged, struct cella_err *err)
{
        struct stat st;
        map->fd = sys_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (map->fd < 0)
                return err_set(err, CELLA_INTERNAL, map->fd, "cannot open %s", path);
        int r = map_lock(map->fd);
        if (r == -EACCES || r == -EAGAIN) {
                err_say(err, CELLA_INTERNAL, -EBUSY, "another process uses %s", path);
                err_hint(err, "another daemon already uses this state directory");
                return -EBUSY;
        }
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot lock %s", path);
        if (fstat(map->fd, &st) < 0 || fchmod(map->fd, 0600) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot examine %s", path);
        *ret_damaged = st.st_size != 0 && st.st_size != (off_t)FILE_SIZE;
        if ((*ret_damaged && ftruncate(map->fd, 0) < 0) || ftruncate(map->fd, FILE_SIZE) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot set the size of %s", path);
        r = posix_fallocate(map->fd, 0, FILE_SIZE);
        if (r != 0) {
                err_set(err, CELLA_INTERNAL, -r, "cannot reserve %zu bytes for %s", FILE_SIZE, path);
                err_hint(err, "free space on the disk of the state directory");
                return -r;
        }
        void *at = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, map->fd, 0);
        if (at == MAP_FAILED)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot map %s", path);
        map->head = at;
        map->slots = (struct slot *)((char *)at + SLOT_SIZE);
        return st.st_size == 0 || *ret_damaged ? 1 : 0;
}

int map_open(const char *directory, struct map **ret, bool *ret_damaged, struct cella_err *err)
{
        AUTO(map_close) struct map *map = NULL;
        char path[PATH_MAX];
        bool damaged = false;
        if (snprintf(path, sizeof path, "%s/running.map", directory) >= (int)sizeof path)
                return err_set(err, CELLA_INTERNAL, -ENAMETOOLONG, "state directory");
        map = calloc(1, sizeof *map);
        if (!map)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot open the audit log");
        map->fd = -1;
        int r = map_file(map, path, &damaged, err);
        if (r < 0 || !map->head)
                return r;
        /* A file of the right size that contains only zeros: the process died while creating it. */
        bool fresh = r == 1 || (map->head->magic == 0 && map->head->slot_size == 0);
        bool ours = map->head->magic == MAGIC && map->head->slot_size == SLOT_SIZE &&
                    map->head->slots == MAP_SLOTS;
        if (!ours) {
                memset(map->head, 0, SLOT_SIZE);
                map_clear(map);
                map->head->slot_size = SLOT_SIZE;
                map->head->slots = MAP_SLOTS;
                map->head->magic = MAGIC;
                damaged = damaged || !fresh;
        }
        all_free(map);
        *ret_damaged = damaged;
        *ret = TAKE(map);
        return 0;
}

struct map *map_close(struct map *map)
{
        if (!map)
                return NULL;
        if (map->head)
                munmap(map->head, FILE_SIZE);
        if (map->fd >= 0)
                sys_close(map->fd);
        free(map);
        return NULL;
}

/* ---- filling ---- */

static void put_name(char *to, size_t size, const char *name, uint32_t *present, unsigned bit)
{
        size_t len = name ? strnlen(name, size - 1) : 0;
        if (len > 0)
                memcpy(to, name, len);
        to[len] = '\0';
        *present |= name ? 1u << bit : 0;
}

int map_begin(struct map *map, const struct audit_begin *begin)
{
        if (map->n_free == 0 || !begin->id)
                return -EAGAIN;
        int slot = map->free[--map->n_free];
        struct slot *s = &map->slots[slot];
        struct slot_fixed *f = &s->fixed;
        uint32_t present = 0;
        size_t about = begin->about && begin->about_len <= AUDIT_ABOUT_SLOT_MAX ? begin->about_len : 0;
        size_t room = sizeof s->input - about;
        size_t kept = !begin->input ? 0 : begin->input_len < room ? begin->input_len : room;
        put_name(f->id, sizeof f->id, begin->id, &present, 0);
        put_name(f->sandbox, sizeof f->sandbox, begin->sandbox, &present, 1);
        put_name(f->runtime, sizeof f->runtime, begin->runtime, &present, 2);
        put_name(f->key, sizeof f->key, begin->key, &present, 3);
        put_name(f->session, sizeof f->session, begin->session, &present, 4);
        put_name(f->agent, sizeof f->agent, begin->agent, &present, 5);
        present |= begin->input ? 1u << 6 : 0;
        present |= (uint32_t)about << ABOUT_SHIFT;
        if (kept > 0)
                memcpy(s->input, begin->input, kept);
        if (about > 0)
                memcpy(s->input + kept, begin->about, about);
        f->input_kept = (uint32_t)kept;
        f->input_bytes = begin->input_len;
        f->started_ms = begin->started_ms;
        f->present = present;
        atomic_store_explicit(&f->state, SLOT_RUNNING, memory_order_release);
        return slot;
}

void map_end(struct map *map, int slot, const struct audit_end *end, int64_t finished_ms)
{
        struct slot_fixed *f = &map->slots[slot].fixed;
        uint32_t present = 0;
        put_name(f->status, sizeof f->status, end->status, &present, 0);
        f->finished_ms = finished_ms;
        f->exit_code = end->exit_code;
        f->signal = end->signal;
        f->duration_us = end->duration_us;
        f->cpu_us = end->cpu_us;
        f->memory_peak_bytes = end->memory_peak_bytes;
        f->processes_peak = end->processes_peak;
        f->output_total[0] = end->output_total[0];
        f->output_total[1] = end->output_total[1];
        atomic_store_explicit(&f->state, SLOT_ENDED, memory_order_release);
}

void map_release(struct map *map, int slot)
{
        atomic_store_explicit(&map->slots[slot].fixed.state, SLOT_FREE, memory_order_release);
        map->free[map->n_free++] = (uint16_t)slot;
}

void map_clear(struct map *map)
{
        for (unsigned i = 0; i < MAP_SLOTS; i++)
                if (atomic_load_explicit(&map->slots[i].fixed.state, memory_order_relaxed) != SLOT_FREE)
                        atomic_store_explicit(&map->slots[i].fixed.state, SLOT_FREE, memory_order_release);
}

uint64_t map_last_row(const struct map *map)
{
        return atomic_load_explicit(&map->head->last_row, memory_order_relaxed);
}

void map_set_last_row(struct map *map, uint64_t seq)
{
        atomic_store_explicit(&map->head->last_row, seq, memory_order_relaxed);
}

/* ---- recovery after a crash ---- */

/* Returns NULL if the name was NULL.  Replaces control characters, because the file is not trusted. */
static const char *name_of(char *name, size_t size, uint32_t present, unsigned bit)
{
        if (!(present & (1u << bit)))
                return NULL;
        name[size - 1] = '\0';
        for (char *p = name; *p; p++)
                if ((unsigned char)*p < ' ')
                        *p = '?';
        return name;
}

static bool is_word(const char *text)
{
        return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

/* Checks that the data in the file is the text of a JSON object. */
static bool is_object(const char *text, size_t len, size_t room)
{
        json_t *object = len > 0 && len <= room ? json_loadb(text, len, JSON_ALLOW_NUL, NULL) : NULL;
        bool is = json_is_object(object);
        json_decref(object);
        return is;
}

/* s is a private copy of the slot. */
static struct record *map_recover_slots(struct slot *s, uint32_t state, bool *ret_interrupted)
{
        struct slot_fixed *f = &s->fixed;
        size_t kept = f->input_kept < sizeof s->input ? f->input_kept : sizeof s->input;
        size_t about = f->present >> ABOUT_SHIFT;
        f->status[sizeof f->status - 1] = '\0';
        bool ended = state == SLOT_ENDED && is_word(f->status);
        struct audit_begin begin = {
                .id = name_of(f->id, sizeof f->id, f->present, 0),
                .sandbox = name_of(f->sandbox, sizeof f->sandbox, f->present, 1),
                .runtime = name_of(f->runtime, sizeof f->runtime, f->present, 2),
                .key = name_of(f->key, sizeof f->key, f->present, 3),
                .session = name_of(f->session, sizeof f->session, f->present, 4),
                .agent = name_of(f->agent, sizeof f->agent, f->present, 5),
                .input = f->present & (1u << 6) ? s->input : NULL,
                .input_len = kept,
                .started_ms = f->started_ms,
                .about = is_object(s->input + kept, about, sizeof s->input - kept) ? s->input + kept : NULL,
                .about_len = about,
        };
        struct audit_end end = {.status = "interrupted"};
        if (ended)
                end = (struct audit_end){
                        .status = f->status,
                        .exit_code = f->exit_code,
                        .signal = f->signal > 0 && f->signal < 128 ? f->signal : 0,
                        .duration_us = f->duration_us,
                        .cpu_us = f->cpu_us,
                        .memory_peak_bytes = f->memory_peak_bytes,
                        .processes_peak = f->processes_peak,
                        .output_total = {f->output_total[0], f->output_total[1]},
                };
        struct record *record = record_new(&begin, &end, ended ? f->finished_ms : row_now_ms(), false, -1);
        if (record && f->input_bytes > kept)
                record->cells[COLUMN_INPUT_BYTES] = cell_integer(f->input_bytes);
        *ret_interrupted = !ended;
        return record;
}

int map_recover(struct map *map, int (*each)(void *context, struct record *record, bool interrupted),
                void *context)
{
        for (unsigned i = 0; i < MAP_SLOTS; i++) {
                uint32_t state = atomic_load_explicit(&map->slots[i].fixed.state, memory_order_acquire);
                struct slot copy;
                bool interrupted = false;
                if (state != SLOT_RUNNING && state != SLOT_ENDED)
                        continue;
                memcpy(&copy, &map->slots[i], sizeof copy);
                struct record *record = map_recover_slots(&copy, state, &interrupted);
                if (!record)
                        return -ENOMEM;
                int r = each(context, record, interrupted);
                if (r < 0)
                        return r;
        }
        return 0;
}
