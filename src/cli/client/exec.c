/* cli/client/exec.c -- `cella exec`: runs code in a sandbox of the daemon. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/utf8.h"
#include "cli/client/api.h"
#include "cli/client/sse.h"
#include "cli/run/words.h"
#include "cli/text.h"
#include "sys/file.h"

#define STDIN_MAX (16u * 1024 * 1024)
#define EVENT_VALUES_MAX 1000000u
#define REFUSED_REPORTED 8 /* refused connections */

struct exec_options {
        const char *socket, *session, *agent, *scope, *workspace, *cwd, *image, *engine;
        bool json, detach, background, no_stdin, kill_on_output;
        struct cli_list env, secrets, mounts, imports;
        struct api_network network;
        struct cella_options limits;
        struct cella_command command;
        const char *sandbox; /* NULL: the daemon chooses one */
        struct words words;
        char *input; /* owned */
        size_t input_len;
};

static const struct cli_option options[] = {
        {"session", "NAME", "use the sandbox of this session; leave out SBX",
         CLI_INTO(CLI_TEXT, struct exec_options, session)},
        {"agent", "NAME", "use the sandbox of this agent; leave out SBX",
         CLI_INTO(CLI_TEXT, struct exec_options, agent)},
        {"scope", "SCOPE", "execution, session, agent or shared; leave out SBX",
         CLI_INTO(CLI_TEXT, struct exec_options, scope)},
        {"workspace", "none|ro|rw", "mount the agent's directory at /workspace; leave out SBX",
         CLI_INTO(CLI_TEXT, struct exec_options, workspace)},
        {"image", "NAME", "root file system: the name of an image, or host; leave out SBX",
         CLI_INTO(CLI_TEXT, struct exec_options, image)},
        {"engine", "native|docker", "the engine that creates the sandbox; leave out SBX",
         CLI_INTO(CLI_TEXT, struct exec_options, engine)},
        API_MOUNT_OPTION(struct exec_options),
        API_NETWORK_OPTIONS(struct exec_options),
        {"env", "NAME=VALUE", "set a variable", CLI_INTO(CLI_LIST, struct exec_options, env), .letter = 'e'},
        {"secret", "VARIABLE=NAME", "set a variable to the value of a secret",
         CLI_INTO(CLI_LIST, struct exec_options, secrets)},
        {"cwd", "DIR", "working directory (/workspace)", CLI_INTO(CLI_TEXT, struct exec_options, cwd),
         .letter = 'w'},
        {"allow-import", "MODULE", "refuse code that imports any other module; may be repeated",
         CLI_INTO(CLI_LIST, struct exec_options, imports)},
        {"no-stdin", NULL, "do not pass standard input to the code",
         CLI_INTO(CLI_FLAG, struct exec_options, no_stdin)},
        {"detach", NULL, "do not wait for the end: print the execution's id",
         CLI_INTO(CLI_FLAG, struct exec_options, detach)},
        {"background", NULL, "a process that stays in the sandbox: print its PID (cella ps, cella kill)",
         CLI_INTO(CLI_FLAG, struct exec_options, background)},
        {"kill-on-output", NULL, "end the run when it writes more than --output",
         CLI_INTO(CLI_FLAG, struct exec_options, kill_on_output)},
        API_SOCKET_OPTION(struct exec_options),
        {"json", NULL, "print the whole result as JSON", CLI_INTO(CLI_FLAG, struct exec_options, json)},
        CLI_QUIET_OPTION,
};

/* ---- the request ---- */

/* JSON strings cannot contain arbitrary bytes, so the text must be valid UTF-8. */
static int check_text(const char *what, const char *text, size_t len, struct cella_err *err)
{
        for (size_t i = 0, n; i < len; i += n) {
                n = utf8_len(text + i, len - i);
                if (n == 0 || !text[i])
                        return err_say(err, CELLA_INVALID_REQUEST, -EILSEQ, "%s is not UTF-8 text (byte %zu)",
                                       what, i);
        }
        return 0;
}

static int put_words(struct json *j, const char *key, const char *const *words, struct cella_err *err)
{
        json_put_open(j, key, '[');
        for (; *words; words++) {
                int r = check_text("an argument", *words, strlen(*words), err);
                if (r < 0)
                        return r;
                json_put_string(j, NULL, *words);
        }
        json_put_close(j, ']');
        return 0;
}

