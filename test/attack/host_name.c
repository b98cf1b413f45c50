#include "attack.h"

#include <sys/utsname.h>

ATTACK(host_name, WALL_UTS, "learn the host's name")
{
        struct utsname name;

        if (!victim->host_name)
                return attack_broken("needs host_name");
        if (uname(&name) < 0)
                return attack_broken("uname: %s", strerror(errno));
        if (strcmp(name.nodename, victim->host_name) == 0)
                return attack_succeeded("the host is called %s", name.nodename);
        return attack_blocked("this is called %s", name.nodename);
}
