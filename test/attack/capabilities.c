#include "attack.h"

#define SIX 0xdbu /* CHOWN, DAC_OVERRIDE, FOWNER, FSETID, SETGID, SETUID: those of several users */

/* The bounding set counts: what is in it, a setuid program could give back. */
ATTACK(capabilities, WALL_USER, "have a capability in any set, or with several users a seventh")
{
        const unsigned long long allowed = victim->users > 0 ? SIX : 0;
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
                if (bits & ~allowed)
                        outcome = attack_succeeded("Cap%s is %016llx", set, bits);
        }
        fclose(status);
        if (sets < 4)
                return attack_broken("/proc/self/status shows %d capability sets", sets);
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("all %d sets are empty, or have no more than these six", sets);
        return outcome;
}