static int put_command(struct json *j, const struct cella_command *c, struct cella_err *err)
{
        int r;
        if (!c->runtime)
                return put_words(j, "command", c->argv, err);
        json_put_string(j, "runtime", c->runtime);
        if ((r = check_text("the code", c->code, c->code_len, err)) < 0)
                return r;
        json_put_bytes(j, "code", c->code, c->code_len);
        return c->argv[0] ? put_words(j, "args", c->argv, err) : 0;
}

static int put_pairs(struct json *j, const char *key, const char *option, const struct cli_list *env,
                     struct cella_err *err)
{
        if (env->n > 0)
                json_put_open(j, key, '{');
        for (size_t i = 0; i < env->n; i++) {
                char name[256];
                const char *item = env->items[i];
                size_t len = strcspn(item, "=");
                if (len == 0 || len >= sizeof name || !item[len])
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s, not '%.60s'", option, item);
                int r = check_text("a variable", item, strlen(item), err);
                if (r < 0)
                        return r;
                snprintf(name, sizeof name, "%.*s", (int)len, item);
                json_put_string(j, name, item + len + 1);
        }
        if (env->n > 0)
                json_put_close(j, '}');
        return 0;
}

static void put_string(struct json *j, const char *key, const char *text)
{
        if (text)
                json_put_string(j, key, text);
}

static int put_body(struct api_body *body, const struct exec_options *o, struct cella_err *err)
{
        int r = api_body_begin(body, err);
        if (r < 0 || (r = put_command(&body->j, &o->command, err)) < 0 ||
            (r = put_pairs(&body->j, "env", "--env takes NAME=VALUE", &o->env, err)) < 0 ||
            (r = put_pairs(&body->j, "secrets", "--secret takes VARIABLE=NAME", &o->secrets, err)) < 0 ||
            (r = api_mounts_put(&body->j, &o->mounts, err)) < 0)
                return r;
        put_string(&body->j, "session", o->session);
        put_string(&body->j, "agent", o->agent);
        put_string(&body->j, "scope", o->scope);
        put_string(&body->j, "workspace", o->workspace);
        put_string(&body->j, "cwd", o->cwd);
        put_string(&body->j, "image", o->image);
        put_string(&body->j, "engine", o->engine);
        api_strings_put(&body->j, "allowed_imports", &o->imports);
        api_network_put(&body->j, &o->network);
        api_limits_put(&body->j, "limits", &o->limits);
        if (o->input_len > 0) {
                json_put_open(&body->j, "stdin", '{');
                json_put_base64(&body->j, "base64", o->input, o->input_len);
                json_put_close(&body->j, '}');
        }
        if (o->kill_on_output)
                json_put_string(&body->j, "on_output_limit", "kill");
        if (o->detach)
                json_put_bool(&body->j, "detach", true);
        if (!o->json && !o->detach && !o->background)
                json_put_string(&body->j, "encoding", "base64");
        return api_body_end(body, err);
}

/* Standard input is a field of the request, so all of it is read first. */
static int read_input(struct exec_options *o, struct cella_err *err)
{
        size_t size = 0;
        if (o->no_stdin || o->command.stdin_fd < 0 || isatty(STDIN_FILENO))
                return 0;
        for (;;) {
                if (o->input_len == size) {
                        size = size ? size * 2 : 65536;
                        char *more = realloc(o->input, size);
                        if (!more)
                                return err_set(err, CELLA_INTERNAL, -ENOMEM, "standard input");
                        o->input = more;
                }
                ssize_t n = sys_read(STDIN_FILENO, o->input + o->input_len, size - o->input_len);
                if (n < 0)
                        return err_set(err, CELLA_INTERNAL, (int)n, "cannot read standard input");
                if (n == 0)
                        return 0;
                o->input_len += (size_t)n;
                if (o->input_len > STDIN_MAX) {
                        err_say(err, CELLA_TOO_LARGE, -EFBIG, "standard input has more than %u MiB",
                                STDIN_MAX >> 20);
                        return err_hint(err, "copy a larger file into the sandbox with cella cp");
                }
        }
}

/* ---- the answer ---- */

struct stream {
        int status;       /* from the exit event; -1: not received */
        unsigned refused; /* refused connections */
};

/* Returns the exit status as in `cella run`: that of the code, or the reason why it ended. */
static int exit_status(json_t *result)
{
        const char *status = foreign_json_get_text(result, "status");
        int64_t code = EXIT_CELLA;
        bool has_code = foreign_json_get_integer(result, "exit_code", &code) && code >= 0 && code <= 255;
        if (!status)
                return EXIT_CELLA;
        if (!strcmp(status, "timeout"))
                return EXIT_TIMEOUT;
        if (!strcmp(status, "memory_limit"))
                return EXIT_MEMORY;
        return has_code ? (int)code : EXIT_CELLA;
}

