#include "cli/client/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/id.h"
#include "base/limits.h"
#include "cli/text.h"

/* ---- requests ---- */

int api_body_begin(struct api_body *body, struct cella_err *err)
{
        *body = (struct api_body){0};
        body->j.out = open_memstream(&body->text, &body->len);
        if (!body->j.out)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
        json_put_open(&body->j, NULL, '{');
        return 0;
}

int api_body_end(struct api_body *body, struct cella_err *err)
{
        json_put_close(&body->j, '}');
        bool bad = ferror(body->j.out);
        bad |= fclose(body->j.out) != 0;
        body->j.out = NULL;
        return bad ? err_set(err, CELLA_INTERNAL, -ENOMEM, "request") : 0;
}

void api_body_done(struct api_body *body)
{
        if (body->j.out)
                fclose(body->j.out);
        free(body->text);
        *body = (struct api_body){0};
}

/* All bits set: not given.  No limit may have this value. */
void api_limits_init(struct cella_options *options)
{
        memset(options, 0, sizeof *options);
        memset(&options->limits, 0xff, sizeof options->limits);
}

bool api_limits_put(struct json *j, const char *key, const struct cella_options *options)
{
        bool open = false;
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                uint64_t value = limit_get(&options->limits, l);
                if (value > l->max)
                        continue;
                if (!open)
                        json_put_open(j, key, '{');
                open = true;
                if (l->unit == LIMIT_CORES)
                        json_put_real(j, l->name, (double)value / 1000);
                else
                        json_put_number(j, l->name, value);
        }
        if (open)
                json_put_close(j, '}');
        return open;
}

void api_strings_put(struct json *j, const char *key, const struct cli_list *list)
{
        if (list->n == 0)
                return;
        json_put_open(j, key, '[');
        for (size_t i = 0; i < list->n; i++)
                json_put_string(j, NULL, list->items[i]);
        json_put_close(j, ']');
}

int api_mounts_put(struct json *j, const struct cli_list *mounts, struct cella_err *err)
{
        if (mounts->n > 0)
                json_put_open(j, "mounts", '[');
        for (size_t i = 0; i < mounts->n; i++) {
                const char *item = mounts->items[i], *target = strchr(item, ':');
                const char *mode = target ? strchr(target + 1, ':') : NULL;
                const size_t name_len = target ? (size_t)(target - item) : 0;
                if (name_len == 0 || target[1] != '/' ||
                    (mode && strcmp(mode, ":ro") != 0 && strcmp(mode, ":rw") != 0))
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "--mount takes NAME:TARGET, with :ro or :rw after it, not '%.80s'",
                                       item);
                json_put_open(j, NULL, '{');
                json_put_bytes(j, "name", item, name_len);
                json_put_bytes(j, "target", target + 1,
                               mode ? (size_t)(mode - target - 1) : strlen(target + 1));
                if (mode)
                        json_put_string(j, "mode", mode + 1);
                json_put_close(j, '}');
        }
        if (mounts->n > 0)
                json_put_close(j, ']');
        return 0;
}

int api_metadata_put(struct json *j, const struct cli_list *list, struct cella_err *err)
{
        if (list->n > 0)
                json_put_open(j, "metadata", '{');
        for (size_t i = 0; i < list->n; i++) {
                char name[128];
                size_t len = strcspn(list->items[i], "=");
                if (len == 0 || len >= sizeof name || !list->items[i][len])
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "--metadata takes NAME=VALUE, not '%.60s'", list->items[i]);
                snprintf(name, sizeof name, "%.*s", (int)len, list->items[i]);
                json_put_string(j, name, list->items[i] + len + 1);
        }
        if (list->n > 0)
                json_put_close(j, '}');
        return 0;
}

void api_network_put(struct json *j, const struct api_network *network)
{
        if (!network->tier && network->allowed.n == 0 && network->blocked.n == 0)
                return;
        json_put_open(j, "network", '{');
        if (network->tier)
                json_put_string(j, "tier", network->tier);
        api_strings_put(j, "allowed_domains", &network->allowed);
        api_strings_put(j, "blocked_domains", &network->blocked);
        json_put_close(j, '}');
}

static int bad_id(const char *what, const char *command, const char *id, struct cella_err *err)
{
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "'%.60s' is not the id of %s", id, what);
        return err_hint(err, "cella %s lists them", command);
}

bool api_is_sandbox(const char *word)
{
        return id_is(word, "sbx_");
}

bool api_names_sandbox(const char *word)
{
        const size_t len = strlen(word);
        return api_is_sandbox(word) ||
               (len > 0 && len <= 64 && !strchr("._-", word[0]) && strncmp(word, "sbx_", 4) != 0 &&
                strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len);
}

bool api_is_execution(const char *word)
{
        return id_is(word, "exe_");
}

int api_sandbox_url(struct url *u, const char *id, const char *rest, struct cella_err *err)
{
        if (!api_names_sandbox(id))
                return bad_id("a sandbox (sbx_..., or its name)", "ls", id, err);
        url_init(u, "/v1/sandboxes/");
        url_add_part(u, id);
        url_add(u, rest);
        return 0;
}

int api_execution_url(struct url *u, const char *id, struct cella_err *err)
{
        if (!api_is_execution(id))
                return bad_id("an execution (exe_...)", "logs", id, err);
        url_init(u, "/v1/executions/");
        url_add_part(u, id);
        return 0;
}

/* ---- answers ---- */

