#include "engine/isolation.h"

#include <string.h>

#include "base/auto.h"
#include "base/limits.h"
#include "jail/walls.h"

void isolation_fill(uint32_t walls, uint32_t missing, struct cella_isolation *ret)
{
        static const struct {
                uint32_t wall;
                const char *name;
        } layers[] = {
                {WALL_USER, "user"},     {WALL_PID, "pid"},         {WALL_MOUNT, "mount"},
                {WALL_NET, "net"},       {WALL_IPC, "ipc"},         {WALL_UTS, "uts"},
                {WALL_CGROUP, "cgroup"}, {WALL_SECCOMP, "seccomp"}, {WALL_LANDLOCK, "landlock"},
        };
        memset(ret, 0, sizeof *ret);
        ret->engine = walls & ISOLATION_PODMAN ? "podman" : walls & ISOLATION_DOCKER ? "docker" : "native";
        for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
                if (walls & layers[i].wall)
                        ret->layers[ret->n_layers++] = layers[i].name;
                else
                        ret->missing[ret->n_missing++] = layers[i].name;
        }
        const struct limit *l;
        for (; (l = limit_of_bits(missing)); missing &= ~l->bit)
                ret->missing[ret->n_missing++] = l->missing;
}
