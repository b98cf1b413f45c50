/* The server's half of the network, against an egress process that is this test: what it is sent, whatever
 * comes and goes, and that nothing it says does harm. */
#include "core/egress.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "core/sandbox/sandbox.h"
#include "egress/policy/policy.h"
#include "test.h"

static uv_loop_t loop;
static struct core core;
static int theirs = -1; /* the egress process's end */

/* One packet as the egress process receives it. */
struct heard {
        union {
                uint32_t type;
                struct egress_about about;
                struct egress_attach attach;
                struct egress_config config;
                char bytes[sizeof(struct egress_attach) + EGRESS_TEXT_MAX];
        };
        size_t len;
        unsigned n_fds;
};
static struct heard heard;

static bool hear(void)
{
        char control[CMSG_SPACE(4 * sizeof(int))];
        struct iovec part = {heard.bytes, sizeof heard.bytes};
        struct msghdr msg = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        ssize_t n = recvmsg(theirs, &msg, MSG_DONTWAIT);
        heard.n_fds = 0;
        heard.len = n < 0 ? 0 : (size_t)n;
        for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
                for (heard.n_fds = 0; CMSG_LEN((heard.n_fds + 1) * sizeof(int)) <= c->cmsg_len;
                     heard.n_fds++) {
                        int fd;
                        memcpy(&fd, CMSG_DATA(c) + heard.n_fds * sizeof fd, sizeof fd);
                        close(fd);
                }
        return n > 0;
}

static bool hear_type(uint32_t type)
{
        return hear() && heard.type == type;
}

static void turn(void)
{
        for (int i = 0; i < 3; i++)
                uv_run(&loop, UV_RUN_NOWAIT);
}

static void connect_again(void)
{
        int pair[2];
        CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        if (theirs >= 0)
                close(theirs);
        theirs = pair[1];
        egress_connect(&core, pair[0]);
}

static void set_network(const char *text)
{
        struct cella_err err = {0};
        json_auto_t *asked = json_pack("{s:o}", "network", json_loads(text, 0, NULL));
        CHECK_INT(schema_check(settings_fields(), asked, "", &err), 0);
        json_t *document = schema_fill(settings_fields(), asked);
        settings_done(&core.settings);
        CHECK_INT(settings_from(document, &core.settings, &err), 0);
        CHECK_STR(err.msg, "");
}

static void begin(const char *network)
{
        struct cella_err err = {0};
        core = (struct core){.loop = &loop};
        uv_loop_init(&loop);
        list_init(&core.sandboxes);
        set_network(network);
        CHECK_INT(egress_new(&core, &core.egress, &err), 0);
}

static void end(void)
{
        core.egress = egress_free(core.egress);
        if (theirs >= 0)
                close(theirs);
        theirs = -1;
        turn();
        settings_done(&core.settings);
        CHECK_INT(uv_loop_close(&loop), 0);
}

static void make(struct core_sandbox *sb, enum tier tier)
{
        *sb = (struct core_sandbox){.core = &core, .network.tier = tier};
        list_init(&sb->observers);
        sandbox_egress_init(&sb->egress, core.egress, &sb->network, &sb->observers);
        list_init(&sb->link);
        list_add(&core.sandboxes, &sb->link);
        if (tier != TIER_RESTRICTED)
                egress_keep(&sb->egress, dup(0), dup(0));
}

static void unmake(struct core_sandbox *sb)
{
        egress_detach(&sb->egress);
        network_done(&sb->network);
        list_remove(&sb->link);
}

static unsigned violations, counted;

static void on_violation(struct observer *o, const struct violation *v)
{
        (void)o, (void)v;
        violations++;
}

static void on_counted(struct observer *o)
{
        (void)o;
        counted++;
}

static const struct observer_events events = {on_violation, on_counted};

struct run {
        struct observer observer;
        struct cella_result result;
};

static void run_begin(struct run *r, struct core_sandbox *sb)
{
        r->result = (struct cella_result){0};
        observer_init(&r->observer, &core, &events, &r->result);
        observer_watch(&r->observer, &sb->observers);
        egress_begin(&sb->egress, &r->observer);
}

static void run_end(struct run *r)
{
        observer_done(&r->observer);
        cella_result_done(&r->result);
}

