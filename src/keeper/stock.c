#include "keeper/stock.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "wire/init.h"
#include "wire/message.h"

#define VIEW_US VIEWS_US        /* the host may have changed since: ldconfig makes a new file */
#define VIEW_PATIENCE_US 100000 /* with who was to leave one */
#define NETNS_US 3000000        /* what nobody needed for so long goes */
#define DESCRIPTORS_EACH 64     /* a group has twenty at most, and most are for sandboxes that live */

static void drop_view(struct stock *s)
{
        sys_close(TAKE_FD(s->view));
}

/* Half a message must not hold us. */
static int open_left(struct stock *s)
{
        const struct timeval patience = {.tv_usec = 1000};
        int r = message_pair(s->left);
        if (r < 0) {
                s->left[0] = s->left[1] = -1;
                return r;
        }
        return (int)sys_call5(SYS_setsockopt, s->left[0], SOL_SOCKET, SO_RCVTIMEO, &patience,
                              sizeof patience);
}

static void close_left(struct stock *s)
{
        sys_close(TAKE_FD(s->left[0]));
        sys_close(TAKE_FD(s->left[1]));
}

void stock_init(struct stock *s, bool privileged, uint64_t files_max)
{
        const uint64_t share = files_max / DESCRIPTORS_EACH;
        s->makes = privileged;
        s->groups_max = share < STOCK_GROUPS ? (unsigned)share : STOCK_GROUPS;
        s->netns_max = share < STOCK_AHEAD   ? STOCK_AHEAD
                       : share < STOCK_NETNS ? (unsigned)share
                                             : STOCK_NETNS;
        if (s->groups_max <= STOCK_RESTING)
                s->groups_max = 0;
        s->view = s->left[0] = s->left[1] = -1;
        s->views_due = INT64_MAX;
        /* To go into a mount namespace takes the right to change one's root. */
        if (privileged && sys_prctl(PR_CAPBSET_READ, CAP_SYS_CHROOT, 0) == 1 && open_left(s) < 0)
                close_left(s);
}

void stock_done(struct stock *s)
{
        drop_view(s);
        close_left(s);
        while (s->n_netns > 0)
                netns_let_go(&s->netns[--s->n_netns]);
        for (; s->n_groups > 0; s->n_groups--) {
                struct stock_groups *groups = &s->groups[s->first_group++ % STOCK_GROUPS];
                cgroup_free(groups->cgroup);
                sys_close(groups->user);
                views_free(groups->view);
        }
}

bool stock_wants(const struct stock *s)
{
        return s->makes && s->n_netns < STOCK_AHEAD;
}

void stock_make(struct stock *s)
{
        struct netns_visit visit;
        struct netns_kept made = NETNS_NONE;
        made.fd = netns_visit(&visit) < 0 ? -1 : sys_dup_above(visit.fd, 3);
        int r = netns_leave(&visit);
        if (r < 0 || made.fd < 0) {
                netns_let_go(&made);
                s->makes = false; /* the next sandbox says why */
                return;
        }
        if (s->fresh.len == 0 && netns_record(&made, &s->fresh) < 0)
                s->fresh.len = 0; /* none is used twice then */
        s->netns[s->n_netns++] = made;
}

void stock_hear(struct stock *s)
{
        struct message message;
        uint32_t not_in_proc;
        /* Without a descriptor left there is none for it either: then it has gone, and the next one leaves
         * another. */
        if (message_receive(s->left[0], &message, &not_in_proc, sizeof not_in_proc) <= 0)
                return;
        if (message.type == INIT_VIEW && message.n_fds == 1 && message.tag == s->view_tag &&
            message.len == sizeof not_in_proc) {
                drop_view(s);
                s->not_in_proc = not_in_proc;
                s->view = TAKE_FD(message.fds[0]);
                s->view_built = s->view_asked;
                message.n_fds = 0;
        }
        message_close_fds(&message);
}

static bool is_fresh(const struct stock *s, int64_t now)
{
        return s->view >= 0 && now - s->view_built < VIEW_US;
}

int64_t stock_due(const struct stock *s)
{
        const int64_t view = s->view >= 0 ? s->view_built + VIEW_US : INT64_MAX;
        const int64_t netns = s->n_netns > STOCK_AHEAD ? s->netns_seen + NETNS_US : INT64_MAX;
        const int64_t first = view < netns ? view : netns;
        return first < s->views_due ? first : s->views_due;
}

