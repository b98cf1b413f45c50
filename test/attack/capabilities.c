#include "attack.h"

/* The bounding set counts: what is in it, a setuid program could give back. */
ATTACK(capabilities, WALL_USER, "have a capability in any set")
{
        char line[256], set[16];
        unsigned long long bits;
        int sets = 0;
        enum attack_outcome outcome = ATTACK_BLOCKED;

        FILE *status = fopen("/proc/self/status", "re");
        if (!status)
                return attack_broken("/proc/self/status: %s", strerror(errno));
        while (fgets(line, sizeof line, status)) {
                if (sscanf(line, "Cap%15[^:]: %llx", set, &bits) != 2)
                        continue;
                sets++;
                if (bits != 0)
                        outcome = attack_succeeded("Cap%s is %016llx", set, bits);
        }
        fclose(status);
        if (sets < 4)
                return attack_broken("/proc/self/status shows %d capability sets", sets);
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("all %d sets are empty", sets);
        return outcome;
}
