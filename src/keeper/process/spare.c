#include "keeper/process/spare.h"

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

#define VIEW_US                                                                                              \
        3000000 /* maximum age of a view that is copied: the host changes, for example ldconfig replaces a   \
                   file */
#define VIEW_OLD_US 2500000     /* after this age, the next sandbox builds a new view */
#define VIEW_PATIENCE_US 100000 /* time in which a sandbox is expected to hand over its view */
#define UNUSED_US 3000000       /* a spare namespace that was not needed for so long is removed */
/* A cgroup has at most 20 descriptors, its user namespace one, a network namespace 7.  Most descriptors are
 * kept for live sandboxes. */
#define DESCRIPTORS_EACH 60

static void drop_view(struct spare *s)
{
        sys_close(TAKE_FD(s->view));
}

/* The timeout prevents that an incomplete message blocks the keeper. */
static int open_left(struct spare *s)
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

static void close_left(struct spare *s)
{
        sys_close(TAKE_FD(s->left[0]));
        sys_close(TAKE_FD(s->left[1]));
}

void spare_init(struct spare *s, bool privileged, uint64_t files_max)
{
        const uint64_t share = files_max / DESCRIPTORS_EACH;
        s->makes = privileged;
        s->groups_max = share < SPARE_GROUPS ? (unsigned)share : SPARE_GROUPS;
        s->netns_count.max = share < SPARE_AHEAD   ? SPARE_AHEAD
                             : share < SPARE_NETNS ? (unsigned)share
                                                   : SPARE_NETNS;
        if (s->groups_max <= SPARE_RESTING)
                s->groups_max = 0;
        s->view = s->left[0] = s->left[1] = -1;
        /* setns() into a mount namespace needs CAP_SYS_CHROOT. */
        if (privileged && sys_prctl(PR_CAPBSET_READ, CAP_SYS_CHROOT, 0) == 1 && open_left(s) < 0)
                close_left(s);
}

void spare_done(struct spare *s)
{
        drop_view(s);
        close_left(s);
        while (s->netns_count.n > 0)
                netns_let_go(&s->netns[--s->netns_count.n]);
        for (; s->n_groups > 0; s->n_groups--) {
                struct spare_groups *groups = &s->groups[s->first_group++ % SPARE_GROUPS];
                cgroup_free(groups->cgroup);
                sys_close(groups->user);
        }
}

static bool has_room(const struct spare_count *count)
{
        return count->n < SPARE_AHEAD && count->n < count->max;
}

void spare_make_groups_in(struct spare *s, const struct cgroup_home *home)
{
        s->home = home;
        cella_limits_default(&s->limits);
}

static bool wants_netns(const struct spare *s)
{
        return s->makes && has_room(&s->netns_count);
}

static bool wants_groups(const struct spare *s)
{
        return s->home && s->n_groups < SPARE_GROUPS_AHEAD && s->n_groups < s->groups_max &&
               cgroup_can_keep();
}

bool spare_wants(const struct spare *s)
{
        return wants_netns(s) || wants_groups(s);
}

static void put_groups(struct spare *s, struct spare_groups groups)
{
        s->groups[(s->first_group + s->n_groups++) % SPARE_GROUPS] = groups;
}

static void make_groups(struct spare *s)
{
        struct spare_groups made = {.user = -1};
        struct cella_err err = {0};
        if (cgroup_new(s->home, &s->limits, false, &made.cgroup, &err) < 0) {
                s->home = NULL; /* making the next sandbox reports the error */
                return;
        }
        cgroup_rest(made.cgroup);
        put_groups(s, made);
        s->count.made++;
}

static void make_netns(struct spare *s)
{
        struct netns_visit visit;
        struct netns_kept made = NETNS_NONE;
        made.fd = netns_visit(&visit) < 0 ? -1 : sys_dup_above(visit.fd, 3);
        int r = netns_leave(&visit);
        if (r < 0 || made.fd < 0) {
                netns_let_go(&made);
                s->makes = false; /* making the next sandbox reports the error */
                return;
        }
        if (s->fresh.len == 0 && netns_record(&made, &s->fresh) < 0)
                s->fresh.len = 0; /* then no namespace is reused */
        s->netns[s->netns_count.n++] = made;
}

void spare_make(struct spare *s)
{
        if (wants_netns(s))
                make_netns(s);
        else if (wants_groups(s))
                make_groups(s);
}