/* A few at a time: each takes the kernel some while, see views_serves(). */
static void tidy_views(struct stock *s, int64_t now)
{
        int few = 4;
        if (now < s->views_due)
                return;
        s->views_due = INT64_MAX;
        for (unsigned i = 0; i < s->n_groups; i++) {
                struct view_kept **view = &s->groups[(s->first_group + i) % STOCK_GROUPS].view;
                if (*view && views_due(*view) <= now && few-- > 0)
                        *view = views_free(*view);
                if (*view && views_due(*view) < s->views_due)
                        s->views_due = views_due(*view);
        }
}

static void tidy_netns(struct stock *s, int64_t now)
{
        if (now - s->netns_seen < NETNS_US)
                return;
        for (; s->least_netns > STOCK_AHEAD; s->least_netns--)
                netns_let_go(&s->netns[--s->n_netns]);
        s->least_netns = s->n_netns;
        s->netns_seen = now;
}

void stock_tidy(struct stock *s, int64_t now)
{
        if (!is_fresh(s, now))
                drop_view(s);
        tidy_netns(s, now);
        tidy_views(s, now);
}

enum jail_view stock_view(struct stock *s, int *ret_fd)
{
        const int64_t now = clock_us();
        *ret_fd = -1;
        if (s->left[0] < 0)
                return JAIL_VIEW_OWN;
        if (is_fresh(s, now)) {
                *ret_fd = s->view;
                return JAIL_VIEW_TAKES;
        }
        drop_view(s);
        if (now - s->view_asked < VIEW_PATIENCE_US)
                return JAIL_VIEW_OWN;
        s->view_asked = now;
        s->view_tag++; /* one that comes later than the next was asked for is too old */
        *ret_fd = s->left[1];
        return JAIL_VIEW_LEAVES;
}

struct netns_kept stock_take_netns(struct stock *s)
{
        if (s->n_netns == 0)
                return NETNS_NONE;
        if (--s->n_netns < s->least_netns)
                s->least_netns = s->n_netns;
        return s->netns[s->n_netns];
}

/* One in which nothing was sent is as good as new: its processes are dead, and none of them ever had a right
 * over it. */
void stock_add_netns(struct stock *s, struct netns_kept *netns)
{
        if (netns->fd >= 0 && s->n_netns < s->netns_max && netns_is_as_new(netns, &s->fresh))
                s->netns[s->n_netns++] = netns_take(netns);
}

/* With other limits than the last sandbox's they are of no use as long as those are asked for: one such goes
 * for each that is made. */
struct stock_groups stock_take_groups(struct stock *s, const struct cella_limits *limits,
                                      struct cgroup **ret_useless)
{
        const struct stock_groups none = {.user = -1};
        *ret_useless = NULL;
        if (s->n_groups <= STOCK_RESTING)
                return none;
        struct stock_groups groups = s->groups[s->first_group];
        s->first_group = (s->first_group + 1) % STOCK_GROUPS;
        s->n_groups--;
        if (cgroup_renew(groups.cgroup, limits))
                return groups;
        *ret_useless = groups.cgroup;
        sys_close(groups.user);
        views_free(groups.view);
        return none;
}

int stock_add_groups(struct stock *s, struct cgroup **cgroup, int *user, struct view_kept **view,
                     const struct jail_spec *spec)
{
        bool lost = false;
        if (!*cgroup || s->n_groups >= s->groups_max)
                return 0;
        cgroup_unthrottle(*cgroup);
        if (!cgroup_may_serve_again(*cgroup))
                return 0;
        if (!*view && spec && *user >= 0 && is_fresh(s, clock_us()))
                *view = views_make(&s->views, s->view, s->view_built, spec, &lost);
        if (*view && views_due(*view) < s->views_due)
                s->views_due = views_due(*view);
        s->groups[(s->first_group + s->n_groups++) % STOCK_GROUPS] =
                (struct stock_groups){TAKE(*cgroup), TAKE_FD(*user), TAKE(*view)};
        return lost ? -ENOTRECOVERABLE : 0;
}