/* Prints one line if a limit ended the code: the output of the code does not show that. */
static void report_limit(json_t *result)
{
        char status[32], hint[256];
        text_safe(status, sizeof status, foreign_json_get_text(result, "status"));
        text_safe(hint, sizeof hint, foreign_json_get_text(result, "hint"));
        const bool limited = strcmp(status, "exited") != 0 && strcmp(status, "signaled") != 0;
        if ((!limited && !hint[0]) || !cli_may_note())
                return;
        char text[320];
        text_limit(text, sizeof text, status, hint);
        fprintf(stderr, "cella: %s%s\n", limited ? "" : "hint: ", limited ? text : hint);
}

/* Prints a refused connection: the output of the code may not show it. */
static void report_violation(struct stream *s, json_t *violation)
{
        char kind[32], target[300], detail[160];
        text_safe(kind, sizeof kind, foreign_json_get_text(violation, "kind"));
        text_safe(target, sizeof target, foreign_json_get_text(violation, "target"));
        text_safe(detail, sizeof detail, foreign_json_get_text(violation, "detail"));
        if (!strcmp(kind, "network") && s->refused++ < REFUSED_REPORTED && cli_may_note())
                fprintf(stderr, "cella: refused: %s %s: %s\n", kind, target, detail);
}

/* buffer: at least as large as the text of the event. */
static int write_output(int fd, json_t *event, char *buffer, size_t size, struct cella_err *err)
{
        const json_t *bytes = json_object_get(event, "base64"), *text = json_object_get(event, "text");
        const char *data = json_string_value(bytes ? bytes : text);
        ssize_t len = data ? (ssize_t)json_string_length(bytes ? bytes : text) : -1;
        if (data && bytes) {
                len = base64_decode(data, (size_t)len, buffer, size);
                data = buffer;
        }
        if (len < 0)
                return err_say(err, CELLA_INTERNAL, -EPROTO, "cannot decode the output that the daemon sent");
        int r = sys_write_all(fd, data, (size_t)len);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot write the output") : 0;
}

static int late_error(json_t *event, struct cella_err *err)
{
        json_t *error = json_object_get(event, "error");
        char message[sizeof err->msg], hint[sizeof err->hint];
        text_safe(message, sizeof message, foreign_json_get_text(error ? error : event, "message"));
        text_safe(hint, sizeof hint, foreign_json_get_text(error ? error : event, "hint"));
        err_say(err, CELLA_INTERNAL, -EREMOTEIO, "%s", *message ? message : "the daemon failed");
        return err_hint(err, "%s", hint);
}

static int client_exec_on_event(void *userdata, const char *name, char *data, size_t len,
                                struct cella_err *err)
{
        struct stream *s = userdata;
        struct cella_err why = {0};
        bool output = !strcmp(name, "stdout") || !strcmp(name, "stderr"),
             refused = !strcmp(name, "violation");
        if (!output && !refused && strcmp(name, "exit") != 0 && strcmp(name, "error") != 0)
                return 0;
        AUTO(json_decref) json_t *event = foreign_json_parse(data, len, EVENT_VALUES_MAX, 0, &why);
        if (!event)
                return err_say(err, CELLA_INTERNAL, why.num, "the daemon sent an invalid event: %s", why.msg);
        if (output)
                return write_output(name[3] == 'o' ? STDOUT_FILENO : STDERR_FILENO, event, data, len, err);
        if (!strcmp(name, "error"))
                return late_error(event, err);
        if (refused) {
                report_violation(s, event);
                return 0;
        }
        s->status = exit_status(event);
        report_limit(event);
        return 0;
}

static int stream_output(struct client *client, struct cella_err *err)
{
        struct stream stream = {.status = -1};
        struct sse sse;
        char buffer[65536];
        ssize_t n = 0;
        int r = 0;
        sse_init(&sse, client_exec_on_event, &stream);
        while (r == 0 && stream.status < 0 && (n = client_read(client, buffer, sizeof buffer, err)) > 0)
                r = sse_feed(&sse, buffer, (size_t)n, err);
        sse_done(&sse);
        if (r == -EPIPE)
                return 128 + SIGPIPE; /* the reader of our output is gone; closing the connection cancels the
                                         execution */
        if (r < 0 || n < 0)
                return r < 0 ? r : (int)n;
        return stream.status >= 0 ? stream.status
                                  : err_say(err, CELLA_ENGINE_UNAVAILABLE, -ECONNRESET,
                                            "the connection to the daemon was closed before the code ended");
}

