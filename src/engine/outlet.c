#include "engine/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "egress/policy/policy.h"
#include "keeper/spawn/egress_process.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "sys/rights.h"

/* Limits against obvious misuse only, because the process serves one sandbox. */
#define CONNECTIONS_MAX 1024
#define BYTES_MAX (UINT64_C(1) << 40)
#define IDLE_MS 300000

#define COUNT_PATIENCE_US 1000000
#define THE_SANDBOX 1 /* the only sandbox */

struct outlet {
        struct egress_process process;
        struct egress_attach *policy;
        size_t policy_len;
        uint32_t number; /* number of the last request for counters */
        bool answered;
        struct egress_counted counted;
        void (*on_report)(void *context, const struct violation *violation);
        void *context;
};

static int check_list(enum policy_list list, const char *name, const char *const *patterns, size_t *bytes,
                      struct cella_err *err)
{
        size_t n = 0;
        for (; patterns && patterns[n]; n++) {
                const char *why = policy_check_pattern(list, patterns[n]);
                if (why)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s cannot be '%.60s': %.120s",
                                       name, patterns[n], why);
                *bytes += strlen(patterns[n]) + 1;
        }
        return n > EGRESS_PATTERNS_MAX ? err_say(err, CELLA_INVALID_REQUEST, -E2BIG,
                                                 "%s has more than %u patterns", name, EGRESS_PATTERNS_MAX)
                                       : 0;
}

static int outlet_check_options(const struct cella_network *n, size_t *bytes, struct cella_err *err)
{
        int r;
        if ((unsigned)n->tier > CELLA_ELEVATED)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "there is no such network tier");
        if ((r = check_list(POLICY_ALLOWED, "allowed", n->allowed, bytes, err)) < 0 ||
            (r = check_list(POLICY_BLOCKED, "blocked", n->blocked, bytes, err)) < 0 ||
            (r = check_list(POLICY_PRIVATE, "allowed_private", n->allowed_private, bytes, err)) < 0)
                return r;
        if (n->allowed && n->allowed[0] && n->tier != CELLA_STANDARD)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "a list of what is allowed is for tier standard");
        return *bytes > EGRESS_TEXT_MAX
                       ? err_say(err, CELLA_INVALID_REQUEST, -E2BIG,
                                 "the lists of the network have more than %u bytes", EGRESS_TEXT_MAX)
                       : 0;
}

static char *outlet_put_list(char *to, const char *const *patterns, uint32_t *ret_n)
{
        for (*ret_n = 0; patterns && patterns[*ret_n]; ++*ret_n)
                to = stpcpy(to, patterns[*ret_n]) + 1;
        return to;
}

/* Builds the message with the policy, which is sent when the sandbox is ready. */
static int make_policy(struct outlet *o, const struct cella_network *n, struct cella_err *err)
{
        size_t bytes = 0;
        int r = outlet_check_options(n, &bytes, err);
        if (r < 0)
                return r;
        struct egress_attach *a = o->policy = calloc(1, sizeof *a + bytes);
        if (!a)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "network");
        o->policy_len = sizeof *a + bytes;
        *a = (struct egress_attach){
                .type = EGRESS_ATTACH,
                .tier = n->tier == CELLA_ELEVATED ? EGRESS_ELEVATED : EGRESS_STANDARD,
                .sandbox = THE_SANDBOX,
                .connections_max = CONNECTIONS_MAX,
                .idle_ms = IDLE_MS,
                .bytes_max = BYTES_MAX,
        };
        char *at = outlet_put_list((char *)(a + 1), n->allowed, &a->n_allowed[0]);
        if (n->tier == CELLA_ELEVATED)
                a->n_allowed[0] = EGRESS_ANY;
        a->n_allowed[1] = EGRESS_ANY;
        at = outlet_put_list(at, n->blocked, &a->n_blocked);
        outlet_put_list(at, n->allowed_private, &a->n_private);
        return 0;
}

int outlet_new(const struct cella_network *network, struct outlet **ret, struct cella_err *err)
{
        AUTO(outlet_free) struct outlet *o = calloc(1, sizeof *o);
        if (!o)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "network");
        o->process = EGRESS_PROCESS_NONE;
        int r = make_policy(o, network, err);
        if (r == 0)
                r = egress_process_start(&o->process, err);
        if (r < 0)
                return r;
        *ret = TAKE(o);
        return 0;
}

void outlet_end(struct outlet *o)
{
        if (o)
                child_kill(&o->process.child);
}

struct outlet *outlet_free(struct outlet *o)
{
        if (!o)
                return NULL;
        egress_process_end(&o->process);
        free(o->policy);
        free(o);
        return NULL;
}

/* The process reads its socket at once, so a full socket means that it is faulty. */
static int outlet_post(struct outlet *o, const void *data, size_t len, const int *fds, unsigned n_fds)
{
        long n = sys_rights_send(o->process.socket, data, len, fds, n_fds, MSG_DONTWAIT);
        return n < 0 ? (int)n : 0;
}

