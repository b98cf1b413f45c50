/* cli/client/settings.c -- `cella settings`: reads and changes the settings, all or one by its dotted name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/parse.h"
#include "cli/client/api.h"
#include "cli/text.h"

#define PARTS_MAX 8

struct settings_options {
        const char *socket;
        bool json;
};

static const struct cli_option options[] = {
        API_SOCKET_OPTION(struct settings_options),
        {"json", NULL, "print strings as JSON too", CLI_INTO(CLI_FLAG, struct settings_options, json)},
};

/* Splits "limits.memory_bytes"; modifies key. */
static int split(char *key, const char *parts[PARTS_MAX], struct cella_err *err)
{
        int n = 0;
        for (char *dot; key; key = dot) {
                dot = strchr(key, '.');
                if (dot)
                        *dot++ = '\0';
                if (!*key || n == PARTS_MAX)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "name a setting, such as mode or limits.memory_bytes");
                parts[n++] = key;
        }
        return n;
}

static void hint_nearest(json_t *object, const char *typed, struct cella_err *err)
{
        const char *names[64], *name;
        size_t n = 0;
        json_t *value;
        json_object_foreach (object, name, value)
                if (n < ARRAY_LEN(names))
                        names[n++] = name;
        const char *near = parse_nearest(typed, names, n, sizeof *names);
        char safe[64];
        text_safe(safe, sizeof safe, near);
        if (near)
                err_hint(err, "did you mean %s?", safe);
        else
                err_hint(err, "cella settings get shows them all");
}

static int client_settings_get(struct client *client, const struct settings_options *o, const char *key,
                               struct cella_err *err)
{
        AUTO(api_answer_done) struct api_answer answer = {0};
        char copy[256];
        const char *parts[PARTS_MAX];
        struct url url;
        url_init(&url, "/v1/settings");
        int r = api_call(client, "GET", &url, NULL, &answer, err);
        if (r < 0)
                return r;
        json_t *v = answer.root;
        if (key) {
                snprintf(copy, sizeof copy, "%s", key);
                int n = split(copy, parts, err);
                if (n < 0)
                        return n;
                for (int i = 0; i < n; i++) {
                        json_t *below = json_object_get(v, parts[i]);
                        if (!below) {
                                err_say(err, CELLA_INVALID_REQUEST, -ENOENT, "no setting '%.80s'", key);
                                hint_nearest(v, parts[i], err);
                                return -ENOENT;
                        }
                        v = below;
                }
        }
        if (!v)
                return err_say(err, CELLA_INTERNAL, -EPROTO, "the daemon's answer is empty");
        if (json_is_string(v) && !o->json) {
                text_print(stdout, json_string_value(v), json_string_length(v));
                putchar('\n');
        } else {
                api_print_value(v);
        }
        return 0;
}

static bool ends_in(const char *name, const char *end)
{
        size_t a = strlen(name), b = strlen(end);
        return a >= b && !strcmp(name + a - b, end);
}

/* Writes "a.example,b.example" as an array. */
static int client_settings_put_list(struct json *j, const char *name, const char *value,
                                    struct cella_err *err)
{
        char item[300];
        json_put_open(j, name, '[');
        for (size_t len; *value; value += len + (value[len] == ',')) {
                len = strcspn(value, ",");
                if (len == 0 || len >= sizeof item)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "%s takes names with commas between them, or a JSON array", name);
                snprintf(item, sizeof item, "%.*s", (int)len, value);
                json_put_string(j, NULL, item);
        }
        json_put_close(j, ']');
        return 0;
}

/* Writes JSON unchanged; a size or time with a unit, or a list with commas, if the name requires one;
 * anything else as a string. */
static int client_settings_put_value(struct json *j, const char *name, const char *value,
                                     struct cella_err *err)
{
        AUTO(json_decref) json_t *parsed = foreign_json_parse(value, strlen(value), 100000, 0, NULL);
        bool bytes = ends_in(name, "_bytes") || !strcmp(name, "bytes_per_execution"),
             time = ends_in(name, "_ms");
        uint64_t number = 0;
        if (parsed) {
                json_put_string(j, NULL, name);
                fprintf(j->out, ": %s", value);
                j->more = true;
                return 0;
        }
        if (bytes || time) {
                if ((bytes ? parse_bytes : parse_milliseconds)(value, &number) < 0)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s takes %s, not '%.40s'", name,
                                       bytes ? "a size like 512M" : "a time like 500ms, 5s or 2m", value);
                json_put_number(j, name, number);
                return 0;
        }
        if (ends_in(name, "_domains") || !strcmp(name, "allowed_private"))
                return client_settings_put_list(j, name, value, err);
        json_put_string(j, name, value);
        return 0;
}

static int client_settings_set(struct client *client, const char *key, const char *value,
                               struct cella_err *err)
{
        AUTO(api_body_done) struct api_body body = {0};
        AUTO(api_answer_done) struct api_answer answer = {0};
        const char *parts[PARTS_MAX];
        char copy[256];
        struct url url;
        snprintf(copy, sizeof copy, "%s", key);
        int n = split(copy, parts, err), r;
        if (n < 0)
                return n;
        if ((r = api_body_begin(&body, err)) < 0)
                return r;
        for (int i = 0; i < n - 1; i++)
                json_put_open(&body.j, parts[i], '{');
        if ((r = client_settings_put_value(&body.j, parts[n - 1], value, err)) < 0)
                return r;
        for (int i = 0; i < n - 1; i++)
                json_put_close(&body.j, '}');
        if ((r = api_body_end(&body, err)) < 0)
                return r;
        url_init(&url, "/v1/settings");
        return api_call(client, "PATCH", &url, &body, &answer, err);
}

static int settings(const struct cli_command *self, int argc, char **argv, struct settings_options *o,
                    struct cella_err *err)
{
        AUTO(client_free) struct client *client = NULL;
        int n = cli_parse_all(self, argc, argv, o, NULL, err), r;
        if (n < 0)
                return n;
        bool sets = n == 3 && !strcmp(argv[1], "set"), gets = n >= 1 && n <= 2 && !strcmp(argv[1], "get");
        if (!sets && !gets)
                return cli_wrong_words(self, n > 0 ? argv[1] : NULL, err);
        if ((r = client_new(o->socket, &client, err)) < 0)
                return r;
        return sets ? client_settings_set(client, argv[2], argv[3], err)
                    : client_settings_get(client, o, n == 2 ? argv[2] : NULL, err);
}

static int settings_main(const struct cli_command *self, int argc, char **argv)
{
        struct settings_options o = {0};
        struct cella_err err = {0};
        return cli_finish(settings(self, argc, argv, &o, &err), &err, false);
}

const struct cli_command cli_settings = {
        .name = "settings",
        .usage = "get [KEY] | set KEY VALUE",
        .text = "KEY is a dotted name (limits.memory_bytes), VALUE is JSON or a plain word.  Sizes and times "
                "may "
                "have\nunits (512M, 30s); lists of domains may be separated by commas; null restores the "
                "default.",
        .examples = "  cella settings get limits\n"
                    "  cella settings set limits.memory_bytes 1G\n"
                    "  cella settings set network.allowed_domains pypi.org,files.pythonhosted.org\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = settings_main,
};
