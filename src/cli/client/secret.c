/* cli/client/secret.c -- `cella secret`: manages values that executions get by name.
 *
 * Invariants: a value is never a word of the command line and never on the screen; it is only in memory that
 * is locked, excluded from core dumps, and wiped. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/utf8.h"
#include "cli/client/api.h"
#include "cli/text.h"
#include "secret/name.h"
#include "sys/file.h"

#define PATH "/v1/secrets/"
#define VALUE_MAX 65536
#define NEWLINE_MAX 2 /* line end after the input, which is not part of the value */
#define CONTROL(c) ((c)&0x1f)

struct secret_options {
        const char *socket;
        bool json;
};

static const struct cli_option options[] = {API_SOCKET_OPTION(struct secret_options),
                                            API_JSON_OPTION(struct secret_options)};

struct value {
        size_t len;
        char text[VALUE_MAX + NEWLINE_MAX + 1];
};

/* All memory that contains the value. */
struct desk {
        struct value value, again;
        char body[sizeof "{\"value\":\"\"}" + (size_t)VALUE_MAX * 6]; /* each byte as \u0000 */
};

static struct desk *desk_new(void)
{
        prctl(PR_SET_DUMPABLE, 0);
        void *desk =
                mmap(NULL, sizeof(struct desk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (desk == MAP_FAILED)
                return NULL;
        mlock(desk, sizeof(struct desk)); /* fails if the limit does not allow it */
        madvise(desk, sizeof(struct desk), MADV_DONTDUMP);
        return desk;
}

static struct desk *desk_free(struct desk *desk)
{
        if (desk) {
                explicit_bzero(desk, sizeof *desk);
                munmap(desk, sizeof *desk);
        }
        return NULL;
}
DEFINE_AUTO(struct desk *, desk_free)

/* ---- input from a terminal ---- */

static struct termios before;
static volatile sig_atomic_t quiet;

static void speak(void)
{
        if (quiet)
                tcsetattr(STDIN_FILENO, TCSAFLUSH,
                          &before); /* also drops the rest of a paste of several lines */
        quiet = 0;
}

/* No echo, and byte by byte: a line of the terminal has at most 4095 bytes. */
static int hush(struct cella_err *err)
{
        struct termios t;
        if (tcgetattr(STDIN_FILENO, &before) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot turn off the terminal's echo");
        t = before;
        t.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | IEXTEN);
        t.c_lflag |= ISIG;
        t.c_cc[VSUSP] = _POSIX_VDISABLE; /* a stopped process would leave the shell without echo */
        t.c_cc[VMIN] = 1;
        t.c_cc[VTIME] = 0;
        cli_on_signal(speak);
        quiet = 1;
        if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &t) < 0) {
                quiet = 0;
                return err_set(err, CELLA_INTERNAL, -errno, "cannot turn off the terminal's echo");
        }
        return 0;
}

static void erase(struct value *v)
{
        while (v->len > 0 && (v->text[--v->len] & 0xc0) == 0x80)
                continue;
}

/* Returns 1 to continue, 0 at the end, or -errno. */
static int take_key(struct value *v, char c, struct cella_err *err)
{
        unsigned char key = (unsigned char)c;
        if (key == '\r' || key == '\n' || key == before.c_cc[VEOF])
                return 0;
        if (key == 0x7f || key == '\b' || key == before.c_cc[VERASE]) {
                erase(v);
        } else if (key == before.c_cc[VKILL] || key == CONTROL('u')) {
                v->len = 0;
        } else if (key < ' ' || v->len == VALUE_MAX) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        key < ' ' ? "the input contains a control character" : "the input is too long");
                return err_hint(err, "read it from a file: cella secret set NAME < FILE");
        } else {
                v->text[v->len++] = c;
        }
        return 1;
}

static int secret_ask(const char *prompt, const char *name, struct value *v, struct cella_err *err)
{
        int r = 1;
        fprintf(stderr, "%s %s: ", prompt, name);
        while (r == 1) {
                char c;
                ssize_t n = sys_read(STDIN_FILENO, &c, 1);
                r = n == 1  ? take_key(v, c, err)
                    : n < 0 ? err_set(err, CELLA_INTERNAL, (int)n, "cannot read the value")
                            : 0;
                explicit_bzero(&c, 1);
        }
        fputc('\n', stderr);
        return r;
}

static int read_typed(struct desk *desk, const char *name, struct cella_err *err)
{
        int r = hush(err);
        if (r < 0)
                return r;
        r = secret_ask("value of", name, &desk->value, err);
        if (r == 0 && desk->value.len > 0)
                r = secret_ask("again, value of", name, &desk->again, err);
        speak();
        if (r == 0 && (desk->value.len != desk->again.len ||
                       memcmp(desk->value.text, desk->again.text, desk->value.len) != 0)) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "the two values differ; nothing was set");
                return err_hint(err, "for a value of several lines: cella secret set NAME < FILE");
        }
        return r;
}

/* ---- input from a file or pipe ---- */

static int read_piped(struct value *v, struct cella_err *err)
{
        while (v->len < sizeof v->text) {
                ssize_t n = sys_read(STDIN_FILENO, v->text + v->len, sizeof v->text - v->len);
                if (n < 0)
                        return err_set(err, CELLA_INVALID_REQUEST, (int)n, "cannot read standard input");
                if (n == 0)
                        break;
                v->len += (size_t)n;
        }
        if (v->len > 0 && v->text[v->len - 1] == '\n')
                v->len--;
        if (v->len > 0 && v->text[v->len - 1] == '\r')
                v->len--;
        return 0;
}

