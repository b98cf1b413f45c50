#include "attack.h"

#include <ctype.h>

/* The victim's command line starts with "cella-victim-" and the nonce. */
static bool is_victim(const char *pid, const char *nonce)
{
        char path[64], text[128] = "", mark[96];

        snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        ssize_t n = read(fd, text, sizeof text - 1);
        close(fd);
        snprintf(mark, sizeof mark, "cella-victim-%.64s", nonce);
        return n > 0 && strncmp(text, mark, strlen(mark)) == 0;
}

ATTACK(see_processes, WALL_PID, "see the host's processes")
{
        struct dirent *entry;
        bool seen = false;
        int processes = 0;

        if (victim->pid <= 0)
                return attack_broken("needs pid");
        DIR *proc = opendir("/proc");
        if (!proc)
                return attack_broken("/proc: %s", strerror(errno));
        while ((entry = readdir(proc))) {
                if (!isdigit((unsigned char)entry->d_name[0]))
                        continue;
                processes++;
                seen |= is_victim(entry->d_name, victim->nonce);
        }
        closedir(proc);

        /* Asks no permission, and needs no /proc. */
        pid_t group = getpgid((pid_t)victim->pid);
        if (seen || group >= 0)
                return attack_succeeded("process %ld of the host is %s", victim->pid,
                                        seen ? "in /proc" : "known by its number");
        if (errno != ESRCH)
                return attack_broken("getpgid: unforeseen: %s", strerror(errno));
        if (processes == 0)
                return attack_broken("/proc shows no process at all");
        return attack_blocked("%d processes in view, none of them the host's", processes);
}
