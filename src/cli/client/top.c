/* cli/client/top.c -- `cella top`: live sandboxes, what they use, and running executions.
 *
 * On a terminal the picture is drawn again at an interval; otherwise it is printed once. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/client/api.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "sys/file.h"

#define INTERVAL_MS 2000
#define ASKED_MAX 200 /* sandboxes whose usage is asked for, with a request each */
#define CTRL_C 3

struct top_options {
        const char *socket;
        uint64_t interval_ms;
        bool json;
};

static const struct cli_option options[] = {
        {"interval", "TIME", "on a terminal: time between two pictures (2s)",
         CLI_INTO(CLI_TIME, struct top_options, interval_ms)},
        API_SOCKET_OPTION(struct top_options),
        API_JSON_OPTION(struct top_options),
};

/* What the daemon says at one time. */
struct picture {
        json_t *sandboxes, *executions; /* arrays; owned */
        int64_t taken_us;
};

static void picture_done(struct picture *p)
{
        json_decref(p->sandboxes);
        json_decref(p->executions);
        *p = (struct picture){0};
}

/* Takes the array of this name out of the answer. */
static int ask_list(struct client *client, const struct url *url, const char *name, json_t **ret,
                    struct cella_err *err)
{
        AUTO(api_answer_done) struct api_answer answer = {0};
        int r = api_call(client, "GET", url, NULL, &answer, err);
        if (r < 0)
                return r;
        json_t *list = json_object_get(answer.root, name);
        if (!json_is_array(list))
                return err_say(err, CELLA_INTERNAL, -EPROTO, "the daemon's answer has no %s", name);
        *ret = json_incref(list);
        return 0;
}

/* Adds its usage to a sandbox; nothing if it has ended meanwhile. */
static int add_usage(struct client *client, json_t *sandbox, struct cella_err *err)
{
        AUTO(api_answer_done) struct api_answer answer = {0};
        const char *id = foreign_json_get_text(sandbox, "id"),
                   *state = foreign_json_get_text(sandbox, "state");
        struct cella_err gone = {0};
        struct url url;
        int r;
        if (!id || !state || strcmp(state, "running") != 0)
                return 0;
        if ((r = api_sandbox_url(&url, id, "", err)) < 0)
                return r;
        r = api_call(client, "GET", &url, NULL, &answer, &gone);
        if (r < 0 && gone.kind != CELLA_NOT_FOUND)
                *err = gone;
        if (r < 0)
                return gone.kind == CELLA_NOT_FOUND ? 0 : r;
        json_t *usage = json_object_get(answer.root, "usage");
        if (usage)
                json_object_set(sandbox, "usage", usage);
        return 0;
}

static int take_picture(struct client *client, struct picture *p, struct cella_err *err)
{
        struct url url;
        size_t i;
        json_t *sandbox;
        url_init(&url, "/v1/sandboxes");
        int r = ask_list(client, &url, "sandboxes", &p->sandboxes, err);
        json_array_foreach (p->sandboxes, i, sandbox)
                if (r == 0 && i < ASKED_MAX)
                        r = add_usage(client, sandbox, err);
        p->taken_us = clock_us();
        url_init(&url, "/v1/executions");
        url_add_query(&url, "status", "running");
        return r < 0 ? r : ask_list(client, &url, "executions", &p->executions, err);
}

static const json_t *usage_before(const struct picture *before, const char *id)
{
        size_t i;
        json_t *sandbox;
        json_array_foreach (before->sandboxes, i, sandbox) {
                const char *other = foreign_json_get_text(sandbox, "id");
                if (id && other && !strcmp(id, other))
                        return json_object_get(sandbox, "usage");
        }
        return NULL;
}

/* The share of a core since the picture before, and the CPU time in all; "" if it is unknown. */
static void add_cpu(struct table *t, const struct picture *now, const struct picture *before,
                    const json_t *sandbox)
{
        const json_t *ms = json_object_get(json_object_get(sandbox, "usage"), "cpu_ms"),
                     *was = json_object_get(usage_before(before, foreign_json_get_text(sandbox, "id")),
                                            "cpu_ms");
        const double passed = (double)(now->taken_us - before->taken_us) / 1000;
        char cell[32] = "";
        if (json_is_number(ms) && json_is_number(was) && passed > 0)
                snprintf(cell, sizeof cell, "%.0f%%",
                         100 * (json_number_value(ms) - json_number_value(was)) / passed);
        table_add(t, cell, 0);
        cell[0] = '\0';
        if (json_is_number(ms))
                snprintf(cell, sizeof cell, "%.1fs", json_number_value(ms) / 1000);
        table_add(t, cell, 0);
}