static void say_counted(uint32_t number, uint64_t sandbox, uint64_t n)
{
        const struct egress_counted c = {.type = EGRESS_COUNTED,
                                         .number = number,
                                         .sandbox = sandbox,
                                         .connections = n,
                                         .refused = n,
                                         .bytes_sent = n,
                                         .bytes_received = n,
                                         .lookups = n};
        CHECK_INT(send(theirs, &c, sizeof c, MSG_NOSIGNAL), sizeof c);
        turn();
}

TEST(a_sandbox_without_a_network_sends_nothing_to_the_egress_process)
{
        struct core_sandbox sb;
        struct run run;
        begin("{}");
        connect_again();
        CHECK(hear_type(EGRESS_CONFIG));
        make(&sb, TIER_RESTRICTED);
        egress_attach(&sb.egress);
        run_begin(&run, &sb);
        egress_end(&sb.egress, &run.observer);
        CHECK(!run.observer.counting && !run.result.has_network);
        egress_configure(&core);
        run_end(&run);
        unmake(&sb);
        CHECK(!hear()); /* nothing */
        end();
}

TEST(a_sandbox_is_attached_with_its_descriptors_changed_and_detached)
{
        struct core_sandbox sb;
        begin("{\"tier\": \"standard\", \"allowed_domains\": [\"a.example\"]}");
        connect_again();
        CHECK(hear_type(EGRESS_CONFIG) && heard.len == sizeof(struct egress_config) +
                                                               heard.config.resolv_length +
                                                               heard.config.hosts_length);
        make(&sb, TIER_STANDARD);
        CHECK(!hear()); /* the sandbox waits in a pool */
        egress_attach(&sb.egress);
        CHECK(hear_type(EGRESS_ATTACH) && heard.n_fds == 2);
        const uint64_t number = heard.attach.sandbox;
        CHECK(number != 0 && number == sb.egress.number);
        CHECK_INT(heard.attach.n_allowed[0], 1);
        CHECK_INT(heard.attach.n_allowed[1], EGRESS_ANY);
        set_network("{\"tier\": \"standard\", \"allowed_domains\": [\"a.example\", \"b.example\"], "
                    "\"connections\": 7}");
        egress_configure(&core);
        CHECK(hear_type(EGRESS_CHANGE) && heard.n_fds == 0 && heard.attach.sandbox == number);
        CHECK_INT(heard.attach.n_allowed[0], 2);
        CHECK_INT(heard.attach.connections_max, 7);
        CHECK(!hear());
        unmake(&sb);
        CHECK(hear_type(EGRESS_DETACH) && heard.about.sandbox == number);
        CHECK(sb.egress.tcp == -1 && sb.egress.number == 0);
        unmake(&sb);
        CHECK(!hear());
        end();
}

TEST(after_a_death_all_that_live_are_attached_to_the_next)
{
        struct core_sandbox all[3], ahead;
        struct cella_err err = {0};
        begin("{\"tier\": \"elevated\"}");
        CHECK(egress_check(&core, &err) < 0 && err.kind == CELLA_ISOLATION_UNAVAILABLE);
        for (int i = 0; i < 3; i++)
                make(&all[i], i == 1 ? TIER_STANDARD : TIER_ELEVATED);
        make(&ahead, TIER_STANDARD);
        egress_attach(&all[0].egress); /* there is no egress process yet */
        connect_again();
        CHECK_INT(egress_check(&core, &err), 0);
        CHECK(hear_type(EGRESS_CONFIG));
        CHECK(hear_type(EGRESS_ATTACH) && heard.attach.sandbox == all[0].egress.number);
        egress_attach(&all[1].egress);
        egress_attach(&all[2].egress);
        CHECK(hear_type(EGRESS_ATTACH) && hear_type(EGRESS_ATTACH));
        close(theirs);
        theirs = -1;
        turn();
        CHECK(!egress_is_connected(&core));
        CHECK_INT(egress_check(&core, &err), 0); /* a new egress process is there */
        unmake(&all[2]);
        connect_again();
        CHECK(hear_type(EGRESS_CONFIG));
        for (int i = 0; i < 2; i++)
                CHECK(hear_type(EGRESS_ATTACH) && heard.n_fds == 2 &&
                      heard.attach.sandbox == all[i].egress.number);
        CHECK(!hear());
        unmake(&all[0]);
        unmake(&all[1]);
        unmake(&ahead);
        end();
}

