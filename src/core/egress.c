#include "core/egress.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "engine/link/egress_link.h"
#include "engine/outlet.h"
#include "sys/file.h"
#include "sys/socket.h"

#define WAITING_ENOUGH (1024u * 1024) /* bytes in the queue above which updates are postponed */
#define PATIENCE_US INT64_C(1000000)  /* to wait for counters */
#define RESTART_US INT64_C(10000000)  /* time for the keeper to restart the process */

/* An expected answer with counters. */
struct due {
        struct due *next;
        uint32_t number;
        int64_t until_us;
        struct sandbox_egress *sandbox;   /* NULL: the sandbox is gone */
        struct cella_network_usage total; /* its total, if it is gone */
        bool begins;                      /* counters before an EGRESS_BEGIN */
        struct observer *observer;        /* otherwise: the observer that has ended; NULL: it was freed */
};

/* The state of a file when it was sent. */
struct file {
        const char *path;
        struct timespec modified;
        dev_t device;
        ino_t inode;
        off_t size;
};

struct egress {
        struct core *core;
        struct egress_link *link; /* NULL: there is no egress process */
        int64_t lost_us;          /* time of its loss */
        uint64_t sandbox;         /* last assigned number */
        uint32_t number;
        struct due *due, **due_last; /* answers come in order */
        uv_timer_t patience;
        struct file files[2]; /* resolv.conf, hosts */
        struct list attached; /* struct sandbox_egress: those with descriptors */
};

/* ---- expected counters ---- */

static void core_egress_add(struct cella_network_usage *to, const struct cella_network_usage *what,
                            uint64_t sign)
{
        to->connections += sign * what->connections;
        to->refused += sign * what->refused;
        to->bytes_sent += sign * what->bytes_sent;
        to->bytes_received += sign * what->bytes_received;
        to->lookups += sign * what->lookups;
}

/* Adds the counters before a reset to the total; observers that began at this reset start from it. */
static void close_count(struct sandbox_egress *s, uint32_t number, const struct cella_network_usage *usage)
{
        if (usage)
                core_egress_add(&s->total, usage, 1);
        list_each (at, s->observers, other) {
                struct observer *o = list_entry(at, struct observer, link);
                if (o->before_due != number)
                        continue;
                o->before = s->total;
                o->before_due = 0;
        }
}

static void end_count(struct observer *o, const struct cella_network_usage *total,
                      const struct cella_network_usage *usage)
{
        struct cella_network_usage *ret = &o->result->network;
        o->counting = false;
        o->result->network_known = usage != NULL;
        if (usage)
                *ret = *usage;
        if (usage && o->before_due == 0) { /* otherwise only what was counted since the last reset is known */
                core_egress_add(ret, total, 1);
                core_egress_add(ret, &o->before, (uint64_t)-1);
        }
        o->events->on_counted(o);
}

static void answer_first(struct egress *e, const struct cella_network_usage *usage)
{
        struct due *d = e->due;
        e->due = d->next;
        if (!e->due)
                e->due_last = &e->due;
        if (d->begins && d->sandbox)
                close_count(d->sandbox, d->number, usage);
        else if (d->observer)
                end_count(d->observer, d->sandbox ? &d->sandbox->total : &d->total, usage);
        free(d);
}

static void on_patience(uv_timer_t *timer);

static void arm(struct egress *e)
{
        if (!e->due) {
                uv_timer_stop(&e->patience);
                return;
        }
        int64_t left = e->due->until_us - clock_us();
        uv_update_time(e->core->loop); /* libuv's time is that of the last loop iteration */
        uv_timer_start(&e->patience, on_patience, left <= 0 ? 0 : (uint64_t)(left + 999) / 1000, 0);
}

static void on_patience(uv_timer_t *timer)
{
        struct egress *e = timer->data;
        while (e->due && e->due->until_us <= clock_us())
                answer_first(e, NULL);
        arm(e);
}

