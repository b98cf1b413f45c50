/* test/secret/cli.c -- `cella secret` at a terminal and in a pipe, against a daemon that only listens. */
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>

#include "../unit/directory.h"
#include "cli/cli.h"

extern const struct cli_command cli_secret;

#define WAIT_MS 10000

static char said[16384], asked[1 << 20];
static size_t asked_len;

/* ---- the daemon ---- */

static int listening(void)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        strcpy(address.sun_path, in_directory("socket"));
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
        CHECK_INT(listen(fd, 4), 0);
        setenv("CELLA_SOCKET", address.sun_path, 1);
        return fd;
}

static bool readable(int fd, int ms)
{
        struct pollfd p = {fd, POLLIN, 0};
        return poll(&p, 1, ms) == 1;
}

/* Takes one request and answers it. */
static void serve(int listener, const char *status, const char *answer)
{
        char text[512];
        asked_len = 0;
        if (!readable(listener, WAIT_MS)) {
                CHECK(!"a request came");
                return;
        }
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        size_t want = SIZE_MAX;
        while (asked_len < want && asked_len < sizeof asked - 1 && readable(fd, WAIT_MS)) {
                ssize_t n = read(fd, asked + asked_len, sizeof asked - 1 - asked_len);
                if (n <= 0)
                        break;
                asked_len += (size_t)n;
                asked[asked_len] = '\0';
                const char *body = strstr(asked, "\r\n\r\n"),
                           *length = strcasestr(asked, "\r\nContent-Length:");
                if (body)
                        want = (size_t)(body + 4 - asked) +
                               (length && length < body ? strtoul(length + 17, NULL, 10) : 0);
        }
        int n = snprintf(text, sizeof text,
                         "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
                         strlen(answer), answer);
        CHECK_INT(write(fd, text, (size_t)n), n);
        close(fd);
}

static const char *asked_body(void)
{
        const char *body = strstr(asked, "\r\n\r\n");
        return body ? body + 4 : "";
}

/* ---- the program ---- */

static int run_main(char **argv)
{
        int argc = 0;
        while (argv[argc])
                argc++;
        int status = cli_secret.main(&cli_secret, argc, argv);
        fflush(NULL);
        return status;
}

struct run {
        pid_t pid;
        int in, out; /* its input; its output so far */
};

/* Starts `cella secret` with a pipe or a terminal as its standard input. */
static struct run start(bool terminal, char *const *words)
{
        struct run run = {0};
        int in[2], out[2], master = -1;
        char *argv[8] = {"secret"};
        for (int i = 0; words[i]; i++) /* writable copies: the program wipes its arguments */
                argv[i + 1] = strdup(words[i]);
        CHECK_INT(pipe2(in, O_CLOEXEC), 0);
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        run.pid = terminal ? forkpty(&master, NULL, NULL, NULL) : fork();
        if (run.pid == 0) {
                signal(SIGINT, SIG_DFL); /* a background shell ignores it, and children inherit that */
                if (!terminal) {
                        dup2(in[0], 0);
                        dup2(out[1], 1);
                        dup2(out[1], 2);
                }
                close(in[1]);
                int status = run_main(argv);
                if (words[0] && words[1] && words[2] &&
                    argv[3][0]) /* a value that was an argument is wiped */
                        status = 99;
                _exit(status);
        }
        for (int i = 1; argv[i]; i++)
                free(argv[i]);
        close(in[0]);
        close(out[1]);
        if (terminal) {
                close(in[1]);
                close(out[0]);
        }
        run.in = terminal ? master : in[1];
        run.out = terminal ? master : out[0];
        return run;
}

/* Reads the program's output until it contains these words, or ends. */
static void hear(struct run *run, const char *words)
{
        size_t len = strlen(said);
        while (!(words && strstr(said, words)) && len < sizeof said - 1 && readable(run->out, WAIT_MS)) {
                ssize_t n = read(run->out, said + len, sizeof said - 1 - len);
                if (n <= 0) /* a terminal's end is EIO */
                        break;
                len += (size_t)n;
                said[len] = '\0';
        }
        if (words && !strstr(said, words))
                CHECK_STR(said, words);
}

