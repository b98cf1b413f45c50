#include "trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jail/walls.h"
#include "wall_names.h"

bool trial_users;

static void add(struct trial_command *c, size_t *n, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static void add(struct trial_command *c, size_t *n, const char *format, ...)
{
        va_list ap;

        if (*n + 1 >= TRIAL_ARGUMENTS)
                return;
        va_start(ap, format);
        vsnprintf(c->text[*n], sizeof c->text[*n], format, ap);
        va_end(ap);
        c->argv[*n] = c->text[*n];
        c->argv[++*n] = NULL;
}

void trial_command_fill(struct trial_command *c, const struct victims *v, const char *attack,
                        uint32_t walls_down, uint64_t limit)
{
        static unsigned serial;
        size_t n = 0;
        /* Without its own view, the code finds files at their paths on the host. */
        const char *program = walls_down & WALL_MOUNT ? v->program : "/attacks";
        const char *tray = walls_down & WALL_MOUNT ? v->tray : "/tray";

        memset(c, 0, sizeof *c);
        snprintf(c->mark, sizeof c->mark, "trial=%.8s-%u", v->nonce, ++serial);
        add(c, &n, "%s", program);
        add(c, &n, "%s", attack);
        if (attack[0] == '-')
                return;
        add(c, &n, "%s", c->mark);
        add(c, &n, "nonce=%s", v->nonce);
        add(c, &n, "host_file=%s", v->file);
        add(c, &n, "link=%s/link", tray);
        add(c, &n, "dir=%s", tray);
        add(c, &n, "shm_file=%s", v->shm_file);
        add(c, &n, "socket=%s", v->socket);
        add(c, &n, "abstract=%s", v->abstract);
        add(c, &n, "queue=%s", v->queue);
        add(c, &n, "terminal=%s", v->terminal);
        add(c, &n, "host_name=%s", v->host_name);
        add(c, &n, "fd=%d", v->fd);
        add(c, &n, "dir_fd=%d", v->dir_fd);
        add(c, &n, "pid=%d", (int)v->process);
        add(c, &n, "pid_ns=%llu", (unsigned long long)v->pid_ns);
        add(c, &n, "port=%u", v->port);
        add(c, &n, "shm_key=%d", v->shm_key);
        add(c, &n, "limit=%llu", (unsigned long long)limit);
        if (trial_users)
                add(c, &n, "users=%d", TRIAL_IDS);
}

void trial_options_fill(struct trial_options *o, const struct victims *v)
{
        cella_options_default(&o->options);
        o->mounts[0] = (struct cella_mount){.source = v->program, .target = "/attacks"};
        o->mounts[1] = (struct cella_mount){.source = v->tray, .target = "/tray"};
        o->options.mounts = o->mounts;
        o->options.n_mounts = 2;
        o->options.user_root = trial_users;
        o->options.limits.timeout_ms = 15000;
}

int trial_sandbox(const struct trial_options *o, uint32_t walls_down, struct cella_sandbox **ret,
                  struct cella_err *err)
{
        return testing_sandbox_new(&o->options, walls_down | (trial_users ? WALLS_SEVERAL_USERS : 0), ret,
                                   err);
}

/* Whether it has the users that it should have.  Without these two walls it has one, and that of an ordinary
 * user with a writable directory. */
static bool has_users(const struct cella_sandbox *sandbox, const struct trial_options *o, uint32_t walls_down)
{
        const bool one =
                (walls_down & (WALL_USER | WALL_CGROUP)) || (geteuid() != 0 && o->mounts[1].writable);
        struct cella_isolation isolation;

        cella_sandbox_isolation(sandbox, &isolation);
        return isolation.users == (trial_users && !one ? TRIAL_IDS : 1);
}

uint32_t trial_missing(const struct cella_sandbox *sandbox)
{
        struct cella_isolation isolation;
        uint32_t missing = 0;

        cella_sandbox_isolation(sandbox, &isolation);
        for (size_t i = 0; i < isolation.n_missing; i++)
                missing |= trial_walls(isolation.missing[i]);
        return missing;
}

void trial_attack(const struct victims *v, const char *attack, uint32_t walls_down, struct trial *ret)
{
        struct trial_options o;
        struct trial_command c;
        struct cella_sandbox *sandbox = NULL;
        struct cella_result result = {0};

        memset(ret, 0, sizeof *ret);
        trial_options_fill(&o, v);
        trial_command_fill(&c, v, attack, walls_down, 0);
        /* A set-id bit must not appear in a directory of the host.  Elsewhere several users may set it. */
        o.mounts[1].writable = trial_users && strncmp(attack, "setuid_c", strlen("setuid_c")) == 0;
        if (trial_sandbox(&o, walls_down, &sandbox, &ret->err) < 0)
                return;
        /* /tmp is there with and without a view of its own. */
        struct cella_command command = {.argv = c.argv, .cwd = "/tmp", .stdin_fd = -1, .cancel_fd = -1};
        if (cella_run(sandbox, &command, &result, &ret->err) >= 0) {
                size_t n =
                        result.output_len[0] < sizeof ret->said ? result.output_len[0] : sizeof ret->said - 1;

                ret->ran = has_users(sandbox, &o, walls_down);
                if (!ret->ran)
                        snprintf(ret->err.msg, sizeof ret->err.msg, "the number of users is not as expected");
                ret->status = result.status;
                ret->exit_code = result.exit_code;
                if (n > 0)
                        memcpy(ret->said, result.output[0], n);
                ret->missing = trial_missing(sandbox);
                cella_result_done(&result);
        }
        cella_sandbox_free(sandbox);
}

const char *trial_wall_names(uint32_t walls)
{
        static char names[160];

        names[0] = '\0';
        for (size_t i = 0; i < N_WALLS; i++) {
                if (!(walls & 1u << i))
                        continue;
                if (names[0])
                        strcat(names, "+");
                strcat(names, wall_names[i]);
        }
        return names;
}

uint32_t trial_walls(const char *names)
{
        uint32_t walls = 0;

        for (size_t length; *names; names += length + (names[length] == '+')) {
                uint32_t wall = 0;

                length = strcspn(names, "+");
                for (size_t i = 0; i < N_WALLS; i++)
                        if (strlen(wall_names[i]) == length && strncmp(wall_names[i], names, length) == 0)
                                wall = 1u << i;
                if (!wall)
                        return 0;
                walls |= wall;
        }
        return walls;
}

const char *trial_said(const struct trial *t, const char *prefix)
{
        static char found[512];
        bool any = false;

        for (const char *line = t->said; *line;) {
                size_t length = strcspn(line, "\n"), skip = prefix ? strlen(prefix) : 0;

                if (length > 0 && (!prefix || strncmp(line, prefix, skip) == 0)) {
                        snprintf(found, sizeof found, "%.*s", (int)(length - skip), line + skip);
                        any = true;
                        if (prefix)
                                break;
                }
                line += length + (line[length] == '\n');
        }
        return any ? found : NULL;
}
