#include "docker/reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/json_read.h"

#define VALUES_MAX 200000 /* a thousand containers, each with its labels and mounts */
#define STRINGS_MAX 2048  /* of one image: variables, arguments, volumes */

static void copy(char *ret, size_t size, const char *text)
{
        size_t len = text ? strlen(text) : 0;
        if (len >= size)
                len = size - 1;
        memcpy(ret, text ? text : "", len);
        ret[len] = '\0';
        for (size_t i = 0; i < len; i++) /* it goes into one line of somebody's terminal */
                if ((unsigned char)ret[i] < ' ' || ret[i] == 127)
                        ret[i] = ' ';
}

static int read_object(char *text, size_t len, struct json_doc *doc)
{
        if (json_read(text, len, VALUES_MAX, doc, NULL) < 0)
                return -EPROTO;
        return doc->values[0].type == JSON_OBJECT ? 0 : -EPROTO;
}

void reply_message(char *text, size_t len, char *ret, size_t size)
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        ret[0] = '\0';
        if (read_object(text, len, &doc) == 0)
                copy(ret, size, json_get_string(doc.values, "message"));
}

static bool is_runtime(const char *name)
{
        static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
        return name[0] && strlen(name) < DOCKER_RUNTIME_MAX && name[strspn(name, good)] == '\0';
}

bool reply_has_runtime(const char *runtimes, const char *name)
{
        size_t len = strlen(name);
        for (const char *at = runtimes; *at; at += strspn(at, " ")) {
                size_t n = strcspn(at, " ");
                if (n == len && !strncmp(at, name, n))
                        return true;
                at += n;
        }
        return false;
}

int reply_info(char *text, size_t len, struct docker_opened *ret)
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        if (read_object(text, len, &doc) < 0)
                return -EPROTO;
        const struct json_value *runtimes = json_get(doc.values, "Runtimes"),
                                *security = json_get(doc.values, "SecurityOptions");
        const char *cgroup = json_get_string(doc.values, "CgroupVersion");
        const char *version = json_get_string(doc.values, "ServerVersion");
        size_t at = 0;
        if (!version)
                return -EPROTO;
        copy(ret->version, sizeof ret->version, version);
        ret->runtimes[0] = '\0';
        for (const struct json_value *v = json_first(runtimes); v && runtimes->type == JSON_OBJECT;
             v = json_next(runtimes, v))
                if (is_runtime(v->text) && at + strlen(v->text) + 2 < sizeof ret->runtimes)
                        at += (size_t)snprintf(ret->runtimes + at, sizeof ret->runtimes - at, "%s%s",
                                               at ? " " : "", v->text);
        copy(ret->runtime, sizeof ret->runtime, json_get_string(doc.values, "DefaultRuntime"));
        ret->cgroup = cgroup && !strcmp(cgroup, "2") ? 2 : cgroup && !strcmp(cgroup, "1") ? 1 : 0;
        ret->rootless = json_get_bool(doc.values, "Rootless");
        for (const struct json_value *v = json_first(security); v && security->type == JSON_ARRAY;
             v = json_next(security, v))
                if (v->type == JSON_STRING &&
                    (!strcmp(v->text, "name=rootless") || !strcmp(v->text, "name=userns")))
                        ret->rootless = 1;
        return 0;
}

/* ---- an image ---- */

struct strings {
        const char **at;
        size_t left;
        bool bad;
};

static const char **list(struct strings *s, const struct json_value *array)
{
        const char **begin = s->at;
        if (array && array->type != JSON_ARRAY && array->type != JSON_NULL)
                s->bad = true;
        if (!s->bad && array && array->type == JSON_ARRAY)
                for (const struct json_value *v = json_first(array); v && !s->bad; v = json_next(array, v)) {
                        if (v->type != JSON_STRING || strlen(v->text) != v->len || s->left < 2) {
                                s->bad = true;
                                break;
                        }
                        *s->at++ = v->text;
                        s->left--;
                }
        if (s->left == 0)
                return NULL;
        *s->at++ = NULL;
        s->left--;
        return begin;
}