static void type(struct run *run, const char *text)
{
        size_t len = strlen(text);
        while (len > 0) {
                ssize_t n = write(run->in, text, len > 256 ? 256 : len);
                if (n <= 0)
                        break;
                text += n;
                len -= (size_t)n;
        }
}

static int ended(struct run *run)
{
        int status = 0;
        hear(run, NULL);
        if (!readable(run->out, 0)) /* there is no more output, and the program still runs */
                kill(run->pid, SIGKILL);
        CHECK_INT(waitpid(run->pid, &status, 0), run->pid);
        close(run->in);
        if (run->out != run->in)
                close(run->out);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs the program once with this text as its standard input. */
static int piped(int listener, char *const *words, const char *input, size_t len, bool answered)
{
        said[0] = '\0';
        struct run run = start(false, words);
        /* The program may refuse the value before it has read all of it. */
        for (size_t at = 0; at < len;) {
                ssize_t n = write(run.in, input + at, len - at);
                if (n <= 0)
                        break;
                at += (size_t)n;
        }
        close(run.in);
        run.in = run.out;
        if (answered)
                serve(listener, "204 No Content", "");
        int status = ended(&run);
        CHECK(!readable(listener, 0));
        return status;
}

#define WORDS(...) ((char *const[]){__VA_ARGS__, NULL})

/* ---- tests ---- */

TEST(a_piped_value_is_sent_unchanged)
{
        static const struct {
                const char *input, *body;
        } table[] = {
                {"hunter2", "{\"value\":\"hunter2\"}"},
                {"hunter2\n", "{\"value\":\"hunter2\"}"},
                {"hunter2\r\n", "{\"value\":\"hunter2\"}"},
                {"two\nlines\n\n", "{\"value\":\"two\\u000alines\\u000a\"}"},
                {"q\"b\\t\t\x7f", "{\"value\":\"q\\\"b\\\\t\\u0009\x7f\"}"},
                {"\xc3\xa9\xf0\x9f\x94\x91", "{\"value\":\"\xc3\xa9\xf0\x9f\x94\x91\"}"},
        };
        int listener = listening();
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                CHECK_INT(piped(listener, WORDS("set", "API_KEY"), table[i].input, strlen(table[i].input),
                                true),
                          0);
                CHECK_STR(asked_body(), table[i].body);
                CHECK(!strncmp(asked, "PUT /v1/secrets/API_KEY HTTP/1.1\r\n", 34));
                CHECK_STR(said, "");
        }
        close(listener);
}

TEST(invalid_values_are_not_sent)
{
        static char large[65536 + 10];
        int listener = listening();
        memset(large, 'x', sizeof large);
        signal(SIGPIPE, SIG_IGN);
        CHECK_INT(piped(listener, WORDS("set", "a"), "", 0, false), 2);
        CHECK_INT(piped(listener, WORDS("set", "a"), "\n", 1, false), 2);
        CHECK_INT(piped(listener, WORDS("set", "a"), "ab\0cd", 5, false), 2);
        CHECK_INT(piped(listener, WORDS("set", "a"), "hunter2\xff", 8, false), 2);
        CHECK(strstr(said, "UTF-8") && !strstr(said, "hunter2"));
        CHECK_INT(piped(listener, WORDS("set", "a"), large, 65537, false), 2);
        CHECK_INT(piped(listener, WORDS("set", "a"), large, sizeof large, false), 2);
        CHECK_INT(piped(listener, WORDS("set", "9a"), "hunter2", 7, false), 2);
        CHECK(strstr(said, "a letter or _"));
        large[65536] = '\n';
        CHECK_INT(piped(listener, WORDS("set", "a"), large, 65537, true), 0);
        CHECK_INT(strlen(asked_body()), 65536 + 12);
        memset(large, '\1', 65536);
        CHECK_INT(piped(listener, WORDS("set", "a"), large, 65536, true), 0);
        CHECK_INT(strlen(asked_body()), 65536 * 6 + 12);
        close(listener);
}

TEST(a_value_as_a_word_is_refused_and_wiped)
{
        int listener = listening();
        CHECK_INT(piped(listener, WORDS("set", "a", "hunter2"), "", 0, false), 2);
        CHECK(strstr(said, "command line") && strstr(said, "history") && !strstr(said, "hunter2"));
        CHECK_INT(piped(listener, WORDS("set"), "", 0, false), 2);
        CHECK_INT(piped(listener, WORDS("get", "a"), "", 0, false), 2);
        CHECK_INT(piped(listener, WORDS("ls", "a"), "", 0, false), 2);
        close(listener);
}

