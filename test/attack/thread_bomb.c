#include "attack.h"

#include <pthread.h>

static void *wait_forever(void *unused)
{
        pause();
        return unused;
}

BOMB(thread_bomb, WALL_CGROUP | WALL_RLIMIT, "start threads without end")
{
        pthread_attr_t attr;
        pthread_t thread;

        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 32768);
        for (int i = 1; i < ATTACK_BOMB_SIZE; i++) {
                int error = pthread_create(&thread, &attr, wait_forever, NULL);

                if (error == EAGAIN)
                        return attack_counted(i, "threads", true, victim);
                if (error != 0)
                        return attack_broken("pthread_create: unforeseen: %s", strerror(error));
        }
        return attack_counted(ATTACK_BOMB_SIZE, "threads", false, victim);
}
