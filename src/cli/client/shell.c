/* cli/client/shell.c -- `cella shell`: a terminal in a sandbox, over a WebSocket.
 *
 * What must stay true: however this ends, the caller's terminal is as it was. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/client/api.h"
#include "cli/client/websocket.h"
#include "sys/file.h"

#define OUT_MAX 65536 /* unsent bytes to the daemon; no more is read from the keyboard meanwhile */
#define IN_MAX 4096
#define LAST_WORDS_US 2000000 /* from its close, or ours, to the end of the connection */

struct shell_options {
        const char *socket;
};

static const struct cli_option options[] = {API_SOCKET_OPTION(struct shell_options)};

struct shell {
        struct client *client;
        int fd; /* of its connection */
        struct websocket in;
        size_t out_at, out_len;
        char out[OUT_MAX + IN_MAX * 2];
        bool input_ended, closed; /* standard input; the other side said goodbye */
        bool left;                /* by ~. */
        int escape;               /* 0: in a line; 1: at its beginning; 2: after ~ there */
        int exit_code;            /* -1: not said yet */
};

/* ---- our terminal ---- */

static struct termios before;
static volatile sig_atomic_t is_raw;

static void cook(void)
{
        if (is_raw)
                tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
        is_raw = 0;
}

static void make_raw(void)
{
        struct termios raw;
        if (tcgetattr(STDIN_FILENO, &before) < 0)
                return;
        raw = before;
        cfmakeraw(&raw);
        is_raw = 1;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

/* Stopped from outside: the shell above gets a sane terminal, and we ours back afterwards. */
static void on_stop(int number)
{
        int saved = errno;
        bool was_raw = is_raw;
        (void)number;
        cook();
        raise(SIGSTOP);
        if (was_raw)
                make_raw();
        raise(SIGWINCH); /* it may have changed meanwhile */
        errno = saved;
}

static void take_terminal(void)
{
        struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
        sigfillset(&stop.sa_mask);
        if (!isatty(STDIN_FILENO))
                return;
        cli_on_signal(cook);
        atexit(cook);
        sigaction(SIGTSTP, &stop, NULL);
        signal(SIGTTOU, SIG_IGN); /* or setting it from the background would stop us */
        make_raw();
}

static bool terminal_size(unsigned *columns, unsigned *rows)
{
        struct winsize size;
        if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_row == 0)
                return false;
        *columns = size.ws_col;
        *rows = size.ws_row;
        return true;
}

/* ---- messages ---- */

/* Queues one; data is spoilt.  There is room: see may_read(). */
static void queue(struct shell *s, enum websocket_opcode opcode, char *data, size_t len)
{
        char head[WEBSOCKET_HEAD_MAX];
        size_t n = websocket_frame(head, opcode, data, len);
        if (s->out_at > 0) {
                memmove(s->out, s->out + s->out_at, s->out_len - s->out_at);
                s->out_len -= s->out_at;
                s->out_at = 0;
        }
        if (s->out_len + n + len > sizeof s->out)
                return; /* an answer to a flood of pings */
        memcpy(s->out + s->out_len, head, n);
        memcpy(s->out + s->out_len + n, data, len);
        s->out_len += n + len;
}

static bool may_read(const struct shell *s)
{
        return !s->input_ended && !s->closed && s->out_len - s->out_at < OUT_MAX / 2;
}

static void tell_size(struct shell *s)
{
        char text[64];
        unsigned columns, rows;
        if (terminal_size(&columns, &rows))
                queue(s, WS_TEXT, text,
                      (size_t)snprintf(text, sizeof text, "{\"resize\": [%u, %u]}", columns, rows));
}

