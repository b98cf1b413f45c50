#include "keeper/process/sandbox_table.h"

#include <stddef.h>

struct sandbox_entry *sandbox_table_add(struct sandbox_table *table, struct sandbox *sandbox)
{
        for (unsigned i = 0; i < KEEPER_SANDBOXES_MAX; i++) {
                unsigned place = (table->next + i) % KEEPER_SANDBOXES_MAX;
                struct sandbox_entry *entry = &table->all[place];
                if (entry->state != SANDBOX_FREE)
                        continue;
                uint32_t turn = entry->handle / KEEPER_SANDBOXES_MAX + 1;
                if (turn > UINT32_MAX / KEEPER_SANDBOXES_MAX)
                        turn = 1; /* 0 is not a handle */
                *entry = (struct sandbox_entry){.handle = turn * KEEPER_SANDBOXES_MAX + place,
                                                .state = SANDBOX_LIVE,
                                                .sandbox = sandbox};
                table->next = place + 1;
                table->used++;
                return entry;
        }
        return NULL;
}

struct sandbox_entry *sandbox_table_find(struct sandbox_table *table, uint32_t handle)
{
        struct sandbox_entry *entry = &table->all[handle % KEEPER_SANDBOXES_MAX];
        return entry->state != SANDBOX_FREE && entry->handle == handle ? entry : NULL;
}

void sandbox_table_remove(struct sandbox_table *table, struct sandbox_entry *entry)
{
        entry->state = SANDBOX_FREE;
        entry->sandbox = NULL;
        table->used--;
}
