#include "attack.h"

/* Names a program that the kernel runs as root, outside, when one of ours crashes. */
ATTACK(core_pattern, WALL_PROC, "set the program that handles crashes")
{
        return attack_open_for_writing("/proc/sys/kernel/core_pattern");
}
