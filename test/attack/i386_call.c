#include "attack.h"

/* Another table of system calls behind the same kernel: its numbers mean other calls
 * than the filter thinks, so the filter must look at the architecture first. */
ATTACK(i386_call, WALL_SECCOMP, "make a 32-bit system call by int 0x80")
{
#ifdef __x86_64__
        int status = 0;
        pid_t pid = fork();

        if (pid < 0)
                return attack_broken("fork: %s", strerror(errno));
        if (pid == 0) {
                long r = 20; /* getpid, in the 32-bit table */

                __asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
                _exit(r > 0 ? 0 : r == -ENOSYS ? 4 : 3);
        }
        if (waitpid(pid, &status, 0) != pid)
                return attack_broken("waitpid: %s", strerror(errno));
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
                return attack_blocked("killed with SIGSYS");
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
                return attack_moot("this kernel has no 32-bit system calls");
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return attack_succeeded("a 32-bit getpid answered");
        return attack_broken("unforeseen wait status %#x", (unsigned)status);
#else
        return attack_moot("does not apply to this processor");
#endif
}