void api_answer_done(struct api_answer *answer)
{
        json_decref(answer->root);
        free(answer->text);
        *answer = (struct api_answer){0};
}

static int parse_answer(struct api_answer *a, struct cella_err *err)
{
        struct cella_err why = {0};
        a->root = foreign_json_parse(a->text, a->len, API_VALUES_MAX, 0, &why);
        return a->root ? 0
                       : err_say(err, CELLA_INTERNAL, why.num, "the answer of the daemon is invalid: %s",
                                 why.msg);
}

int api_read(struct client *client, struct api_answer *ret, struct cella_err *err)
{
        struct api_answer a = {0};
        int r = client_read_all(client, API_ANSWER_MAX, &a.text, &a.len, err);
        if (r == 0 && a.len > 0)
                r = parse_answer(&a, err);
        if (r < 0)
                api_answer_done(&a);
        else
                *ret = a;
        return r;
}

int api_call(struct client *client, const char *method, const struct url *url, const struct api_body *body,
             struct api_answer *ret, struct cella_err *err)
{
        const struct client_request request = {
                .method = method,
                .url = url,
                .body = body ? body->text : NULL,
                .body_len = body ? body->len : 0,
        };
        struct head head;
        int r = client_send(client, &request, err);
        if (r == 0)
                r = client_answer(client, &head, err);
        return r < 0 ? r : api_read(client, ret, err);
}

void api_print(const struct api_answer *answer)
{
        fwrite(answer->text, 1, answer->len, stdout);
        if (answer->len == 0 || answer->text[answer->len - 1] != '\n')
                putchar('\n');
}

/* ---- objects with names ---- */

int api_verb(const struct cli_command *self, int n, char **argv, const char *make, struct cella_err *err)
{
        const char *verb = n > 0 ? argv[1] : "";
        if (n == 1 && !strcmp(verb, "ls"))
                return API_LIST;
        if (n == 2 && !strcmp(verb, make))
                return API_MAKE;
        if (n == 2 && !strcmp(verb, "rm"))
                return API_REMOVE;
        return cli_wrong_words(self, n > 0 ? verb : NULL, err);
}

int api_list(struct client *client, const char *path, const char *name, bool json,
             void (*print)(json_t *list), struct cella_err *err)
{
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        url_init(&url, path);
        int r = api_call(client, "GET", &url, NULL, &answer, err);
        if (r < 0)
                return r;
        if (json)
                api_print(&answer);
        else
                print(json_object_get(answer.root, name));
        return 0;
}

int api_remove(struct client *client, const char *path, const char *name, struct cella_err *err)
{
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct url url;
        url_init(&url, path);
        url_add_part(&url, name);
        return api_call(client, "DELETE", &url, NULL, &answer, err);
}

/* ---- formatting ---- */

int64_t api_now(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t api_time(const char *text)
{
        struct tm tm = {0};
        int ms = 0, used = 0;
        if (!text || strlen(text) > 40 ||
            sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                   &tm.tm_min, &tm.tm_sec, &used) != 6 ||
            used == 0)
                return -1;
        if (text[used] == '.')
                sscanf(text + used + 1, "%3d", &ms);
        tm.tm_year -= 1900;
        tm.tm_mon--;
        return (int64_t)timegm(&tm) * 1000 + ms;
}

void api_span(int64_t ms, char *out, size_t size)
{
        int64_t s = ms / 1000;
        if (s < 0)
                s = 0;
        if (s < 120)
                snprintf(out, size, "%llds", (long long)s);
        else if (s < 7200)
                snprintf(out, size, "%lldm", (long long)(s / 60));
        else if (s < 172800)
                snprintf(out, size, "%lldh", (long long)(s / 3600));
        else
                snprintf(out, size, "%lldd", (long long)(s / 86400));
}

static void client_api_append(char *out, size_t size, const char *text)
{
        size_t len = strlen(out);
        snprintf(out + len, size - len, "%s", text);
}

void api_text(json_t *value, char *out, size_t size)
{
        char part[512];
        const char *name;
        size_t i;
        json_t *element;
        out[0] = '\0';
        if (json_is_boolean(value))
                snprintf(out, size, "%s", json_is_true(value) ? "yes" : "no");
        else if (json_is_integer(value))
                snprintf(out, size, "%lld", (long long)json_integer_value(value));
        else if (json_is_real(value))
                snprintf(out, size, "%.3f", json_real_value(value));
        else if (json_is_string(value))
                snprintf(out, size, "%s", json_string_value(value));
        json_array_foreach (value, i, element) {
                api_text(element, part, sizeof part);
                client_api_append(out, size, out[0] ? " " : "");
                client_api_append(out, size, part);
                if (strlen(out) + 1 >= size)
                        return;
        }
        json_object_foreach (value, name, element) {
                api_text(element, part, sizeof part);
                client_api_append(out, size, out[0] ? "," : "");
                client_api_append(out, size, name);
                client_api_append(out, size, "=");
                client_api_append(out, size, part);
                if (strlen(out) + 1 >= size)
                        return;
        }
}

void api_print_value(const json_t *value)
{
        if (json_is_real(value)) /* jansson would write 2 as 2.0 */
                printf("%.15g", json_real_value(value));
        else
                json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        putchar('\n');
}

int api_need_words(const struct cli_command *self, int n, int min, int max, struct cella_err *err)
{
        if (n >= min && n <= max)
                return 0;
        return cli_wrong_words(self, NULL, err);
}