TEST(each_execution_has_its_own_counts)
{
        struct core_sandbox sb;
        struct run a, b, c;
        begin("{\"tier\": \"elevated\"}");
        connect_again();
        make(&sb, TIER_ELEVATED);
        egress_attach(&sb.egress);
        CHECK(hear_type(EGRESS_CONFIG) && hear_type(EGRESS_ATTACH));
        run_begin(&a, &sb);
        CHECK(!hear()); /* it was just attached: everything is zero */
        run_begin(&b, &sb);
        CHECK(hear_type(EGRESS_COUNT)); /* what a has so far */
        say_counted(heard.about.number, heard.about.sandbox, 50);
        CHECK(hear_type(EGRESS_BEGIN));
        egress_end(&sb.egress, &a.observer);
        CHECK(a.observer.counting && hear_type(EGRESS_COUNT));
        counted = 0;
        say_counted(heard.about.number, heard.about.sandbox, 30);
        CHECK_INT(counted, 1);
        CHECK(!a.observer.counting && a.result.has_network && a.result.network_known);
        CHECK_INT(a.result.network.bytes_sent, 80);
        run_end(&a);
        egress_end(&sb.egress, &b.observer);
        CHECK(hear_type(EGRESS_COUNT));
        say_counted(heard.about.number, heard.about.sandbox, 40);
        CHECK_INT(b.result.network.lookups, 40);
        run_end(&b);
        run_begin(&c, &sb);
        CHECK(hear_type(EGRESS_BEGIN) && !hear()); /* the only execution */
        egress_end(&sb.egress, &c.observer);
        CHECK(hear_type(EGRESS_COUNT));
        const struct egress_about about = heard.about;
        unmake(&sb); /* the sandbox is gone before the answer comes */
        say_counted(about.number, about.sandbox, 3);
        CHECK_INT(c.result.network.connections, 3);
        run_end(&c);
        end();
}

/* Returns whether the server asks for the counters of an execution that ends now. */
static bool is_asked_about(struct core_sandbox *sb)
{
        struct run run;
        run_begin(&run, sb);
        while (hear())
                ;
        egress_end(&sb->egress, &run.observer);
        const bool asked = hear_type(EGRESS_COUNT);
        CHECK_INT(run.observer.counting, asked);
        CHECK(asked ||
              (run.result.has_network && run.result.network_known && run.result.network.lookups == 0));
        if (asked)
                say_counted(heard.about.number, heard.about.sandbox, 1);
        run_end(&run);
        return asked;
}

TEST(the_egress_process_is_not_asked_about_executions_without_traffic)
{
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof at;
        const int used = EGRESS_USED;
        struct core_sandbox sb;
        int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0),
            from = socket(AF_INET, SOCK_DGRAM, 0), to;
        begin("{\"tier\": \"elevated\"}");
        connect_again();
        make(&sb, TIER_ELEVATED);
        CHECK_INT(bind(tcp, (struct sockaddr *)&at, size), 0);
        CHECK(bind(udp, (struct sockaddr *)&at, size) == 0 &&
              getsockname(udp, (struct sockaddr *)&at, &size) == 0 && listen(tcp, 5) == 0);
        egress_keep(&sb.egress, dup(tcp), dup(udp));
        egress_attach(&sb.egress);
        CHECK(!is_asked_about(&sb));
        CHECK(!is_asked_about(&sb));
        CHECK_INT(sendto(from, "x", 1, 0, (struct sockaddr *)&at, size), 1);
        CHECK(is_asked_about(&sb)); /* a DNS query is queued */
        CHECK_INT(recv(udp, &to, 1, 0), 1);
        CHECK(!is_asked_about(&sb));
        CHECK_INT(getsockname(tcp, (struct sockaddr *)&at, &size), 0);
        to = socket(AF_INET, SOCK_STREAM, 0);
        CHECK_INT(connect(to, (struct sockaddr *)&at, size), 0);
        CHECK(is_asked_about(&sb)); /* a connection is queued */
        close(accept(tcp, NULL, NULL));
        CHECK(!is_asked_about(&sb));
        CHECK_INT(setsockopt(tcp, SOL_SOCKET, SO_PRIORITY, &used, sizeof used), 0);
        CHECK(is_asked_about(&sb)); /* from now on */
        unmake(&sb);
        for (int i = 0; i < 4; i++)
                close((const int[]){tcp, udp, from, to}[i]);
        end();
}

