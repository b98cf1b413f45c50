/* cli/client/shell.c -- `cella shell`: a terminal in a sandbox, over a WebSocket. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wslay/wslay.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/client/api.h"
#include "cli/terminal.h"
#include "http/sha1.h"
#include "sys/file.h"

#define OUT_MAX 32768   /* unsent bytes; above this, the keyboard is not read */
#define ANSWERS_MAX 256 /* unsent messages (answers to pings); above this, the daemon is not read */
#define TEXT_MAX 65536
#define KEY_BYTES 16 /* of Sec-WebSocket-Key */
#define IN_MAX 4096
#define LAST_WORDS_US 2000000 /* from the first close message to the end of the connection */

struct shell_options {
        const char *socket;
};

static const struct cli_option options[] = {API_SOCKET_OPTION(struct shell_options)};

struct shell {
        struct client *client;
        int fd; /* of the connection */
        wslay_event_context_ptr websocket;
        struct cella_err *err;
        int failed;       /* -errno with *err set; 0: no failure */
        bool binary;      /* of the current message */
        bool control;     /* the current frame is a control frame */
        bool ended;       /* the daemon has closed the connection */
        bool held;        /* reading waits until unsent messages are sent */
        bool input_ended; /* end of standard input */
        bool left;        /* the user typed ~. */
        int escape;       /* 0: in a line; 1: at its beginning; 2: after ~ at its beginning */
        int exit_code;    /* -1: not known yet */
        size_t text_len;  /* of the current text message */
        char text[TEXT_MAX];
};

/* ---- messages ---- */

static void queue(struct shell *s, uint8_t opcode, const char *data, size_t len)
{
        const struct wslay_event_msg message = {opcode, (const uint8_t *)data, len};
        wslay_event_queue_msg(s->websocket, &message);
}

static bool may_read(const struct shell *s)
{
        return !s->input_ended && wslay_event_get_queued_msg_length(s->websocket) < OUT_MAX;
}

static void report_size(struct shell *s)
{
        char text[64];
        unsigned columns, rows;
        if (user_terminal_size(&columns, &rows))
                queue(s, WSLAY_TEXT_FRAME, text,
                      (size_t)snprintf(text, sizeof text, "{\"resize\": [%u, %u]}", columns, rows));
}

/* ---- callbacks of wslay ---- */

static ssize_t on_receive(wslay_event_context_ptr ctx, uint8_t *data, size_t size, int flags, void *userdata)
{
        struct shell *s = userdata;
        (void)flags;
        s->held = wslay_event_get_queued_msg_count(ctx) > ANSWERS_MAX;
        ssize_t n = s->held ? -EAGAIN : client_read_now(s->client, (char *)data, size, s->err);
        if (n > 0)
                return n;
        s->ended = n == 0;
        if (n < 0 && n != -EAGAIN)
                s->failed = (int)n;
        wslay_event_set_error(ctx, s->failed ? WSLAY_ERR_CALLBACK_FAILURE : WSLAY_ERR_WOULDBLOCK);
        return -1;
}

static ssize_t on_send(wslay_event_context_ptr ctx, const uint8_t *data, size_t len, int flags,
                       void *userdata)
{
        struct shell *s = userdata;
        (void)flags;
        ssize_t n = send(s->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0)
                return n;
        if (errno == EPIPE || errno == ECONNRESET)
                return (ssize_t)len; /* the last messages can still be read */
        if (errno == EAGAIN || errno == EINTR) {
                wslay_event_set_error(ctx, WSLAY_ERR_WOULDBLOCK);
        } else {
                s->failed = err_set(s->err, CELLA_ENGINE_UNAVAILABLE, -errno,
                                    "the connection of the terminal failed");
                wslay_event_set_error(ctx, WSLAY_ERR_CALLBACK_FAILURE);
        }
        return -1;
}

/* The mask protects proxies (RFC 6455, 10.3). */
static int on_mask(wslay_event_context_ptr ctx, uint8_t *mask, size_t len, void *userdata)
{
        (void)ctx;
        (void)userdata;
        return getrandom(mask, len, 0) == (ssize_t)len ? 0 : -1;
}