/* Earlier answers are missing: they timed out. */
static void core_egress_on_counted(struct egress *e, const struct egress_counted *c)
{
        const struct cella_network_usage usage = {.connections = c->connections,
                                                  .refused = c->refused,
                                                  .bytes_sent = c->bytes_sent,
                                                  .bytes_received = c->bytes_received,
                                                  .lookups = c->lookups};
        bool known = false;
        for (const struct due *d = e->due; d; d = d->next)
                known = known || d->number == c->number;
        while (known) {
                known = e->due->number != c->number;
                answer_first(e, known ? NULL : &usage);
        }
        arm(e);
}

/* ---- start and end of the egress process ---- */

static void core_egress_lose(struct egress *e)
{
        if (!e->link)
                return;
        e->link = egress_link_free(e->link);
        e->lost_us = clock_us();
        list_each (at, &e->attached, other) {
                struct sandbox_egress *s = list_entry(at, struct sandbox_egress, link);
                s->stale = s->number != 0;
        }
        /* Deferred to the next loop iteration: callers do not expect callbacks from here. */
        for (struct due *d = e->due; d; d = d->next)
                d->until_us = 0;
        arm(e);
}

static int core_egress_post(struct egress *e, const void *data, size_t len, const int *fds, unsigned n_fds)
{
        int r = e->link ? egress_link_send(e->link, data, len, fds, n_fds) : -ENOTCONN;
        if (r < 0 && r != -EMFILE)
                core_egress_lose(e); /* the next process may accept more */
        return r;
}

static int post_about(struct egress *e, enum egress_request type, uint32_t number, uint64_t sandbox)
{
        const struct egress_about about = {.type = type, .number = number, .sandbox = sandbox};
        return core_egress_post(e, &about, sizeof about, NULL, 0);
}

/* ---- name resolution ---- */

static bool has_changed(struct file *f)
{
        struct stat st;
        if (stat(f->path, &st) < 0)
                st = (struct stat){0};
        const bool same = st.st_dev == f->device && st.st_ino == f->inode && st.st_size == f->size &&
                          st.st_mtim.tv_sec == f->modified.tv_sec &&
                          st.st_mtim.tv_nsec == f->modified.tv_nsec;
        f->device = st.st_dev;
        f->inode = st.st_ino;
        f->size = st.st_size;
        f->modified = st.st_mtim;
        return !same;
}

static void send_config(struct egress *e)
{
        static char packet[EGRESS_CONFIG_BYTES];
        core_egress_post(e, packet, egress_config_fill(packet), NULL, 0);
}

static void check_config(struct egress *e, bool anyway)
{
        const bool changed[] = {has_changed(&e->files[0]), has_changed(&e->files[1])};
        if (anyway || changed[0] || changed[1])
                send_config(e);
}

/* ---- sandboxes ---- */

static void core_egress_release(struct sandbox_egress *s)
{
        for (struct due *d = s->egress->due; d; d = d->next)
                if (d->sandbox == s) {
                        d->total = s->total;
                        d->sandbox = NULL;
                }
        list_remove(&s->link);
        sys_close(s->tcp);
        sys_close(s->udp);
        sandbox_egress_init(s, s->egress, s->network, s->observers);
}

/* Closed sockets cause a reset, which is better than an endless wait. */
static void core_egress_give_up(struct sandbox_egress *s, int num)
{
        struct violation v = {.kind = VIOLATION_NETWORK, .target = "network"};
        snprintf(v.detail, sizeof v.detail, "closed: it cannot be served (%s)", strerror(num));
        core_egress_release(s);
        violation_report(s->observers, &v);
}

static void send_policy(struct egress *e, struct sandbox_egress *s, enum egress_request type)
{
        struct egress_attach *message = NULL;
        const int fds[] = {s->tcp, s->udp};
        size_t len = 0;
        int r = network_message(&e->core->settings, s->network, type, s->number, &message, &len);
        if (r == 0)
                r = core_egress_post(e, message, len, fds, type == EGRESS_ATTACH ? 2 : 0);
        free(message);
        if (r == 0) {
                s->stale = s->changed = false;
        } else if (e->link) { /* otherwise the next process gets it */
                post_about(e, EGRESS_DETACH, 0, s->number);
                core_egress_give_up(s, -r);
        }
}