static void add_memory(struct table *t, const json_t *sandbox)
{
        int64_t used, limit;
        char cell[64] = "";
        if (foreign_json_get_integer(json_object_get(sandbox, "usage"), "memory_bytes", &used) &&
            foreign_json_get_integer(json_object_get(sandbox, "limits"), "memory_bytes", &limit))
                snprintf(cell, sizeof cell, "%.1fM of %.0fM", (double)used / 1048576,
                         (double)limit / 1048576);
        table_add(t, cell, 0);
}

static void add_age(struct table *t, const json_t *object, const char *name, int64_t now)
{
        char cell[32] = "";
        int64_t at = api_time(foreign_json_get_text(object, name));
        if (at >= 0)
                api_span(now - at, cell, sizeof cell);
        table_add(t, cell, 0);
}

static void write_sandboxes(FILE *out, const struct picture *now, const struct picture *before)
{
        static const char *const headings[] = {"SANDBOX", "NAME",     "STATE",  "AGE",
                                               "CPU",     "CPU TIME", "MEMORY", "PROCESSES"};
        struct table t;
        char cell[64];
        size_t i;
        json_t *s;
        table_init(&t, headings, ARRAY_LEN(headings));
        json_array_foreach (now->sandboxes, i, s) {
                table_add(&t, foreign_json_get_text(s, "id"), 40);
                table_add(&t, foreign_json_get_text(s, "name"), 24);
                table_add(&t, foreign_json_get_text(s, "state"), 16);
                add_age(&t, s, "created", api_now());
                add_cpu(&t, now, before, s);
                add_memory(&t, s);
                api_text(json_object_get(json_object_get(s, "usage"), "processes"), cell, sizeof cell);
                table_add(&t, cell, 0);
        }
        table_write(&t, out);
}

static void write_executions(FILE *out, const struct picture *now)
{
        static const char *const headings[] = {"EXECUTION", "SANDBOX", "AGE", "COMMAND"};
        struct table t;
        char cell[512];
        size_t i;
        json_t *e;
        table_init(&t, headings, ARRAY_LEN(headings));
        json_array_foreach (now->executions, i, e) {
                table_add(&t, foreign_json_get_text(e, "id"), 40);
                table_add(&t, foreign_json_get_text(e, "sandbox"), 40);
                add_age(&t, e, "started", api_now());
                api_text(json_object_get(e, "command"), cell, sizeof cell);
                if (!cell[0])
                        api_text(json_object_get(e, "runtime"), cell, sizeof cell);
                table_add(&t, cell, 100);
        }
        table_write(&t, out);
}

static void write_picture(FILE *out, const struct picture *now, const struct picture *before)
{
        write_sandboxes(out, now, before);
        fputc('\n', out);
        write_executions(out, now);
}

