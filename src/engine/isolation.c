#include "engine/isolation.h"

#include <string.h>

#include "base/auto.h"
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
        static const struct {
                uint32_t limit;
                const char *name;
        } names[] = {
                {CELLA_LIMIT_MEMORY, "limit:memory"},     {CELLA_LIMIT_CPUS, "limit:cpus"},
                {CELLA_LIMIT_CPU_TIME, "limit:cpu_time"}, {CELLA_LIMIT_PROCESSES, "limit:processes"},
                {CELLA_LIMIT_DISK, "limit:disk"},
        };
        memset(ret, 0, sizeof *ret);
        ret->engine = walls & ISOLATION_PODMAN ? "podman" : walls & ISOLATION_DOCKER ? "docker" : "native";
        for (size_t i = 0; i < ARRAY_LEN(layers); i++) {
                if (walls & layers[i].wall)
                        ret->layers[ret->n_layers++] = layers[i].name;
                else
                        ret->missing[ret->n_missing++] = layers[i].name;
        }
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (missing & names[i].limit)
                        ret->missing[ret->n_missing++] = names[i].name;
}
