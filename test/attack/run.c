/* run.c -- tries every attack with all walls up and with its own wall down.
 *
 *      attack-run [--users] PATH-OF-CELLA-ATTACKS [NAME-PART]
 *
 * With all walls up an attack must be blocked; without its wall it must succeed, or the
 * test would prove nothing.  An attack that two walls stop must be blocked while either
 * of them stands, and is reported as such.  The attacks themselves only ever run inside sandboxes; even their
 * list is made there.  --users: as root, in sandboxes with several users and the capabilities of root in an
 * image.  One line each; exit status 1 if anything failed. */
#include "attack.h"
#include "bombs.h"
#include "jail/walls.h"
#include "tally.h"
#include "trial.h"

static struct victims victims;

/* Why taking this wall away shows nothing on this host; NULL if it does. */
static const char *pointless(const char *name)
{
        struct rlimit core;

        struct rlimit processes;

        if (strcmp(name, "raise_limits") == 0 && getrlimit(RLIMIT_NPROC, &processes) == 0 &&
            processes.rlim_max < 1000)
                return "the host itself allows less than 1000 processes";
        if (strcmp(name, "core_dump") == 0 && getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max <= 1)
                return "core dumps are limited to 0 on this host already";
        return NULL;
}

/* Why this host cannot block it, which its documentation must say; NULL if it can. */
static const char *unavoidable(const char *name)
{
        gid_t group = getegid();
        int n = getgroups(0, NULL);

        if (strcmp(name, "setgid_root") == 0 && geteuid() != 0 &&
            (n > 1 || getgroups(1, &group) < 0 || group != getegid()))
                return "an ordinary user cannot put its further groups away";
        if (strcmp(name, "other_owner") == 0 && geteuid() != 0 && trial_users)
                return "an ordinary user has no file of another user; with several users, root inside reads "
                       "its own";
        return NULL;
}

/* With ATTACK_VERBOSE set, all that an attack said. */
static void try_once(const char *name, uint32_t walls_down, struct trial *t)
{
        trial_attack(&victims, name, walls_down, t);
        if (getenv("ATTACK_VERBOSE"))
                printf("---- %s without [%s]:\n%s", name, trial_wall_names(walls_down), t->said);
}

static bool judge_blocked(struct tally *tally, const char *name, const char *walls, const struct trial *t)
{
        const char *said = trial_said(t, NULL);

        if (t->ran && t->status == CELLA_EXITED && t->exit_code == ATTACK_BLOCKED)
                return true;
        if (!t->ran)
                tally_fail(tally, name, "%s: no result: %s", walls, t->err.msg);
        else if (t->status == CELLA_EXITED && t->exit_code == ATTACK_SUCCEEDED)
                tally_fail(tally, name, "%s: SUCCEEDED: %s", walls,
                           trial_said(t, "succeeded: ") ? trial_said(t, "succeeded: ") : "");
        else if (t->status == CELLA_EXITED && t->exit_code == ATTACK_BROKEN)
                tally_fail(tally, name, "%s: broken: %s", walls,
                           trial_said(t, "broken: ") ? trial_said(t, "broken: ")
                           : said                    ? said
                                                     : "");
        else
                tally_fail(tally, name, "%s: %s, exit code %d: %s", walls, cella_status_name(t->status),
                           t->exit_code, said ? said : "");
        return false;
}

/* The second half: without these walls it must succeed. */
static void try_without(struct tally *tally, const char *name, uint32_t walls)
{
        struct trial t;
        char without[64];
        const char *why = pointless(name);

        if (why) {
                tally_skip(tally, name, "blocked; not tried without %s: %s", trial_wall_names(walls), why);
                return;
        }
        snprintf(without, sizeof without, "without %s", trial_wall_names(walls));
        try_once(name, walls, &t);
        if (t.ran && t.status == CELLA_EXITED && t.exit_code == ATTACK_SUCCEEDED) {
                tally_pass(tally, name, "blocked; succeeds %s", without);
        } else if (!t.ran && geteuid() != 0) {
                /* An ordinary user needs some walls to raise the others. */
                tally_skip(tally, name, "blocked; cannot be tried %s as an ordinary user: %s", without,
                           t.err.msg);
        } else if (geteuid() != 0 && (walls & WALL_USER) && t.exit_code == ATTACK_BLOCKED) {
                tally_skip(tally, name, "blocked; %s an ordinary user still has no privileges", without);
        } else if (t.ran && t.exit_code == ATTACK_BLOCKED && trial_said(&t, "moot: ")) {
                tally_skip(tally, name, "blocked; shows nothing here: %s", trial_said(&t, "moot: "));
        } else if (judge_blocked(tally, name, without, &t)) {
                tally_fail(tally, name, "%s: still blocked: %s", without,
                           trial_said(&t, NULL) ? trial_said(&t, NULL) : "");
        }
}