/* Sends the policy if the egress process does not have it yet. */
static void update(struct egress *e, struct sandbox_egress *s)
{
        if (!e->link || s->number == 0)
                return;
        if (s->stale) {
                s->begun = !list_empty(s->observers);
                send_policy(e, s, EGRESS_ATTACH);
        } else if (s->changed) {
                send_policy(e, s, EGRESS_CHANGE);
        }
}

/* Updates all sandboxes until the queue is long; core_egress_on_room() continues. */
static void update_all(struct egress *e)
{
        list_each (at, &e->attached, other)
                if (e->link && egress_link_waiting(e->link) < WAITING_ENOUGH)
                        update(e, list_entry(at, struct sandbox_egress, link));
}

void sandbox_egress_init(struct sandbox_egress *s, struct egress *e, const struct network *network,
                         struct list *observers)
{
        *s = (struct sandbox_egress){
                .egress = e, .network = network, .observers = observers, .tcp = -1, .udp = -1};
        list_init(&s->link);
}

void egress_keep(struct sandbox_egress *s, int tcp, int udp)
{
        core_egress_release(s);
        s->tcp = tcp;
        s->udp = udp;
        list_add(&s->egress->attached, &s->link);
}

void egress_attach(struct sandbox_egress *s)
{
        struct egress *e = s->egress;
        if (s->tcp < 0)
                return;
        s->number = ++e->sandbox;
        s->stale = true;
        if (e->link)
                check_config(e, false);
        update(e, s);
}

void egress_detach(struct sandbox_egress *s)
{
        struct egress *e = s->egress;
        if (s->tcp < 0)
                return;
        if (s->number && !s->stale)
                post_about(e, EGRESS_DETACH, 0, s->number);
        core_egress_release(s);
}

void egress_configure(struct core *core)
{
        list_each (at, &core->egress->attached, other)
                list_entry(at, struct sandbox_egress, link)->changed = true;
        update_all(core->egress);
}

static struct sandbox_egress *core_egress_find(const struct egress *e, uint64_t number)
{
        list_each (at, &e->attached, other) {
                struct sandbox_egress *s = list_entry(at, struct sandbox_egress, link);
                if (s->number == number && number != 0)
                        return s;
        }
        return NULL;
}

/* ---- counters of an execution ---- */

static struct due *core_egress_ask(struct egress *e, struct sandbox_egress *s)
{
        struct due *d = calloc(1, sizeof *d);
        if (!d)
                return NULL;
        if (++e->number == 0)
                e->number = 1;
        *d = (struct due){.number = e->number, .until_us = clock_us() + PATIENCE_US, .sandbox = s};
        if (post_about(e, EGRESS_COUNT, d->number, s->number) < 0) {
                free(d);
                return NULL;
        }
        *e->due_last = d;
        e->due_last = &d->next;
        if (e->due == d)
                arm(e);
        return d;
}

/* The first execution of a newly attached sandbox starts at zero.  For others the counters are reset; if
 * other executions are active, the counters are read before. */
void egress_begin(struct sandbox_egress *s, struct observer *o)
{
        struct egress *e = s->egress;
        o->before = s->total;
        if (s->number == 0)
                return;
        if (e->link)
                check_config(e, false);
        update(e, s);
        if (s->begun && e->link) {
                const bool alone = s->observers->next == &o->link && s->observers->previous == &o->link;
                struct due *d = alone ? NULL : core_egress_ask(e, s);
                if (d) {
                        d->begins = true;
                        o->before_due = d->number;
                }
                post_about(e, EGRESS_BEGIN, 0, s->number);
        }
        s->begun = true;
}

/* Whether nothing was ever sent, so that no request for counters is needed (wire/egress.h).  Most executions
 * with a network do not use it, and an answer takes longer than many of them.  The order of the checks
 * matters. */
