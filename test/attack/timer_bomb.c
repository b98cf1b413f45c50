#include "attack.h"

/* Each takes memory of the kernel and, once armed, an interrupt. */
BOMB(timer_bomb, WALL_CGROUP, "make timers without end")
{
        struct itimerspec often = {.it_interval = {0, 1000000}, .it_value = {0, 1000000}};
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
        timer_t timer;

        signal(SIGRTMIN, SIG_IGN);
        for (int i = 0; i < 20000; i++) {
                if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0) {
                        if (errno == EAGAIN || errno == ENOMEM)
                                return attack_blocked("stopped after %d timers", i);
                        return attack_broken("timer_create: unforeseen: %s", strerror(errno));
                }
                if (i < 1000)
                        timer_settime(timer, 0, &often, NULL);
        }
        return attack_blocked("20000 timers: now they must go away");
}