/* ---- the request ---- */

static int secret_put_value(struct desk *desk, size_t *ret_len, struct cella_err *err)
{
        static const char digits[] = "0123456789abcdef";
        const struct value *v = &desk->value;
        char *to = stpcpy(desk->body, "{\"value\":\"");
        for (size_t i = 0, n; i < v->len; i += n) {
                unsigned char c = (unsigned char)v->text[i];
                n = utf8_len(v->text + i, v->len - i);
                if (n == 0 || c == '\0') {
                        err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                "the value is not text (UTF-8 without NUL)");
                        return err_hint(err, "encode it: base64 -w0 FILE | cella secret set NAME");
                }
                if (c == '"' || c == '\\') {
                        *to++ = '\\';
                        *to++ = (char)c;
                } else if (c < ' ') {
                        to = stpcpy(to, "\\u00");
                        *to++ = digits[c >> 4];
                        *to++ = digits[c & 15];
                } else {
                        memcpy(to, v->text + i, n);
                        to += n;
                }
        }
        to = stpcpy(to, "\"}");
        *ret_len = (size_t)(to - desk->body);
        return 0;
}

static int secret_check_name(const char *name, struct cella_err *err)
{
        if (secret_name_valid(name, strlen(name)))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "'%.80s' cannot be the name of a secret", name);
        return err_hint(err, "a name is %s", SECRET_NAME_RULE);
}

static int secret_set(struct client *client, const struct secret_options *o, const char *name,
                      struct cella_err *err)
{
        AUTO(desk_free) struct desk *desk = NULL;
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct api_body body = {0};
        struct url url;
        int r = secret_check_name(name, err);
        if (r < 0)
                return r;
        if (!(desk = desk_new()))
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read the value");
        r = isatty(STDIN_FILENO) ? read_typed(desk, name, err) : read_piped(&desk->value, err);
        if (r < 0)
                return r;
        if (desk->value.len == 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "no value was given");
        if (desk->value.len > VALUE_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -EFBIG, "a value has at most %d bytes", VALUE_MAX);
        body.text = desk->body;
        if ((r = secret_put_value(desk, &body.len, err)) < 0)
                return r;
        url_init(&url, PATH);
        url_add_part(&url, name);
        r = api_call(client, "PUT", &url, &body, &answer, err);
        if (r == 0 && o->json && answer.len > 0)
                api_print(&answer);
        return r;
}

static void print_secrets(json_t *secrets)
{
        static const char *const headings[] = {"NAME", "CREATED", "CHANGED"};
        struct table t;
        size_t i;
        json_t *s;
        table_init(&t, headings, ARRAY_LEN(headings));
        json_array_foreach (secrets, i, s) {
                table_add(&t, foreign_json_get_text(s, "name"), SECRET_NAME_MAX);
                table_add(&t, foreign_json_get_text(s, "created"), 32);
                table_add(&t, foreign_json_get_text(s, "changed"), 32);
        }
        table_print(&t);
}

static int secret_drop(struct client *client, const char *name, struct cella_err *err)
{
        int r = secret_check_name(name, err);
        return r < 0 ? r : api_remove(client, PATH, name, err);
}

/* The user may have typed the value after the name: overwrite it, so that it no longer shows in the process
 * list. */
static int on_command_line(char **argv, int n, struct cella_err *err)
{
        for (int i = 3; i <= n; i++)
                explicit_bzero(argv[i], strlen(argv[i]));
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "the value cannot be given on the command line");
        return err_hint(err, "'cella secret set NAME' asks for the value or reads it from standard input; if "
                             "this was a real value, it is now in the history of your shell: replace it");
}

static int secret(const struct cli_command *self, int argc, char **argv, struct secret_options *o,
                  struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        int n = cli_parse_all(self, argc, argv, o, NULL, err);
        if (n > 2 && !strcmp(argv[1], "set"))
                return on_command_line(argv, n, err);
        int verb = n < 0 ? n : api_verb(self, n, argv, "set", err);
        int r = verb < 0 ? verb : client_new(o->socket, &client, err);
        if (r < 0)
                return r;
        return verb == API_LIST   ? api_list(client, "/v1/secrets", "secrets", o->json, print_secrets, err)
               : verb == API_MAKE ? secret_set(client, o, argv[2], err)
                                  : secret_drop(client, argv[2], err);
}

static int secret_main(const struct cli_command *self, int argc, char **argv)
{
        static struct secret_options o;
        struct cella_err err = {0};
        int r = secret(self, argc, argv, &o, &err);
        return cli_finish(r, &err, o.json);
}

const struct cli_command cli_secret = {
        .name = "secret",
        .usage = "set NAME | ls | rm NAME",
        .text = "set asks for the value without showing it, or reads it from standard input without the last "
                "newline.\n"
                "A request passes it to code with \"secrets\": {\"VARIABLE\": \"{{secret:NAME}}\"}.  In the "
                "output of\n"
                "the code it is replaced by ***.  No command shows a value.",
        .examples = "  cella secret set github\n"
                    "  cella secret set github <token.txt\n"
                    "  cella exec --secret GITHUB_TOKEN=github $SBX -- ./push.sh\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = secret_main,
};
