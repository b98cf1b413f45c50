#include "keeper/stock.h"

#include <sys/resource.h>

#include "base/auto.h"
#include "sys/file.h"

#define DESCRIPTORS_EACH 64 /* a group has eleven at most, and most are for sandboxes that live */

void stock_init(struct stock *s, bool privileged)
{
        struct rlimit files = {0};
        s->makes = privileged;
        getrlimit(RLIMIT_NOFILE, &files);
        s->groups_max = files.rlim_cur / DESCRIPTORS_EACH < STOCK_GROUPS
                                ? (unsigned)files.rlim_cur / DESCRIPTORS_EACH
                                : STOCK_GROUPS;
        if (s->groups_max <= STOCK_RESTING)
                s->groups_max = 0;
}

void stock_done(struct stock *s)
{
        while (s->n_netns > 0)
                sys_close(s->netns[--s->n_netns]);
        for (; s->n_groups > 0; s->n_groups--)
                cgroup_free(s->groups[s->first_group++ % STOCK_GROUPS]);
}

bool stock_wants(const struct stock *s)
{
        return s->makes && s->n_netns < STOCK_NETNS;
}

void stock_make(struct stock *s)
{
        struct netns_visit visit;
        int fd = netns_visit(&visit) < 0 ? -1 : sys_dup_above(visit.fd, 3);
        int r = netns_leave(&visit);
        if (r < 0 || fd < 0) {
                sys_close(fd);
                s->makes = false; /* the next sandbox says why */
                return;
        }
        if (s->fresh.len == 0 && netns_record(fd, &s->fresh) < 0)
                s->fresh.len = 0; /* none is used twice then */
        s->netns[s->n_netns++] = fd;
}

int stock_take_netns(struct stock *s)
{
        return s->n_netns > 0 ? s->netns[--s->n_netns] : -1;
}

/* One in which nothing was sent is as good as new: its processes are dead, and none of them ever had a right
 * over it. */
void stock_add_netns(struct stock *s, int *netns)
{
        if (*netns >= 0 && s->n_netns < STOCK_NETNS && netns_is_as_new(*netns, &s->fresh))
                s->netns[s->n_netns++] = TAKE_FD(*netns);
}

/* With other limits than the last sandbox's they are of no use as long as those are asked for: one such goes
 * for each that is made. */
struct cgroup *stock_take_groups(struct stock *s, const struct cella_limits *limits,
                                 struct cgroup **ret_useless)
{
        *ret_useless = NULL;
        if (s->n_groups <= STOCK_RESTING)
                return NULL;
        struct cgroup *groups = s->groups[s->first_group];
        s->first_group = (s->first_group + 1) % STOCK_GROUPS;
        s->n_groups--;
        if (cgroup_renew(groups, limits))
                return groups;
        *ret_useless = groups;
        return NULL;
}

void stock_add_groups(struct stock *s, struct cgroup **groups)
{
        if (!*groups || s->n_groups >= s->groups_max)
                return;
        cgroup_unthrottle(*groups);
        if (cgroup_may_serve_again(*groups))
                s->groups[(s->first_group + s->n_groups++) % STOCK_GROUPS] = TAKE(*groups);
}
