#include "keeper/process/cells.h"

#include <stddef.h>

struct cell *cells_take(struct cells *cells, struct sandbox *sandbox)
{
        for (unsigned i = 0; i < KEEPER_SANDBOXES_MAX; i++) {
                unsigned place = (cells->next + i) % KEEPER_SANDBOXES_MAX;
                struct cell *cell = &cells->all[place];
                if (cell->state != CELL_FREE)
                        continue;
                uint32_t turn = cell->handle / KEEPER_SANDBOXES_MAX + 1;
                if (turn > UINT32_MAX / KEEPER_SANDBOXES_MAX)
                        turn = 1; /* 0 is nobody's handle */
                *cell = (struct cell){.handle = turn * KEEPER_SANDBOXES_MAX + place,
                                      .state = CELL_LIVE,
                                      .sandbox = sandbox};
                cells->next = place + 1;
                cells->used++;
                return cell;
        }
        return NULL;
}

struct cell *cells_find(struct cells *cells, uint32_t handle)
{
        struct cell *cell = &cells->all[handle % KEEPER_SANDBOXES_MAX];
        return cell->state != CELL_FREE && cell->handle == handle ? cell : NULL;
}

void cells_drop(struct cells *cells, struct cell *cell)
{
        cell->state = CELL_FREE;
        cell->sandbox = NULL;
        cells->used--;
}