/* Two walls stop it: each must hold without the other.  Says of both what was seen. */
static void try_each_alone(struct tally *tally, const char *name, uint32_t walls)
{
        struct trial t;
        char without[64], reported[200] = "";
        size_t held = 0;

        for (uint32_t wall = 1; wall <= walls; wall <<= 1) {
                if (!(walls & wall))
                        continue;
                snprintf(without, sizeof without, "without %s", trial_wall_names(wall));
                try_once(name, wall, &t);
                /* As in try_without(). */
                bool can = t.ran || geteuid() == 0;
                if (can && !judge_blocked(tally, name, without, &t))
                        return;
                held += can;
                size_t n = strlen(reported);
                snprintf(reported + n, sizeof reported - n, "; %s: %s", without,
                         can ? "blocked" : "cannot be tried");
        }
        if (held > 0)
                tally_pass(tally, name, "blocked; stopped by two walls%s", reported);
        else
                tally_skip(tally, name, "blocked; stopped by two walls%s", reported);
}

static void try_attack(struct tally *tally, const char *name, uint32_t walls)
{
        struct trial t;
        const char *why = unavoidable(name);

        if (why) {
                tally_skip(tally, name, "%s", why);
                return;
        }
        try_once(name, 0, &t);
        if (t.ran && (t.missing & walls) == walls)
                tally_skip(tally, name, "this host has no %s", trial_wall_names(walls));
        else if (!judge_blocked(tally, name, "with all walls", &t))
                return;
        else if (TRIAL_WALLS_STAY_UP)
                tally_pass(tally, name, "blocked");
        else if (trial_doubly_walled(walls & ~t.missing))
                try_each_alone(tally, name, walls);
        else
                try_without(tally, name, walls & ~t.missing); /* of two, the one that this host has */
}

/* Reads the list from inside a sandbox: the program runs nowhere else. */
static int try_all(struct tally *tally, const char *filter)
{
        static char list[65536];
        struct trial_options o;
        struct trial_command c;
        struct cella_sandbox *sandbox = NULL;
        struct cella_result result = {0};
        struct cella_err err;

        trial_options_fill(&o, &victims);
        trial_command_fill(&c, &victims, "--list", 0, 0);
        int r = trial_sandbox(&o, 0, &sandbox, &err);
        if (r >= 0) {
                struct cella_command command = {
                        .argv = c.argv, .cwd = "/tmp", .stdin_fd = -1, .cancel_fd = -1};
                r = cella_run(sandbox, &command, &result, &err);
        }
        if (r < 0) {
                tally_fail(tally, "--list", "%s", err.msg);
        } else if (result.status != CELLA_EXITED || result.exit_code != 0 || result.output_len[0] == 0 ||
                   result.output_len[0] >= sizeof list) {
                tally_fail(tally, "--list", "%s, exit code %d, %zu bytes", cella_status_name(result.status),
                           result.exit_code, result.output_len[0]);
                r = -EIO;
        } else {
                memcpy(list, result.output[0], result.output_len[0]);
        }
        cella_result_done(&result);
        cella_sandbox_free(sandbox);

        char *at = list;
        for (char *line; r >= 0 && (line = strsep(&at, "\n")) && *line;) {
                const char *name = strsep(&line, "\t");
                const char *words = strsep(&line, "\t");
                uint32_t walls = words ? trial_walls(words) : 0;

                if (filter && !strstr(name, filter))
                        continue;
                if (walls == 0)
                        tally_fail(tally, name, "unknown wall '%s'", words ? words : "");
                else
                        try_attack(tally, name, walls);
        }
        return r;
}

static void clean_up_and_die(int signal_number)
{
        victims_remove(&victims);
        _exit(128 + signal_number);
}

int main(int argc, char **argv)
{
        struct tally tally = {0};
        struct rlimit stack = {8 << 20, RLIM_INFINITY};

        if (argc == 2 && strcmp(argv[1], VICTIM_ARGUMENT) == 0)
                victim_main();
        if (argc > 1 && strcmp(argv[1], "--users") == 0 && !TRIAL_WALLS_STAY_UP) {
                trial_users = true;
                argc--;
                argv++;
        }
        if (argc < 2 || argc > 3) {
                fprintf(stderr, "usage: attack-run [--users] PATH-OF-CELLA-ATTACKS [NAME-PART]\n");
                return 2;
        }
        setvbuf(stdout, NULL, _IOLBF, 0);
        /* Deep recursion ends at the same depth everywhere. */
        if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur > 8 << 20) {
                stack.rlim_cur = 8 << 20;
                setrlimit(RLIMIT_STACK, &stack);
        }
        const char *filter = argc == 3 ? argv[2] : NULL;
        signal(SIGINT, clean_up_and_die);
        signal(SIGTERM, clean_up_and_die);
        if (victims_place(&victims, argv[1]) < 0) {
                victims_remove(&victims);
                return 1;
        }
        if (try_all(&tally, filter) >= 0)
                bombs_try_all(&tally, &victims, filter);
        victims_remove(&victims);
        printf("%u passed, %u failed, %u skipped\n", tally.passed, tally.failed, tally.skipped);
        return tally.failed > 0 || tally.passed == 0;
}