TEST(an_answer_that_does_not_come_is_not_waited_for)
{
        struct core_sandbox sb;
        struct run a, b;
        begin("{\"tier\": \"elevated\"}");
        connect_again();
        make(&sb, TIER_ELEVATED);
        egress_attach(&sb.egress);
        counted = 0;
        run_begin(&a, &sb);
        egress_end(&sb.egress, &a.observer);
        CHECK(a.observer.counting);
        for (int i = 0; i < 600 && counted == 0; i++) {
                usleep(50000);
                turn();
        }
        CHECK_INT(counted, 1);
        CHECK(a.result.has_network && !a.result.network_known);
        run_end(&a);
        run_begin(&a, &sb);
        egress_end(&sb.egress, &a.observer);
        run_begin(&b, &sb);
        egress_end(&sb.egress, &b.observer);
        egress_forget(&b.observer);
        run_end(&b);
        close(theirs); /* the death of the egress process also ends the wait */
        theirs = -1;
        turn();
        turn();
        CHECK_INT(counted, 2);
        run_end(&a);
        run_begin(&a, &sb);
        egress_end(&sb.egress, &a.observer);
        CHECK(!a.observer.counting && a.result.has_network);
        run_end(&a);
        unmake(&sb);
        end();
}

static void say_refused(uint64_t sandbox, const char *target)
{
        struct egress_refused r = {.type = EGRESS_REFUSED, .sandbox = sandbox};
        memset(r.target, 'x', sizeof r.target);
        memset(r.detail, '\n', sizeof r.detail);
        if (target)
                snprintf(r.target, sizeof r.target, "%s", target);
        CHECK_INT(send(theirs, &r, sizeof r, MSG_NOSIGNAL), sizeof r);
        turn();
}

TEST(refusals_reach_the_execution_and_are_bounded)
{
        struct core_sandbox sb, other;
        struct run a, b;
        struct verdict_facts facts = {
                .reported = true, .exited.disk_bytes_free = 1 << 20, .exited.disk_inodes_free = 1};
        struct cella_limits limits;
        cella_limits_default(&limits);
        begin("{\"tier\": \"elevated\"}");
        connect_again();
        make(&sb, TIER_ELEVATED);
        make(&other, TIER_ELEVATED);
        egress_attach(&sb.egress);
        egress_attach(&other.egress);
        run_begin(&a, &sb);
        run_begin(&b, &other);
        violations = 0;
        say_refused(sb.egress.number, NULL); /* no end in either text */
        say_refused(sb.egress.number, NULL); /* the same once more */
        CHECK_INT(violations, 1);
        CHECK_INT(strlen(a.observer.all.list[0].target), sizeof a.observer.all.list[0].target - 1);
        CHECK_INT(strspn(a.observer.all.list[0].detail, "?"), sizeof a.observer.all.list[0].detail - 1);
        say_refused(0, "nobody");
        say_refused(12345, "nobody");
        for (int i = 0; i < 100; i++) {
                char name[32];
                snprintf(name, sizeof name, "n%d", i);
                say_refused(sb.egress.number, name);
        }
        CHECK_INT(violations, VIOLATIONS_MAX - 1);
        CHECK_INT(b.observer.all.n, 0);
        observer_conclude(&a.observer, &facts, &limits);
        CHECK_INT(a.result.n_violations, VIOLATIONS_MAX);
        CHECK_STR(a.result.violations[VIOLATIONS_MAX - 1].detail, "38 more are not listed");
        CHECK_INT(violations, VIOLATIONS_MAX);
        char *text = violations_text(&a.result);
        CHECK(text && strlen(text) < 65536);
        free(text);
        const struct egress_about failed = {
                .type = EGRESS_FAILED, .number = EMFILE, .sandbox = other.egress.number};
        CHECK_INT(send(theirs, &failed, sizeof failed, 0), sizeof failed);
        turn();
        CHECK(other.egress.tcp == -1 && b.observer.all.n == 1); /* closed, and reported */
        run_end(&a);
        run_end(&b);
        unmake(&sb);
        unmake(&other);
        end();
}