static bool echoes(const struct run *run)
{
        struct termios t;
        return tcgetattr(run->in, &t) == 0 && (t.c_lflag & ECHO) && (t.c_lflag & ICANON);
}

TEST(a_typed_value_is_not_shown)
{
        static char large[6002];
        int listener = listening();
        memset(large, 'L', 6000);
        large[6000] = '\r';
        static const struct {
                const char *first, *again, *body;
        } table[] = {
                {"hunter2\r", "hunter2\r", "{\"value\":\"hunter2\"}"},
                {"wrong\x15hunter2\n",
                 "hunter\xc3\xa9\x7f"
                 "2\n",
                 "{\"value\":\"hunter2\"}"},
                {large, large, NULL}, /* more than a line of a terminal can have */
        };
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                said[0] = '\0';
                struct run run = start(true, WORDS("set", "API_KEY"));
                hear(&run, "value of API_KEY: ");
                type(&run, table[i].first);
                hear(&run, "again, value of API_KEY: ");
                CHECK(!echoes(&run));
                type(&run, table[i].again);
                serve(listener, "204 No Content", "");
                if (table[i].body)
                        CHECK_STR(asked_body(), table[i].body);
                else
                        CHECK_INT(strlen(asked_body()), 6012);
                CHECK_INT(ended(&run), 0);
                CHECK(!strstr(said, "hunter") && !strstr(said, "LL"));
        }
        close(listener);
}

TEST(typing_errors_set_nothing)
{
        static const struct {
                const char *first, *again, *words;
                int status;
        } table[] = {
                {"hunter2\r", "hunter3\r", "differ", 2},
                {"hunter2\r", "hunter22\r", "differ", 2},
                {"\r", NULL, "no value", 2},
                {"\x04", NULL, "no value", 2},
                {"hunt\x1b[D", NULL, "control character", 2},
                {"hunt\x03", NULL, "value of", 130}, /* interrupted */
        };
        int listener = listening();
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                said[0] = '\0';
                struct run run = start(true, WORDS("set", "API_KEY"));
                int terminal = fcntl(run.in, F_DUPFD_CLOEXEC, 0);
                hear(&run, "value of API_KEY: ");
                type(&run, table[i].first);
                if (table[i].again) {
                        hear(&run, "again, value of API_KEY: ");
                        type(&run, table[i].again);
                }
                CHECK_INT(ended(&run), table[i].status);
                CHECK(strstr(said, table[i].words) != NULL);
                CHECK(!strstr(said, "hunt"));
                CHECK(!readable(listener, 0));
                run.in = terminal;
                CHECK(echoes(&run)); /* unchanged */
                close(terminal);
        }
        close(listener);
}

TEST(secrets_are_listed_and_removed)
{
        int listener = listening();
        said[0] = '\0';
        struct run run = start(false, WORDS("ls"));
        serve(listener, "200 OK",
              "{\"secrets\": [{\"name\": \"API_KEY\", \"created\": \"2026-01-02T03:04:05.000Z\", "
              "\"changed\": "
              "\"2026-01-03T03:04:05.000Z\"}]}");
        CHECK_INT(ended(&run), 0);
        CHECK(!strncmp(asked, "GET /v1/secrets HTTP/1.1\r\n", 26));
        CHECK(strstr(said, "NAME") && strstr(said, "API_KEY") && strstr(said, "2026-01-03T03:04:05.000Z"));
        CHECK_INT(piped(listener, WORDS("rm", "db.password"), "", 0, true), 0);
        CHECK(!strncmp(asked, "DELETE /v1/secrets/db.password HTTP/1.1\r\n", 41));
        said[0] = '\0';
        run = start(false, WORDS("rm", "gone"));
        serve(listener, "404 Not Found",
              "{\"error\": {\"kind\": \"not_found\", \"message\": \"no secret 'gone'\", \"hint\": \"\"}}");
        CHECK_INT(ended(&run), 125);
        CHECK(strstr(said, "no secret 'gone'") != NULL);
        close(listener);
}