static int on_message(void *userdata, enum websocket_opcode opcode, char *data, size_t len,
                      struct cella_err *err)
{
        struct shell *s = userdata;
        AUTO(json_doc_done) struct json_doc doc = {0};
        struct cella_err ignored;
        int64_t code;
        int r;
        switch (opcode) {
        case WS_BINARY:
                r = sys_write_all(STDOUT_FILENO, data, len);
                return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot write to standard output") : 0;
        case WS_TEXT:
                if (json_read(data, len, 64, &doc, &ignored) == 0 &&
                    json_get_integer(doc.values, "exit_code", &code) && code >= 0 && code <= 255)
                        s->exit_code = (int)code;
                return 0;
        case WS_PING:
                queue(s, WS_PONG, data, len);
                return 0;
        case WS_CLOSE:
                if (!s->closed)
                        queue(s, WS_CLOSE, data, len < 2 ? 0 : 2);
                s->closed = true;
                return 0;
        default:
                return 0;
        }
}

/* Keys on their way; "~." at the beginning of a line leaves, as in ssh: where nothing answers any
 * more, Ctrl-C does not arrive either.  How many of them are to be sent. */
static size_t filter_keys(struct shell *s, const char *keys, size_t n, char *out)
{
        size_t k = 0;
        for (size_t i = 0; i < n && !s->left; i++) {
                bool line_end = keys[i] == '\r' || keys[i] == '\n';
                if (s->escape == 1 && keys[i] == '~') {
                        s->escape = 2;
                        continue;
                }
                if (s->escape == 2) {
                        s->left = keys[i] == '.';
                        if (keys[i] != '~')
                                out[k++] = '~';
                }
                out[k++] = keys[i];
                s->escape = line_end;
        }
        return s->left ? 0 : k;
}

static int read_keys(struct shell *s, struct cella_err *err)
{
        char keys[IN_MAX], out[IN_MAX * 2];
        ssize_t n = sys_read(STDIN_FILENO, keys, sizeof keys);
        if (n == -EIO)
                n = 0; /* the terminal is gone */
        if (n < 0)
                return n == -EAGAIN ? 0 : err_set(err, CELLA_INTERNAL, (int)n, "cannot read standard input");
        if (n == 0) {
                s->input_ended = true;
                keys[0] = 4; /* what a terminal calls the end of a file */
                queue(s, WS_BINARY, keys, 1);
                return 0;
        }
        size_t len = isatty(STDIN_FILENO) ? filter_keys(s, keys, (size_t)n, out) : (size_t)n;
        if (len > 0)
                queue(s, WS_BINARY, isatty(STDIN_FILENO) ? out : keys, len);
        return 0;
}

/* ---- the connection ---- */

/* 1: it is at its end. */
static int receive(struct shell *s, struct cella_err *err)
{
        char bytes[16384];
        ssize_t n;
        int r = 0;
        while (r == 0 && (n = client_read_now(s->client, bytes, sizeof bytes, err)) != -EAGAIN) {
                if (n <= 0)
                        return n < 0 ? (int)n : 1;
                r = websocket_feed(&s->in, bytes, (size_t)n, err);
        }
        return r;
}

static int send_some(struct shell *s, struct cella_err *err)
{
        ssize_t n = send(s->fd, s->out + s->out_at, s->out_len - s->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
                s->out_at = s->out_len = 0; /* what it still had to say may be there to read */
                return 0;
        }
        if (n < 0)
                return err_set(err, CELLA_ENGINE_UNAVAILABLE, -errno, "the terminal's connection");
        s->out_at += (size_t)n;
        return 0;
}

static int go_on(struct shell *s, int resize_fd, struct cella_err *err)
{
        struct signalfd_siginfo info;
        int64_t until = 0;
        int r = 0;
        while (r == 0) {
                bool unsent = s->out_at < s->out_len;
                if (s->left || (s->closed && !unsent))
                        return 0;
                if (s->closed && until == 0)
                        until = clock_us() + LAST_WORDS_US;
                if (until && clock_us() > until)
                        return 0;
                struct pollfd fds[3] = {
                        {s->fd, (short)(POLLIN | (unsent ? POLLOUT : 0)), 0},
                        {may_read(s) ? STDIN_FILENO : -1, POLLIN, 0},
                        {resize_fd, POLLIN, 0},
                };
                if (poll(fds, 3, until ? 100 : -1) < 0) {
                        if (errno != EINTR)
                                return err_set(err, CELLA_INTERNAL, -errno, "poll");
                        continue;
                }
                if (fds[2].revents & POLLIN && sys_read(resize_fd, &info, sizeof info) > 0)
                        tell_size(s);
                if (fds[1].revents)
                        r = read_keys(s, err);
                if (r == 0 && fds[0].revents & POLLOUT)
                        r = send_some(s, err);
                if (r == 0 && fds[0].revents & (POLLIN | POLLHUP | POLLERR))
                        r = receive(s, err);
        }
        return r;
}

