#include "attack.h"

#include <sys/ipc.h>
#include <sys/shm.h>

ATTACK(sysv_shm, WALL_IPC, "read a System V shared memory segment of the host")
{
        if (victim->shm_key < 0)
                return attack_broken("needs shm_key");
        int id = shmget((key_t)victim->shm_key, 0, 0);
        if (id < 0) {
                if (errno == ENOENT)
                        return attack_blocked("key %ld: %s", victim->shm_key, strerror(errno));
                return attack_broken("shmget: unforeseen: %s", strerror(errno));
        }
        const char *memory = shmat(id, NULL, SHM_RDONLY);
        if (memory == (void *)-1)
                return attack_broken("shmat: %s", strerror(errno));
        if (strncmp(memory, victim->nonce, strlen(victim->nonce)) != 0)
                return attack_broken("attached, but the secret is not there");
        return attack_succeeded("read the secret");
}