static int post_about(struct outlet *o, enum egress_request type, uint32_t number)
{
        const struct egress_about about = {.type = type, .number = number, .sandbox = THE_SANDBOX};
        return outlet_post(o, &about, sizeof about, NULL, 0);
}

int outlet_attach(struct outlet *o, const int way_out[2], struct cella_err *err)
{
        int r = child_confirm(&o->process.child, "the egress process", err);
        if (r < 0)
                return r;
        char *config = malloc(EGRESS_CONFIG_BYTES);
        if (!config)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "network");
        r = outlet_post(o, config, egress_config_fill(config), NULL, 0);
        free(config);
        if (r == 0)
                r = outlet_post(o, o->policy, o->policy_len, way_out, 2);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot talk to the egress process") : 0;
}

void outlet_begin(struct outlet *o, void (*on_report)(void *context, const struct violation *violation),
                  void *context)
{
        o->on_report = on_report;
        o->context = context;
        post_about(o, EGRESS_BEGIN, 0); /* an error is reported when its end is read */
}

int outlet_fd(const struct outlet *o)
{
        return o->process.socket;
}

/* From now on the code has no network: its listeners were closed with the process. */
static void outlet_lose(struct outlet *o, const char *why)
{
        struct violation v;
        violation_set(&v, VIOLATION_NETWORK, "network", sizeof "network", why, strlen(why));
        sys_close(TAKE_FD(o->process.socket));
        o->on_report(o->context, &v);
}

static bool take_packet(struct outlet *o, const char *data, size_t len)
{
        struct egress_about about;
        struct egress_refused refused;
        struct violation v;
        if (len < sizeof about)
                return false;
        memcpy(&about, data, sizeof about);
        if (about.type == EGRESS_COUNTED && len == sizeof o->counted) {
                memcpy(&o->counted, data, sizeof o->counted);
                o->answered = o->counted.number == o->number;
                return true;
        }
        if (about.type == EGRESS_REFUSED && len == sizeof refused) {
                memcpy(&refused, data, sizeof refused);
                violation_set(&v, refused.limit ? VIOLATION_LIMIT : VIOLATION_NETWORK, refused.target,
                              sizeof refused.target, refused.detail, sizeof refused.detail);
                o->on_report(o->context, &v);
                return true;
        }
        return false; /* also EGRESS_FAILED: there is no other sandbox */
}

void outlet_receive(struct outlet *o)
{
        char data[sizeof(struct egress_refused) + 1];
        while (o->process.socket >= 0) {
                long n = sys_call6(SYS_recvfrom, o->process.socket, (long)data, sizeof data, MSG_DONTWAIT, 0,
                                   0);
                if (n == -EAGAIN || n == -EINTR)
                        return;
                if (n <= 0)
                        outlet_lose(o, "closed: the egress process has ended");
                else if (!take_packet(o, data, (size_t)n))
                        outlet_lose(o, "closed: the egress process cannot serve it");
        }
}

bool outlet_count(struct outlet *o, struct cella_network_usage *ret)
{
        const int64_t until = clock_us() + COUNT_PATIENCE_US;
        o->answered = false;
        if (o->process.socket >= 0)
                post_about(o, EGRESS_COUNT, ++o->number);
        while (!o->answered && o->process.socket >= 0) {
                struct pollfd fd = {o->process.socket, POLLIN, 0};
                int64_t left = until - clock_us();
                if (left <= 0 || sys_poll(&fd, 1, left) == 0)
                        return false;
                outlet_receive(o);
        }
        if (!o->answered)
                return false;
        *ret = (struct cella_network_usage){
                .connections = o->counted.connections,
                .refused = o->counted.refused,
                .bytes_sent = o->counted.bytes_sent,
                .bytes_received = o->counted.bytes_received,
                .lookups = o->counted.lookups,
        };
        return true;
}

/* Returns the number of bytes read, in whole lines; 0 if the file cannot be read. */
static size_t read_lines(const char *path, char *to, size_t size)
{
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
        size_t len = 0;
        ssize_t n;
        while (fd >= 0 && len < size && (n = sys_read(fd, to + len, size - len)) > 0)
                len += (size_t)n;
        if (len < size)
                return len;
        const char *end = memrchr(to, '\n', len);
        return end ? (size_t)(end - to) + 1 : 0;
}

size_t egress_config_fill(char packet[EGRESS_CONFIG_BYTES])
{
        char *text = packet + sizeof(struct egress_config);
        size_t resolv = read_lines("/etc/resolv.conf", text, EGRESS_CONFIG_MAX / 2);
        size_t hosts = read_lines("/etc/hosts", text + resolv, EGRESS_CONFIG_MAX - resolv);
        const struct egress_config head = {
                .type = EGRESS_CONFIG, .resolv_length = (uint32_t)resolv, .hosts_length = (uint32_t)hosts};
        memcpy(packet, &head, sizeof head);
        return sizeof head + resolv + hosts;
}
