#include "attack.h"

/* Down to 200 MiB, if nothing stops it. */
static __attribute__((noinline)) int go_down(int depth)
{
        volatile char frame[4096];

        memset((char *)frame, depth, sizeof frame);
        if (depth >= 200 << 8)
                return frame[17];
        return go_down(depth + 1) + frame[depth % 4096];
}

BOMB(deep_stack, WALL_RLIMIT, "recurse without end")
{
        return attack_succeeded("200 MiB of stack (%d)", go_down(0));
}