/* Variables that are none are left out: engines take anything. */
static void drop_strange_variables(const char **env)
{
        const char **to = env;
        for (const char **from = env; *from; from++)
                if (strcspn(*from, "=") > 0 && strchr(*from, '='))
                        *to++ = *from;
        *to = NULL;
}

/* Whether an engine has no other idea of what it means than we have. */
static bool is_clean_path(const char *path)
{
        const char *p = path;
        while (*p == '/') {
                size_t len = strcspn(++p, "/");
                if ((len == 0 && *p == '/') || (len == 1 && p[0] == '.') ||
                    (len == 2 && !strncmp(p, "..", 2)))
                        return false;
                p += len;
        }
        for (const char *c = path; *c; c++)
                if ((unsigned char)*c < ' ')
                        return false;
        return p > path;
}

/* Where no image has anything to mount. */
static bool is_forbidden_path(const char *path)
{
        static const char *const places[] = {"/dev", "/proc", "/sys", "/.cella"};
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                size_t len = strlen(places[i]);
                if (!strncmp(path, places[i], len) && (path[len] == '/' || path[len] == '\0'))
                        return true;
        }
        return path[1] == '\0';
}

/* All of them, or none: one that we left out would be disk of the host's without a limit. */
static int take_volumes(struct reply_image *ret, const struct json_value *volumes)
{
        if (!volumes || volumes->type != JSON_OBJECT)
                return 0;
        for (const struct json_value *v = json_first(volumes); v; v = json_next(volumes, v)) {
                if (strlen(v->text) != v->len || !is_clean_path(v->text) || is_forbidden_path(v->text))
                        return -EPROTO;
                if (ret->n_volumes == REPLY_VOLUMES_MAX)
                        return -E2BIG;
                ret->volumes[ret->n_volumes++] = v->text;
        }
        return 0;
}

static bool take_id(const char *id, char ret[IMAGE_ID_LEN + 1])
{
        if (id && !strncmp(id, "sha256:", 7))
                id += 7;
        if (!id || strlen(id) != IMAGE_ID_LEN || !reply_id_valid(id))
                return false;
        memcpy(ret, id, IMAGE_ID_LEN + 1);
        return true;
}

static int take_image(const struct json_value *top, struct reply_image *ret)
{
        static const char *const none[] = {NULL};
        const struct json_value *config = json_get(top, "Config"), *volumes = json_get(config, "Volumes");
        struct image *image = &ret->image;
        struct strings s = {ret->memory[1], STRINGS_MAX, false};
        const char *text;
        int64_t bytes = 0;
        if (!take_id(json_get_string(top, "Id"), image->id))
                return -EPROTO;
        if (volumes && volumes->type == JSON_OBJECT && volumes->n > REPLY_VOLUMES_MAX)
                return -E2BIG;
        image->env = list(&s, json_get(config, "Env"));
        image->entrypoint = list(&s, json_get(config, "Entrypoint"));
        image->cmd = list(&s, json_get(config, "Cmd"));
        if (s.bad || !image->env || !image->entrypoint || !image->cmd)
                return -EPROTO;
        drop_strange_variables(image->env);
        text = json_get_string(config, "WorkingDir");
        image->cwd = text && is_clean_path(text) ? text : "/";
        text = json_get_string(config, "User");
        image->user = text ? text : "";
        image->bytes = json_get_integer(top, "Size", &bytes) && bytes > 0 ? (uint64_t)bytes : 0;
        image->digest = image->platform = "";
        image->source = "docker";
        image->names = image->layers = (const char **)none;
        ret->checks_health =
                json_get(json_get(config, "Healthcheck"), "Test") || json_get(top, "HealthCheck");
        return take_volumes(ret, volumes);
}

int reply_image(char *text, size_t len, struct reply_image *ret)
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        *ret = (struct reply_image){.memory = {text, calloc(STRINGS_MAX, sizeof(char *))}};
        int r = !ret->memory[1] ? -ENOMEM : read_object(text, len, &doc);
        if (r == 0)
                r = take_image(doc.values, ret);
        if (r < 0)
                reply_image_done(ret);
        return r;
}

void reply_image_done(struct reply_image *image)
{
        free(image->memory[0]);
        free(image->memory[1]);
        *image = (struct reply_image){0};
}