static void on_frame(wslay_event_context_ptr ctx, const struct wslay_event_on_frame_recv_start_arg *frame,
                     void *userdata)
{
        struct shell *s = userdata;
        (void)ctx;
        s->control = wslay_is_ctrl_frame(frame->opcode);
        if (s->control || frame->opcode == WSLAY_CONTINUATION_FRAME)
                return;
        s->binary = frame->opcode == WSLAY_BINARY_FRAME;
        s->text_len = 0;
}

static void on_payload(wslay_event_context_ptr ctx, const struct wslay_event_on_frame_recv_chunk_arg *chunk,
                       void *userdata)
{
        struct shell *s = userdata;
        size_t len = chunk->data_length;
        int r = 0;
        if (s->control || s->failed)
                return;
        if (s->binary) {
                r = sys_write_all(STDOUT_FILENO, chunk->data, len);
                if (r < 0)
                        err_set(s->err, CELLA_INTERNAL, r, "cannot write to standard output");
        } else if (len > sizeof s->text - s->text_len) {
                r = err_say(s->err, CELLA_INTERNAL, -EPROTO, "the daemon sent a message that is too long");
        } else {
                memcpy(s->text + s->text_len, chunk->data, len);
                s->text_len += len;
        }
        s->failed = r;
        if (r < 0)
                wslay_event_shutdown_read(ctx);
}

static void shell_on_message(wslay_event_context_ptr ctx, const struct wslay_event_on_msg_recv_arg *message,
                             void *userdata)
{
        struct shell *s = userdata;
        int64_t code;
        (void)ctx;
        if (message->opcode != WSLAY_TEXT_FRAME)
                return;
        AUTO(json_decref) json_t *event = foreign_json_parse(s->text, s->text_len, 64, 0, NULL);
        if (foreign_json_get_integer(event, "exit_code", &code) && code >= 0 && code <= 255)
                s->exit_code = (int)code;
}

/* Copies the keys to send and returns their number.  "~." at the beginning of a line disconnects, as in ssh:
 * if the daemon does not answer, Ctrl-C has no effect. */
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
                n = 0; /* the terminal was closed */
        if (n < 0)
                return n == -EAGAIN ? 0 : err_set(err, CELLA_INTERNAL, (int)n, "cannot read standard input");
        if (n == 0) {
                s->input_ended = true;
                keys[0] = 4; /* Ctrl-D: end of file on a terminal */
                queue(s, WSLAY_BINARY_FRAME, keys, 1);
                return 0;
        }
        size_t len = isatty(STDIN_FILENO) ? filter_keys(s, keys, (size_t)n, out) : (size_t)n;
        if (len > 0)
                queue(s, WSLAY_BINARY_FRAME, isatty(STDIN_FILENO) ? out : keys, len);
        return 0;
}

/* ---- the connection ---- */

/* Returns 1 at the end of the connection. */
static int shell_receive(struct shell *s)
{
        bool bad = wslay_event_recv(s->websocket) < 0;
        if (bad && !s->failed)
                s->failed = err_set(s->err, CELLA_INTERNAL, -ENOMEM, "the connection of the terminal failed");
        return s->failed ? s->failed : s->ended;
}

static int send_some(struct shell *s)
{
        bool bad = wslay_event_send(s->websocket) < 0;
        if (bad && !s->failed)
                s->failed = err_set(s->err, CELLA_INTERNAL, -ENOMEM, "the connection of the terminal failed");
        return s->failed;
}

static int go_on(struct shell *s, int resize_fd, struct cella_err *err)
{
        struct signalfd_siginfo info;
        int64_t until = 0;
        int r = shell_receive(s); /* data that arrived with the head of the answer */
        while (r == 0) {
                bool unsent = wslay_event_want_write(s->websocket);
                bool reads = wslay_event_want_read(s->websocket);
                if (s->left || (!reads && !unsent))
                        return 0;
                if (!reads && until == 0)
                        until = clock_us() + LAST_WORDS_US;
                if (until && clock_us() > until)
                        return 0;
                struct pollfd fds[3] = {
                        {s->fd, (short)((reads && !s->held ? POLLIN : 0) | (unsent ? POLLOUT : 0)), 0},
                        {reads && may_read(s) ? STDIN_FILENO : -1, POLLIN, 0},
                        {resize_fd, POLLIN, 0},
                };
                if (poll(fds, 3, until ? 100 : -1) < 0) {
                        if (errno != EINTR)
                                return err_set(err, CELLA_INTERNAL, -errno, "poll");
                        continue;
                }
                if (fds[2].revents & POLLIN && sys_read(resize_fd, &info, sizeof info) > 0)
                        report_size(s);
                if (fds[1].revents)
                        r = read_keys(s, err);
                if (r == 0 && fds[0].revents & POLLOUT)
                        r = send_some(s);
                if (r == 0 && (s->held || fds[0].revents & (POLLIN | POLLHUP | POLLERR)))
                        r = shell_receive(s);
        }
        return r;
}