static bool is_unused(const struct sandbox_egress *s)
{
        struct pollfd waiting[] = {{.fd = s->tcp, .events = POLLIN}, {.fd = s->udp, .events = POLLIN}};
        int mark = EGRESS_USED;
        return poll(waiting, 2, 0) == 0 && sys_get_option(s->tcp, SOL_SOCKET, SO_PRIORITY, &mark) == 0 &&
               mark != EGRESS_USED;
}

void egress_end(struct sandbox_egress *s, struct observer *o)
{
        struct egress *e = s->egress;
        o->result->has_network = s->network->tier != TIER_RESTRICTED;
        if (!e->link || s->number == 0)
                return;
        if (is_unused(s)) {
                o->result->network_known = true;
                return;
        }
        update(e, s);
        struct due *d = core_egress_ask(e, s);
        if (!d)
                return;
        d->observer = o;
        o->counting = true;
}

void egress_forget(struct observer *o)
{
        for (struct due *d = o->core->egress->due; d && o->counting; d = d->next)
                if (d->observer == o)
                        d->observer = NULL;
        o->counting = false;
}

/* ---- messages of the egress process ---- */

static void on_packet(void *userdata, const union egress_packet *packet)
{
        struct egress *e = userdata;
        struct sandbox_egress *s;
        struct violation v;
        switch (packet->type) {
        case EGRESS_COUNTED:
                core_egress_on_counted(e, &packet->counted);
                break;
        case EGRESS_REFUSED:
                violation_set(&v, packet->refused.limit ? VIOLATION_LIMIT : VIOLATION_NETWORK,
                              packet->refused.target, sizeof packet->refused.target, packet->refused.detail,
                              sizeof packet->refused.detail);
                if ((s = core_egress_find(e, packet->refused.sandbox)))
                        violation_report(s->observers, &v);
                break;
        case EGRESS_FAILED:
                if ((s = core_egress_find(e, packet->about.sandbox)))
                        core_egress_give_up(s, packet->about.number < 4096 ? (int)packet->about.number : EIO);
                break;
        default:
                break;
        }
}

static void core_egress_on_room(void *userdata)
{
        update_all(userdata);
}

static void core_egress_on_lost(void *userdata)
{
        core_egress_lose(userdata);
}

static const struct egress_link_events link_events = {on_packet, core_egress_on_room, core_egress_on_lost};

void egress_connect(struct core *core, int fd)
{
        struct egress *e = core->egress;
        struct cella_err err = {0};
        core_egress_lose(e); /* a new process means that the old one has died */
        if (fd < 0 || egress_link_new(core->loop, fd, &link_events, e, &e->link, &err) < 0)
                return;
        check_config(e, true);
        update_all(e);
}

bool egress_is_connected(const struct core *core)
{
        return core->egress->link != NULL;
}

int egress_check(const struct core *core, struct cella_err *err)
{
        if (core->egress->link || clock_us() - core->egress->lost_us < RESTART_US)
                return 0;
        err_say(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTCONN, "egress: the egress process does not run");
        return err_hint(err, "the daemon's log says why; tier restricted needs none");
}

int egress_new(struct core *core, struct egress **ret, struct cella_err *err)
{
        struct egress *e = calloc(1, sizeof *e);
        if (!e)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "egress");
        e->core = core;
        e->due_last = &e->due;
        list_init(&e->attached);
        e->lost_us = INT64_MIN / 2; /* the keeper sends the first one before anything else, if possible */
        e->files[0].path = "/etc/resolv.conf";
        e->files[1].path = "/etc/hosts";
        uv_timer_init(core->loop, &e->patience);
        e->patience.data = e;
        *ret = e;
        return 0;
}

static void core_egress_on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

struct egress *egress_free(struct egress *e)
{
        if (!e)
                return NULL;
        e->link = egress_link_free(e->link);
        while (e->due) {
                struct due *d = e->due;
                e->due = d->next;
                free(d);
        }
        uv_close((uv_handle_t *)&e->patience, core_egress_on_closed);
        return NULL;
}