/* ---- containers ---- */

bool reply_id_valid(const char *id)
{
        size_t len = strlen(id);
        return len >= 12 && len < REPLY_ID_MAX && strspn(id, "0123456789abcdef") == len;
}

int reply_created(char *text, size_t len, char ret[REPLY_ID_MAX])
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        const char *id = read_object(text, len, &doc) < 0 ? NULL : json_get_string(doc.values, "Id");
        if (!id || !reply_id_valid(id))
                return -EPROTO;
        memcpy(ret, id, strlen(id) + 1);
        return 0;
}

int reply_state(char *text, size_t len, struct reply_state *ret)
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        const struct json_value *state =
                read_object(text, len, &doc) < 0 ? NULL : json_get(doc.values, "State");
        int64_t code = 0, pid = 0;
        if (!state || state->type != JSON_OBJECT)
                return -EPROTO;
        json_get_integer(state, "ExitCode", &code);
        json_get_integer(state, "Pid", &pid);
        *ret = (struct reply_state){
                .running = json_get_bool(state, "Running"),
                .paused = json_get_bool(state, "Paused"),
                .oom_killed = json_get_bool(state, "OOMKilled"),
                .exit_code = (int)code,
                .pid = pid > 0 && pid < INT32_MAX ? (int)pid : 0,
        };
        copy(ret->error, sizeof ret->error, json_get_string(state, "Error"));
        return 0;
}

int reply_list(char *text, size_t len, void (*each)(void *context, const char *id, const char *owner),
               void *context)
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        if (json_read(text, len, VALUES_MAX, &doc, NULL) < 0 || doc.values[0].type != JSON_ARRAY)
                return -EPROTO;
        for (const struct json_value *v = json_first(doc.values); v; v = json_next(doc.values, v)) {
                const char *id = json_get_string(v, "Id");
                const char *owner = json_get_string(json_get(v, "Labels"), REPLY_LABEL_OWNER);
                if (id && reply_id_valid(id) && owner && strlen(owner) < REPLY_OWNER_MAX)
                        each(context, id, owner);
        }
        return 0;
}

static uint64_t positive(const struct json_value *object, const char *name)
{
        int64_t value = 0;
        return json_get_integer(object, name, &value) && value > 0 ? (uint64_t)value : 0;
}

int reply_stats(char *text, size_t len, struct keeper_counted *ret)
{
        AUTO(json_doc_done) struct json_doc doc = {0};
        if (read_object(text, len, &doc) < 0)
                return -EPROTO;
        const struct json_value *memory = json_get(doc.values, "memory_stats"),
                                *pids = json_get(doc.values, "pids_stats"),
                                *cpu = json_get(json_get(doc.values, "cpu_stats"), "cpu_usage");
        uint64_t now = positive(memory, "usage"), peak = positive(memory, "max_usage"),
                 processes = positive(pids, "current");
        ret->cpu_us = positive(cpu, "total_usage") / 1000;
        ret->memory_bytes = now;
        if (peak > ret->memory_peak_bytes)
                ret->memory_peak_bytes = peak;
        if (now > ret->memory_peak_bytes)
                ret->memory_peak_bytes = now;
        ret->processes = processes > 0 ? (uint32_t)processes - 1 : 0;
        if (ret->processes > ret->processes_peak)
                ret->processes_peak = ret->processes;
        ret->known |= (cpu ? KEEPER_KNOWS_CPU : 0) | (now ? KEEPER_KNOWS_MEMORY : 0);
        return 0;
}

void reply_pull(char *text, size_t len, char *ret, size_t size)
{
        ret[0] = '\0';
        for (char *line = text, *end = text + len; line < end;) {
                char *newline = memchr(line, '\n', (size_t)(end - line));
                size_t n = (size_t)((newline ? newline : end) - line);
                AUTO(json_doc_done) struct json_doc doc = {0};
                if (n > 0 && read_object(line, n, &doc) == 0) {
                        const char *error = json_get_string(doc.values, "error");
                        if (error)
                                copy(ret, size, error);
                }
                line += n + 1;
        }
}