void spare_hear(struct spare *s)
{
        struct message message;
        /* When the keeper has no free descriptor, the view is lost; the next sandbox builds another. */
        if (message_receive(s->left[0], &message, NULL, 0) <= 0)
                return;
        if (message.type == INIT_VIEW && message.n_fds == 1 && message.tag == s->view_tag) {
                drop_view(s);
                s->view = TAKE_FD(message.fds[0]);
                s->view_built = s->view_asked;
                message.n_fds = 0;
        }
        message_close_fds(&message);
}

static bool is_fresh(const struct spare *s, int64_t now)
{
        return s->view >= 0 && now - s->view_built < VIEW_US;
}

static int64_t count_due(const struct spare_count *count)
{
        return count->n > SPARE_AHEAD ? count->seen + UNUSED_US : INT64_MAX;
}

int64_t spare_due(const struct spare *s)
{
        int64_t due = s->view >= 0 ? s->view_built + VIEW_US : INT64_MAX;
        return count_due(&s->netns_count) < due ? count_due(&s->netns_count) : due;
}

/* Returns how many namespaces to keep. */
static unsigned count_needs(struct spare_count *count, int64_t now)
{
        if (now - count->seen < UNUSED_US)
                return count->n;
        const unsigned needed = count->n - (count->least > SPARE_AHEAD ? count->least - SPARE_AHEAD : 0);
        count->least = needed;
        count->seen = now;
        return needed;
}

void spare_tidy(struct spare *s, int64_t now)
{
        if (!is_fresh(s, now))
                drop_view(s);
        for (unsigned needed = count_needs(&s->netns_count, now); s->netns_count.n > needed;)
                netns_let_go(&s->netns[--s->netns_count.n]);
}

/* Whether the next sandbox should hand over its view: there is none, or it is almost too old. */
static bool wants_view(const struct spare *s, int64_t now)
{
        const bool is_old = s->view < 0 || now - s->view_built >= VIEW_OLD_US;
        return is_old && now - s->view_asked >= VIEW_PATIENCE_US;
}

enum jail_view spare_view(struct spare *s, int *ret_fd)
{
        const int64_t now = clock_us();
        *ret_fd = -1;
        if (s->left[0] < 0)
                return JAIL_VIEW_OWN;
        if (wants_view(s, now)) {
                s->view_asked = now;
                s->view_tag++; /* a view with an older tag is ignored */
                *ret_fd = s->left[1];
                return JAIL_VIEW_LEAVES;
        }
        if (!is_fresh(s, now))
                return JAIL_VIEW_OWN;
        *ret_fd = s->view;
        return JAIL_VIEW_TAKES;
}

/* Returns the slot of the namespace that is taken. */
static unsigned count_take(struct spare_count *count)
{
        if (--count->n < count->least)
                count->least = count->n;
        return count->n;
}

struct netns_kept spare_take_netns(struct spare *s)
{
        if (s->netns_count.n == 0)
                return NETNS_NONE;
        return s->netns[count_take(&s->netns_count)];
}

/* Only a namespace through which nothing was sent: its processes are dead, and none had a capability over
 * it. */
void spare_add_netns(struct spare *s, struct netns_kept *netns)
{
        if (netns->fd >= 0 && s->netns_count.n < s->netns_count.max && netns_is_as_new(netns, &s->fresh))
                s->netns[s->netns_count.n++] = netns_take(netns);
}

/* A group that cannot be used is returned in *ret_useless, so that one such group goes for each request. */
struct spare_groups spare_take_groups(struct spare *s, const struct cella_limits *limits,
                                      struct cgroup **ret_useless)
{
        const struct spare_groups none = {.user = -1};
        *ret_useless = NULL;
        s->limits = *limits;
        if (s->n_groups <= SPARE_RESTING)
                return none;
        struct spare_groups groups = s->groups[s->first_group];
        s->first_group = (s->first_group + 1) % SPARE_GROUPS;
        s->n_groups--;
        if (cgroup_renew(groups.cgroup, limits)) {
                s->count.reused += groups.served;
                return groups;
        }
        *ret_useless = groups.cgroup;
        sys_close(groups.user);
        return none;
}

void spare_add_groups(struct spare *s, struct cgroup **cgroup, int *user)
{
        if (!*cgroup || s->n_groups >= s->groups_max)
                return;
        cgroup_unthrottle(*cgroup);
        if (cgroup_may_serve_again(*cgroup))
                put_groups(s, (struct spare_groups){TAKE(*cgroup), TAKE_FD(*user), true});
}
