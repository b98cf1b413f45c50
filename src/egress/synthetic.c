/* egress/synthetic.c -- see synthetic.h.
 *
 * Names are numbered consecutively.  The number determines the address of a name and its index in the
 * table.  The range is a multiple of the table's size, so the index can be computed from the address. */
#include "egress/synthetic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/policy/hash.h"

#define NAMES SYNTHETIC_NAMES_MAX
#define FIRST NAMES             /* addresses below are reserved, for example for the proxy */
#define RANGE (131072u - FIRST) /* size within the /15 */
_Static_assert(RANGE % NAMES == 0 && FIRST % NAMES == 0, "so that the place follows from the address");

static const uint8_t prefix4[16] = {[10] = 0xff, 0xff, 198, 18, 0, 0};
static const uint8_t prefix6[16] = {0xfd, 0xce, 0x11, 0xa0, 0xe6, 0x5e, 0, 1};

struct synthetic {
        uint32_t next;          /* next number, below RANGE */
        uint32_t hashes[NAMES]; /* to search without accessing the names */
        uint32_t offsets[NAMES];
        char *names[NAMES]; /* NULL: unused */
};

struct synthetic *synthetic_new(void)
{
        return calloc(1, sizeof(struct synthetic));
}

struct synthetic *synthetic_free(struct synthetic *s)
{
        for (unsigned i = 0; s != NULL && i < NAMES; i++)
                free(s->names[i]);
        free(s);
        return NULL;
}

static void write_address(uint32_t offset, bool v6, struct address *ret)
{
        memcpy(ret->bytes, v6 ? prefix6 : prefix4, 16);
        if (!v6)
                ret->bytes[13] |= (uint8_t)(offset >> 16);
        else
                ret->bytes[13] = (uint8_t)(offset >> 16);
        ret->bytes[14] = (uint8_t)(offset >> 8);
        ret->bytes[15] = (uint8_t)offset;
}

int synthetic_give(struct synthetic *s, const char *name, bool v6, struct address *ret)
{
        uint32_t hash = (uint32_t)(hash_text(HASH_BEGIN, name) >> 16), place, offset;
        char *copy;

        for (unsigned i = 0; i < NAMES; i++) {
                if (s->hashes[i] == hash && s->names[i] != NULL && strcmp(s->names[i], name) == 0) {
                        write_address(s->offsets[i], v6, ret);
                        return 0;
                }
        }
        copy = strdup(name);
        if (copy == NULL)
                return -ENOMEM;
        offset = FIRST + s->next;
        s->next = (s->next + 1) % RANGE;
        place = offset % NAMES;
        free(s->names[place]);
        s->names[place] = copy;
        s->hashes[place] = hash;
        s->offsets[place] = offset;
        write_address(offset, v6, ret);
        return 0;
}

enum synthetic_kind synthetic_find(const struct synthetic *s, const struct address *address,
                                   const char **ret_name)
{
        const uint8_t *bytes = address->bytes;
        uint32_t offset = (uint32_t)bytes[13] << 16 | (uint32_t)bytes[14] << 8 | bytes[15];
        struct address network;
        bool v4;

        memcpy(network.bytes, prefix4, 16);
        v4 = address_in(address, &network, 96 + 15);
        memcpy(network.bytes, prefix6, 16);
        if (!v4 && !address_in(address, &network, 64))
                return SYNTHETIC_NONE;
        if (v4)
                offset &= 0x1ffff;
        else if (memcmp(bytes + 8, (const uint8_t[5]){0}, 5) != 0)
                return SYNTHETIC_OTHER;
        if (v4 && offset == 1)
                return SYNTHETIC_PROXY;
        if (s == NULL || offset < FIRST || s->names[offset % NAMES] == NULL ||
            s->offsets[offset % NAMES] != offset)
                return SYNTHETIC_OTHER;
        *ret_name = s->names[offset % NAMES];
        return SYNTHETIC_NAME;
}
