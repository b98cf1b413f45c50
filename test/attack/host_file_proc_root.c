#include "attack.h"

#include <ctype.h>

/* /proc/PID/root and cwd lead to wherever that process stands.  Of other processes the
 * kernel may refuse them (EACCES); of ourselves it never does. */
static enum attack_outcome try_process(const char *pid, const char *what, const struct attack_victim *victim)
{
        char path[1024];
        bool self = strcmp(pid, "self") == 0;

        snprintf(path, sizeof path, "/proc/%s/%s/%s%s", pid, what,
                 strcmp(what, "cwd") == 0 ? "../../../../../../../.." : "", victim->host_file);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
                return attack_steal(fd, victim);
        if (errno == ENOENT || (!self && (errno == EACCES || errno == EPERM)))
                return ATTACK_BLOCKED;
        return attack_broken("%s: unforeseen: %s", path, strerror(errno));
}

ATTACK(host_file_proc_root, WALL_MOUNT, "read a host file through /proc/*/root and /proc/*/cwd")
{
        enum attack_outcome outcome;
        struct dirent *entry;
        int tried = 1;

        if (!victim->host_file)
                return attack_broken("needs host_file");
        outcome = try_process("self", "root", victim);
        outcome = attack_worse(outcome, try_process("self", "cwd", victim));

        DIR *proc = opendir("/proc");
        if (!proc)
                return attack_broken("/proc: %s", strerror(errno));
        while ((entry = readdir(proc))) {
                if (!isdigit((unsigned char)entry->d_name[0]))
                        continue;
                outcome = attack_worse(outcome, try_process(entry->d_name, "root", victim));
                outcome = attack_worse(outcome, try_process(entry->d_name, "cwd", victim));
                tried++;
        }
        closedir(proc);
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("out of view from the root of %d processes", tried);
        return outcome;
}