TEST(an_egress_process_that_sends_invalid_packets_is_disconnected)
{
        static const char nonsense[1000];
        const uint32_t types[] = {0, EGRESS_ATTACH, EGRESS_COUNTED, EGRESS_REFUSED, EGRESS_FAILED, 999};
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                for (size_t len = 1; len < sizeof nonsense; len += i * 3 + 1) {
                        char packet[sizeof nonsense];
                        memcpy(packet, nonsense, sizeof packet);
                        memcpy(packet, &types[i], sizeof types[i]);
                        const bool good =
                                (types[i] == EGRESS_COUNTED && len == sizeof(struct egress_counted)) ||
                                (types[i] == EGRESS_REFUSED && len == sizeof(struct egress_refused)) ||
                                (types[i] == EGRESS_FAILED && len == sizeof(struct egress_about));
                        begin("{}");
                        connect_again();
                        send(theirs, packet, len, MSG_NOSIGNAL);
                        turn();
                        CHECK_INT(egress_is_connected(&core), good);
                        end();
                }
}

TEST(an_egress_process_that_does_not_read_blocks_no_sandbox)
{
        static struct core_sandbox all[200];
        begin("{\"tier\": \"standard\", \"allowed_domains\": [\"a.example\"]}");
        connect_again();
        for (size_t i = 0; i < 200; i++) {
                make(&all[i], TIER_STANDARD);
                egress_attach(&all[i].egress);
        }
        for (int n = 0; n < 2000; n++) { /* far more than the socket takes */
                struct run run;
                run_begin(&run, &all[n % 200]);
                egress_end(&all[n % 200].egress, &run.observer);
                egress_forget(&run.observer);
                run_end(&run);
        }
        CHECK(egress_is_connected(&core));
        unsigned attached = 0, counts = 0;
        for (int quiet = 0; quiet < 3;) {
                if (hear()) {
                        attached += heard.type == EGRESS_ATTACH && heard.n_fds == 2;
                        counts += heard.type == EGRESS_COUNT;
                        quiet = 0;
                } else {
                        turn();
                        quiet++;
                }
        }
        CHECK_INT(attached, 200);
        CHECK_INT(counts, 2000);
        for (size_t i = 0; i < 200; i++)
                unmake(&all[i]);
        end();
}

/* ---- the policies in the messages, evaluated with the egress process's code ---- */

static bool allows(const struct network *n, const char *name)
{
        struct egress_attach *message = NULL;
        struct policy *policy = NULL;
        struct destination to = {.port = 443};
        size_t len = 0;
        CHECK_INT(network_message(&core.settings, n, EGRESS_ATTACH, 1, &message, &len), 0);
        CHECK_INT(policy_get(message, len, &policy), 0);
        snprintf(to.name, sizeof to.name, "%s", name);
        bool yes = policy && !policy_refuses(policy, POLICY_SPOKEN, &to);
        policy_drop(policy);
        free(message);
        return yes;
}

/* Letters: which of a, b, c and d.example it may reach; "-": it has no network; "!": refused. */
static const struct {
        const char *settings, *key, *request, *reaches;
} table[] = {
        {"{\"tier\": \"restricted\"}", "elevated", NULL, "-"},
        {"{\"tier\": \"restricted\"}", "elevated", "{\"tier\": \"standard\"}", "!"},
        {"{\"tier\": \"standard\"}", "elevated", NULL, ""},
        {"{\"tier\": \"standard\", \"allowed_domains\": [\"a.example\", \"b.example\"]}", "standard", NULL,
         "ab"},
        {"{\"tier\": \"standard\", \"allowed_domains\": [\"a.example\", \"b.example\"]}", "standard",
         "{\"allowed_domains\": [\"b.example\", \"c.example\"]}", "b"},
        {"{\"tier\": \"standard\", \"allowed_domains\": [\"*.example\"], \"blocked_domains\": "
         "[\"a.example\"]}",
         "standard", "{\"blocked_domains\": [\"c.example\"]}", "bd"},
        {"{\"tier\": \"standard\", \"allowed_domains\": [\"a.example\"]}", "restricted", NULL, "-"},
        {"{\"tier\": \"standard\", \"allowed_domains\": [\"a.example\"]}", "standard",
         "{\"allowed_domains\": []}", ""},
        {"{\"tier\": \"elevated\", \"blocked_domains\": [\"c.example\"]}", "elevated", NULL, "abd"},
        {"{\"tier\": \"elevated\", \"allowed_domains\": [\"a.example\"]}", "standard", NULL, "a"},
        {"{\"tier\": \"elevated\", \"blocked_domains\": [\"c.example\"]}", "standard",
         "{\"allowed_domains\": [\"c.example\", \"d.example\"]}", "d"},
        {"{\"tier\": \"elevated\"}", "elevated", "{\"tier\": \"standard\"}", ""},
        {"{\"tier\": \"elevated\"}", "elevated",
         "{\"tier\": \"elevated\", \"allowed_domains\": [\"a.example\"]}", "!"},
        {"{\"tier\": \"elevated\"}", "standard", "{\"tier\": \"elevated\"}", "!"},
        {"{\"tier\": \"elevated\"}", "restricted", "{\"allowed_domains\": [\"a.example\"]}", "!"},
        {"{\"tier\": \"elevated\"}", "elevated",
         "{\"tier\": \"restricted\", \"allowed_domains\": [\"a.example\"]}", "-"},
};