static int print_json(const struct picture *p)
{
        json_t *both = json_pack("{s:O, s:O}", "sandboxes", p->sandboxes, "executions", p->executions);
        json_dumpf(both, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
        putchar('\n');
        json_decref(both);
        return 0;
}

static int top_once(struct client *client, const struct top_options *o, struct cella_err *err)
{
        struct picture now = {0}, before = {0};
        int r = take_picture(client, &now, err);
        if (r == 0 && o->json)
                print_json(&now);
        else if (r == 0)
                write_picture(stdout, &now, &before);
        picture_done(&now);
        return r;
}

/* ---- on a terminal ---- */

/* The alternate screen, without a cursor, where long lines are cut; and back. */
static const char screen_begin[] = "\033[?1049h\033[?25l\033[?7l",
                  screen_end[] = "\033[?7h\033[?25h\033[?1049l";

static void screen_write(const char *text, size_t len)
{
        while (len > 0) {
                ssize_t n = write(STDOUT_FILENO, text, len);
                if (n < 0 && errno != EINTR)
                        return;
                text += n > 0 ? n : 0;
                len -= n > 0 ? (size_t)n : 0;
        }
}

/* Also in a signal handler. */
static void screen_leave(void)
{
        screen_write(screen_end, sizeof screen_end - 1);
        user_terminal_restore();
}

/* Draws as much of the text as the terminal has room for. */
static void draw(const char *text)
{
        struct winsize size = {0};
        char *frame = NULL;
        size_t len;
        FILE *out = open_memstream(&frame, &len);
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
                size.ws_row = 24;
        if (!out)
                return;
        fputs("\033[H", out);
        for (unsigned row = 0; row < size.ws_row && *text; row++) {
                const size_t line = strcspn(text, "\n");
                fprintf(out, "%s%.*s\033[K", row ? "\r\n" : "", (int)line, text);
                text += line + (text[line] == '\n');
        }
        fputs("\033[J", out);
        if (fclose(out) == 0)
                screen_write(frame, len);
        free(frame);
}

static void show(const struct picture *now, const struct picture *before)
{
        char *text = NULL;
        size_t len;
        FILE *out = open_memstream(&text, &len);
        if (!out)
                return;
        fprintf(out, "cella top: %zu sandboxes, %zu running executions; q ends\n\n",
                json_array_size(now->sandboxes), json_array_size(now->executions));
        write_picture(out, now, before);
        if (fclose(out) == 0)
                draw(text);
        free(text);
}

/* Waits for a key, another size, or the end of the interval.  Returns whether a key ends the program. */
static bool wait_for_key(int resize_fd, uint64_t interval_ms)
{
        struct pollfd fds[] = {{isatty(STDIN_FILENO) ? STDIN_FILENO : -1, POLLIN, 0}, {resize_fd, POLLIN, 0}};
        struct signalfd_siginfo info;
        char key;
        if (poll(fds, ARRAY_LEN(fds), (int)(interval_ms > 3600000 ? 3600000 : interval_ms)) <= 0)
                return false;
        if (fds[1].revents)
                sys_read(resize_fd, &info, sizeof info);
        if (!fds[0].revents)
                return false;
        return sys_read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q' || key == CTRL_C;
}

static int top_live(struct client *client, const struct top_options *o, struct cella_err *err)
{
        struct picture now = {0}, before = {0};
        int r = take_picture(client, &now, err); /* before the screen changes: there may be no daemon */
        if (r < 0) {
                picture_done(&now);
                return r;
        }
        AUTO(sys_close) int resize_fd = user_terminal_open_resize();
        user_terminal_take();
        cli_on_signal(screen_leave);
        screen_write(screen_begin, sizeof screen_begin - 1);
        do {
                show(&now, &before);
                if (wait_for_key(resize_fd, o->interval_ms ? o->interval_ms : INTERVAL_MS))
                        break;
                picture_done(&before);
                before = now;
                now = (struct picture){0};
        } while ((r = take_picture(client, &now, err)) == 0);
        screen_leave();
        picture_done(&before);
        picture_done(&now);
        return r;
}

static int top(const struct cli_command *self, int argc, char **argv, struct top_options *o,
               struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        int r = cli_parse_all(self, argc, argv, o, NULL, err);
        if (r < 0 || (r = api_need_words(self, r, 0, 0, err)) < 0 ||
            (r = client_new(o->socket, &client, err)) < 0)
                return r;
        return o->json || !isatty(STDOUT_FILENO) ? top_once(client, o, err) : top_live(client, o, err);
}

static int top_main(const struct cli_command *self, int argc, char **argv)
{
        struct top_options o = {0};
        struct cella_err err = {0};
        return cli_finish(top(self, argc, argv, &o, &err), &err, o.json);
}

const struct cli_command cli_top = {
        .name = "top",
        .usage = "[OPTIONS]",
        .text = "On a terminal the picture is drawn again every 2 seconds; q ends it.  Otherwise it is "
                "printed\n"
                "once.  CPU is the share of one core since the picture before.",
        .examples = "  cella top\n"
                    "  cella top --interval 500ms\n"
                    "  cella top --json | jq '.sandboxes[].usage'\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = top_main,
};