/* For requests with one answer: at the end, or (detached) at the start. */
static int print_answer(struct client *client, const struct exec_options *o, struct cella_err *err)
{
        AUTO(api_answer_done) struct api_answer answer = {0};
        char word[64];
        bool ended = !o->detach && !o->background;
        int r = api_read(client, &answer, err);
        if (r < 0)
                return r;
        if (o->json) {
                api_print(&answer);
        } else {
                api_text(json_object_get(answer.root, o->background ? "pid" : "id"), word, sizeof word);
                text_print(stdout, word, strlen(word));
                putchar('\n');
        }
        return ended ? exit_status(answer.root) : 0;
}

/* ---- the command ---- */

/* Parses [SBX | -] and the code or command; options may come before and after SBX. */
static int take_words(const struct cli_command *self, int argc, char **argv, struct exec_options *o,
                      struct cella_err *err)
{
        int at = cli_parse(self, argc, argv, o, &o->limits, err);
        if (at < 0)
                return at;
        bool scoped = o->session || o->agent || o->scope;
        bool dash = at < argc && !strcmp(argv[at], "-");
        if (dash || (at < argc && (scoped ? api_is_sandbox(argv[at]) : api_names_sandbox(argv[at])))) {
                o->sandbox = dash ? NULL : argv[at];
                int more = cli_parse(self, argc - at, argv + at, o, &o->limits, err);
                if (more < 0)
                        return more;
                at += more;
        } else if (!scoped) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "name the sandbox: its id or name, or - for a new one%s%.40s%s",
                        at < argc ? ", not '" : "", at < argc ? argv[at] : "", at < argc ? "'" : "");
                return err_hint(err, "cella exec --help");
        }
        if (o->sandbox &&
            (o->session || o->agent || o->scope || o->workspace || o->image || o->engine || o->mounts.n > 0))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--session, --agent, --scope, --workspace, --image, --engine and --mount "
                               "select the sandbox: leave out %s",
                               o->sandbox);
        if (o->background && !o->sandbox)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--background needs the id or name of a sandbox, in which the process stays");
        o->command.stdin_fd = STDIN_FILENO;
        o->words.command = "exec";
        return words_take(&o->command, &o->words, argc - at, argv + at, err);
}

static int exec(const struct cli_command *self, int argc, char **argv, struct exec_options *o,
                struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        AUTO(api_body_done) struct api_body body = {0};
        struct head head;
        struct url url;
        api_limits_init(&o->limits);
        int r = take_words(self, argc, argv, o, err);
        if (r < 0 || (r = client_new(o->socket, &client, err)) < 0)
                return r;
        cli_on_signal(NULL); /* ending this process closes the connection, which cancels the execution */
        if ((r = read_input(o, err)) < 0 || (r = put_body(&body, o, err)) < 0)
                return r;
        if (o->sandbox)
                r = api_sandbox_url(&url, o->sandbox, o->background ? "/processes" : "/exec", err);
        else
                url_init(&url, "/v1/exec");
        bool streams = !o->json && !o->detach && !o->background;
        const struct client_request request = {
                .method = "POST",
                .url = &url,
                .accept = streams ? "text/event-stream" : NULL,
                .body = body.text,
                .body_len = body.len,
                .patient = true,
        };
        if (r < 0 || (r = client_send(client, &request, err)) < 0 ||
            (r = client_answer(client, &head, err)) < 0)
                return r;
        return streams ? stream_output(client, err) : print_answer(client, o, err);
}

static int exec_main(const struct cli_command *self, int argc, char **argv)
{
        static struct exec_options o; /* large */
        struct cella_err err = {0};
        int r = exec(self, argc, argv, &o, &err);
        free(o.words.code);
        free(o.input);
        return cli_finish(r, &err, o.json);
}

const struct cli_command cli_exec = {
        .name = "exec",
        .usage = "[OPTIONS] SBX|- RUNTIME -c CODE [ARG...] | RUNTIME FILE [ARG...] | -- COMMAND [ARG...]",
        .text = "SBX is the id of a sandbox, or - to let the daemon choose one. With --session or --agent, "
                "SBX "
                "is\n"
                "left out. Output is printed as it is written. Standard input is passed to the code unless "
                "it is\n"
                "a terminal. The exit status is that of cella run. Ctrl-C cancels the execution.",
        .examples = "  cella exec $SBX python3 -c 'print(6*7)'\n"
                    "  cella exec --session s1 -- ls -la\n"
                    "  cella exec --background $SBX -- python3 -m http.server\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .takes_limits = true,
        .takes_runtime = true,
        .main = exec_main,
};