static int make_key(char ret[BASE64_LEN(KEY_BYTES) + 1])
{
        char random[KEY_BYTES];
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
                return -EIO;
        base64_encode(random, sizeof random, ret);
        ret[BASE64_LEN(KEY_BYTES)] = '\0';
        return 0;
}

/* Whether this is the answer to the key (RFC 6455, 4.1). */
static bool accepts(const char *key, const char *accept)
{
        char joined[96], expected[BASE64_LEN(SHA1_BYTES) + 1] = "";
        uint8_t hash[SHA1_BYTES];
        int len = snprintf(joined, sizeof joined, "%.40s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
        sha1(joined, (size_t)len, hash);
        base64_encode((const char *)hash, sizeof hash, expected);
        return !strcmp(expected, accept);
}

static int handshake(struct client *client, const char *sandbox, const char *command, struct cella_err *err)
{
        struct head head;
        struct url url;
        char key[BASE64_LEN(KEY_BYTES) + 1], number[16];
        unsigned columns, rows;
        int r = api_sandbox_url(&url, sandbox, "/terminal", err);
        if (r < 0)
                return r;
        if (user_terminal_size(&columns, &rows)) {
                snprintf(number, sizeof number, "%u", columns);
                url_add_query(&url, "cols", number);
                snprintf(number, sizeof number, "%u", rows);
                url_add_query(&url, "rows", number);
        }
        if (command)
                url_add_query(&url, "command", command);
        if (make_key(key) < 0)
                return err_say(err, CELLA_INTERNAL, -EIO, "cannot get random numbers");
        const struct client_request request = {.method = "GET", .url = &url, .accept = "*/*", .upgrade = key};
        if ((r = client_send(client, &request, err)) < 0 || (r = client_answer(client, &head, err)) < 0)
                return r;
        if (head.status != 101 || !accepts(key, head.accept))
                return err_say(err, CELLA_INTERNAL, -EPROTO, "the daemon does not open a WebSocket");
        return 0;
}

/* Runs the terminal from the first byte to the last. */
static int converse(struct client *client, struct cella_err *err)
{
        static const struct wslay_event_callbacks callbacks = {
                .recv_callback = on_receive,
                .send_callback = on_send,
                .genmask_callback = on_mask,
                .on_frame_recv_start_callback = on_frame,
                .on_frame_recv_chunk_callback = on_payload,
                .on_msg_recv_callback = shell_on_message,
        };
        static struct shell s; /* large */
        s.client = client;
        s.fd = client_fd(client);
        s.err = err;
        s.escape = 1;
        s.exit_code = -1;
        if (wslay_event_context_client_init(&s.websocket, &callbacks, &s) < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "shell");
        wslay_event_config_set_no_buffering(s.websocket, 1); /* output is passed on without delay */
        wslay_event_config_set_max_recv_msg_length(s.websocket, INT64_MAX);
        int resize_fd = user_terminal_open_resize();
        user_terminal_take();
        int r = go_on(&s, resize_fd, err);
        user_terminal_restore();
        sys_close(resize_fd);
        wslay_event_context_free(s.websocket);
        if (r < 0)
                return r;
        if (s.left)
                fprintf(stderr, "cella: left\n");
        else if (s.exit_code < 0)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ECONNRESET,
                               "the connection was closed before the shell ended");
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
        if (at + 2 < argc) { /* the API has no field for arguments */
                err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "cella shell starts a command without arguments");
                return err_hint(err, "use cella exec for a command with arguments");
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
        .text = "The exit status is that of the shell. The keys Enter ~ . disconnect, even if the daemon "
                "does not answer.",
        .examples = "  cella shell $SBX\n"
                    "  cella shell $SBX -- python3\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = shell_main,
};