static int open_resize(void)
{
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGWINCH);
        sigprocmask(SIG_BLOCK, &set, NULL);
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int handshake(struct client *client, const char *sandbox, const char *command, struct cella_err *err)
{
        struct head head;
        struct url url;
        char key[WEBSOCKET_KEY_SIZE], number[16];
        unsigned columns, rows;
        int r = api_sandbox_url(&url, sandbox, "/terminal", err);
        if (r < 0)
                return r;
        if (terminal_size(&columns, &rows)) {
                snprintf(number, sizeof number, "%u", columns);
                url_add_query(&url, "cols", number);
                snprintf(number, sizeof number, "%u", rows);
                url_add_query(&url, "rows", number);
        }
        if (command)
                url_add_query(&url, "command", command);
        if (websocket_key(key) < 0)
                return err_say(err, CELLA_INTERNAL, -EIO, "no random numbers");
        const struct client_request request = {.method = "GET", .url = &url, .accept = "*/*", .upgrade = key};
        if ((r = client_send(client, &request, err)) < 0 || (r = client_answer(client, &head, err)) < 0)
                return r;
        if (head.status != 101 || !websocket_accepts(key, head.accept))
                return err_say(err, CELLA_INTERNAL, -EPROTO, "the daemon does not open a WebSocket");
        return 0;
}

/* Everything between the first byte and the last. */
static int converse(struct client *client, struct cella_err *err)
{
        static struct shell s; /* large */
        int resize_fd = open_resize();
        s.client = client;
        s.fd = client_fd(client);
        s.escape = 1;
        s.exit_code = -1;
        websocket_init(&s.in, on_message, &s);
        take_terminal();
        int r = receive(&s, err); /* what came with the head of the answer */
        if (r == 0)
                r = go_on(&s, resize_fd, err);
        cook();
        sys_close(resize_fd);
        if (r < 0)
                return r;
        if (s.left)
                fprintf(stderr, "cella: left\n");
        else if (s.exit_code < 0)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ECONNRESET,
                               "the connection ended before the shell did");
        return s.left ? 0 : s.exit_code;
}

static int shell(const struct cli_command *self, int argc, char **argv, struct shell_options *o,
                 struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        int at = cli_parse(self, argc, argv, o, NULL, err), more, r;
        if (at < 0)
                return at;
        if (at >= argc)
                return api_need_words(self, 0, 1, 1, err);
        const char *sandbox = argv[at];
        if ((more = cli_parse(self, argc - at, argv + at, o, NULL, err)) < 0)
                return more;
        at += more;
        if (at < argc && strcmp(argv[at], "--") != 0)
                return api_need_words(self, 2, 1, 1, err);
        const char *command = at + 1 < argc ? argv[at + 1] : NULL;
        if (at + 2 < argc) { /* the API has no way to say them */
                err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "the command of a terminal takes no arguments");
                return err_hint(err, "cella exec runs one that has some");
        }
        if ((r = client_new(o->socket, &client, err)) < 0 ||
            (r = handshake(client, sandbox, command, err)) < 0)
                return r;
        return converse(client, err);
}

static int shell_main(const struct cli_command *self, int argc, char **argv)
{
        struct shell_options o = {0};
        struct cella_err err = {0};
        return cli_finish(shell(self, argc, argv, &o, &err), &err, false);
}

const struct cli_command cli_shell = {
        .name = "shell",
        .usage = "SBX [-- COMMAND]",
        .text = "The exit status is the shell's. Enter ~ . leaves, even when nothing answers any more.",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = shell_main,
};
