#include "base/states.h"

#include "test.h"

enum { RED, GREEN, BROKEN, N };

static const char *const names[N] = {"red", "green", "broken"};
static const uint32_t next[N] = {[RED] = STATE(GREEN) | STATE(BROKEN), [GREEN] = STATE(RED)};
static const struct states light = {"light", names, next, N};

static char reported[200];

static void report(const char *message)
{
        snprintf(reported, sizeof reported, "%s", message);
}

/* Asks for a change that is not allowed, in a child process.  Returns its wait status: it exits with 0 if the
 * change was refused and reported. */
static int refused(unsigned from, unsigned to, const char *message)
{
        const pid_t child = fork();
        if (child == 0) {
                if (!freopen("/dev/null", "w", stderr))
                        _exit(2);
                states_report(report);
                _exit(!states_may(&light, from, to) && !strcmp(reported, message) ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        return status;
}

static void check_refused(unsigned from, unsigned to, const char *message)
{
        const int status = refused(from, to, message);
#ifdef NDEBUG
        CHECK_INT(status, 0);
#else
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#endif
}

TEST(a_change_in_the_table_is_allowed)
{
        states_report(report);
        CHECK(states_may(&light, RED, GREEN));
        CHECK(states_may(&light, GREEN, RED));
        CHECK_STR(reported, "");
}

TEST(a_change_that_is_not_in_the_table_is_refused)
{
        check_refused(GREEN, BROKEN, "internal error: a change of a light from green to broken was refused");
        check_refused(BROKEN, RED, "internal error: a change of a light from broken to red was refused");
        check_refused(RED, RED, "internal error: a change of a light from red to red was refused");
}

TEST(a_state_that_does_not_exist_is_refused)
{
        check_refused(RED, 31, "internal error: a change of a light from red to unknown was refused");
        check_refused(31, RED, "internal error: a change of a light from unknown to red was refused");
}