TEST(a_request_narrows)
{
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                struct caller caller = {.tier_max = (enum tier)tier_from_word(table[i].key)};
                struct cella_err err = {0};
                struct network n = {0};
                char reaches[8] = "";
                begin(table[i].settings);
                connect_again();
                json_t *asked = table[i].request ? json_loads(table[i].request, 0, NULL) : NULL;
                int r = network_narrow(&core.settings, &caller, asked, &n, &err);
                if (r < 0)
                        strcpy(reaches, "!");
                else if (n.tier == TIER_RESTRICTED)
                        strcpy(reaches, "-");
                for (char c = 'a'; r == 0 && n.tier != TIER_RESTRICTED && c <= 'd'; c++) {
                        const char name[] = {c, '.', 'e', 'x', 'a', 'm', 'p', 'l', 'e', '\0'};
                        if (allows(&n, name))
                                snprintf(reaches + strlen(reaches), 2, "%c", c);
                }
                CHECK_STR(reaches, table[i].reaches);
                if (strcmp(reaches, table[i].reaches) != 0)
                        printf("  in row %zu: %s\n", i, err.msg);
                if (r == 0) { /* a request may repeat the policy that it already has */
                        CHECK_INT(network_check_same(&n, asked, &err), 0);
                        json_t *state = network_to_state(&n);
                        struct network again;
                        network_from_state(state, &again);
                        CHECK(again.tier == n.tier && !again.allowed == !n.allowed &&
                              !again.blocked == !n.blocked);
                        network_done(&again);
                        json_decref(state);
                }
                /* Settings that withdraw the network leave no access. */
                set_network(
                        "{\"tier\": \"restricted\", \"allowed_domains\": [\"a.example\", \"b.example\"]}");
                CHECK(r < 0 || n.tier == TIER_RESTRICTED ||
                      (!allows(&n, "a.example") && !allows(&n, "d.example")));
                network_done(&n);
                json_decref(asked);
                end();
        }
}

TEST(the_longest_lists_fit_one_message)
{
        json_t *many = json_array(), *blocked = json_array(), *own = json_array(),
               *own_blocked = json_array();
        struct egress_attach *message = NULL;
        struct policy *policy = NULL;
        size_t len = 0;
        for (int i = 0; i < 1000; i++)
                json_array_append_new(many, json_sprintf("name%d.example", i));
        for (int i = 0; i < 900; i++)
                json_array_append_new(blocked, json_sprintf("blocked%d.example", i));
        for (int i = 0; i < 100; i++)
                json_array_append_new(own_blocked, json_sprintf("%d.%0200d.example:65535", i, 0));
        json_array_append_new(own, json_string("name7.example"));
        json_t *network = json_pack("{s:s, s:O, s:O, s:O}", "tier", "standard", "allowed_domains", many,
                                    "blocked_domains", blocked, "allowed_private", many);
        char *text = json_dumps(network, 0);
        begin(text);
        const struct network n = {TIER_STANDARD, own, NULL};
        CHECK_INT(network_message(&core.settings, &n, EGRESS_ATTACH, 1, &message, &len), 0);
        CHECK_INT(policy_get(message, len, &policy), 0);
        CHECK(allows(&n, "name7.example") && !allows(&n, "name8.example"));
        policy_drop(policy);
        free(message);
        free(text);
        json_decref(network);
        json_decref(many);
        json_decref(blocked);
        json_decref(own);
        json_decref(own_blocked);
        end();
}
