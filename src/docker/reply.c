#include "docker/reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/foreign_json.h"

#define VALUES_MAX 200000                 /* a thousand containers, each with its labels and mounts */
#define STRINGS_MAX 2048                  /* of one image: variables, arguments, volumes */
#define INTEGER_MAX ((double)(1LL << 53)) /* a double holds every integer up to this */

static void docker_reply_copy(char *ret, size_t size, const char *text)
{
        size_t len = text ? strlen(text) : 0;
        if (len >= size)
                len = size - 1;
        memcpy(ret, text ? text : "", len);
        ret[len] = '\0';
        for (size_t i = 0; i < len; i++) /* control characters: the text is shown in one line of a terminal */
                if ((unsigned char)ret[i] < ' ' || ret[i] == 127)
                        ret[i] = ' ';
}

/* The same, but if the text is too long, its middle is left out: the engines put the cause at the end of a
 * chain of messages. */
static void copy_ends(char *ret, size_t size, const char *text)
{
        static const char gap[] = " ... ";
        const size_t len = text ? strlen(text) : 0, room = size - 1;
        if (len <= room) {
                docker_reply_copy(ret, size, text);
                return;
        }
        const size_t head = (room - strlen(gap)) / 3, tail = room - strlen(gap) - head;
        docker_reply_copy(ret, head + 1, text);
        memcpy(ret + head, gap, sizeof gap);
        docker_reply_copy(ret + head + strlen(gap), tail + 1, text + len - tail);
}

/* Parses an answer.  Engines write unsigned 64-bit numbers ("no limit" is 2^64 - 1), which jansson cannot
 * hold as integers: so all numbers become doubles. */
static json_t *docker_reply_parse(const char *text, size_t len)
{
        return foreign_json_parse(text, len, VALUES_MAX, JSON_DECODE_INT_AS_REAL, NULL);
}

/* A whole number from 1 to 2^53, or 0. */
static uint64_t get_positive(const json_t *object, const char *name)
{
        const double value = json_number_value(json_object_get(object, name));
        return value >= 1 && value <= INTEGER_MAX ? (uint64_t)value : 0;
}

static bool get_bool(const json_t *object, const char *name)
{
        return json_is_true(json_object_get(object, name));
}

void reply_message(const char *text, size_t len, char *ret, size_t size)
{
        AUTO(json_decref) json_t *top = docker_reply_parse(text, len);
        copy_ends(ret, size, foreign_json_get_text(top, "message"));
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

static void take_runtimes(json_t *runtimes, struct docker_opened *ret)
{
        const char *name;
        json_t *value;
        size_t at = 0;
        ret->runtimes[0] = '\0';
        json_object_foreach (runtimes, name, value)
                if (is_runtime(name) && at + strlen(name) + 2 < sizeof ret->runtimes)
                        at += (size_t)snprintf(ret->runtimes + at, sizeof ret->runtimes - at, "%s%s",
                                               at ? " " : "", name);
}

static bool has_user_namespace(const json_t *security)
{
        size_t i;
        json_t *value;
        json_array_foreach (security, i, value) {
                const char *option = foreign_json_text(value);
                if (option && (!strcmp(option, "name=rootless") || !strcmp(option, "name=userns")))
                        return true;
        }
        return false;
}

int reply_info(const char *text, size_t len, struct docker_opened *ret)
{
        AUTO(json_decref) json_t *top = docker_reply_parse(text, len);
        const char *cgroup = foreign_json_get_text(top, "CgroupVersion");
        const char *version = foreign_json_get_text(top, "ServerVersion");
        if (!version)
                return -EPROTO;
        docker_reply_copy(ret->version, sizeof ret->version, version);
        take_runtimes(json_object_get(top, "Runtimes"), ret);
        docker_reply_copy(ret->runtime, sizeof ret->runtime, foreign_json_get_text(top, "DefaultRuntime"));
        ret->cgroup = cgroup && !strcmp(cgroup, "2") ? 2 : cgroup && !strcmp(cgroup, "1") ? 1 : 0;
        ret->rootless =
                get_bool(top, "Rootless") || has_user_namespace(json_object_get(top, "SecurityOptions"));
        return 0;
}

/* ---- an image ---- */

struct strings {
        const char **at;
        size_t left;
        bool bad;
};

/* The strings of a list that may be absent, with NULL behind them; they belong to the list.  NULL: no room.
 */
static const char **docker_reply_words(struct strings *s, const json_t *object, const char *name)
{
        const json_t *array = json_object_get(object, name);
        const char **begin = s->at;
        size_t i;
        json_t *value;
        if (!foreign_json_is_absent(object, name) && !json_is_array(array))
                s->bad = true;
        json_array_foreach (array, i, value) {
                const char *text = foreign_json_text(value);
                if (!text || s->left < 2 || s->bad) {
                        s->bad = true;
                        break;
                }
                *s->at++ = text;
                s->left--;
        }
        if (s->left == 0)
                return NULL;
        *s->at++ = NULL;
        s->left--;
        return begin;
}

/* Removes variables that are not NAME=VALUE: engines accept anything. */
static void drop_strange_variables(const char **env)
{
        const char **to = env;
        for (const char **from = env; *from; from++)
                if (strcspn(*from, "=") > 0 && strchr(*from, '='))
                        *to++ = *from;
        *to = NULL;
}

/* Whether a path is absolute and has no part that an engine could resolve in another way than we do. */
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

/* Whether an image must not mount anything there. */
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

/* All volumes or none: one that is left out would be a directory on the host without a disk limit. */
static int take_volumes(struct reply_image *ret, json_t *volumes)
{
        const char *path;
        json_t *value;
        json_object_foreach (volumes, path, value) {
                if (!is_clean_path(path) || is_forbidden_path(path))
                        return -EPROTO;
                if (ret->n_volumes == REPLY_VOLUMES_MAX)
                        return -E2BIG;
                ret->volumes[ret->n_volumes++] = path;
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

/* The engine resolves names.  It only matters here whether the user is root. */
static uint32_t docker_reply_uid(const char *user)
{
        const size_t len = strcspn(user, ":");
        if (len == 0 || (len == 4 && !strncmp(user, "root", 4)))
                return 0;
        char *end;
        const unsigned long uid = strtoul(user, &end, 10);
        return end == user + len && uid <= INT32_MAX ? (uint32_t)uid : 1000;
}

static int take_image(const json_t *top, struct reply_image *ret)
{
        static const char *const none[] = {NULL};
        const json_t *config = json_object_get(top, "Config");
        json_t *volumes = json_object_get(config, "Volumes");
        struct image *image = &ret->image;
        struct strings s = {ret->strings, STRINGS_MAX, false};
        const char *text;
        if (!take_id(foreign_json_get_text(top, "Id"), image->id))
                return -EPROTO;
        if (json_object_size(volumes) > REPLY_VOLUMES_MAX)
                return -E2BIG;
        image->env = docker_reply_words(&s, config, "Env");
        image->entrypoint = docker_reply_words(&s, config, "Entrypoint");
        image->cmd = docker_reply_words(&s, config, "Cmd");
        if (s.bad || !image->env || !image->entrypoint || !image->cmd)
                return -EPROTO;
        drop_strange_variables(image->env);
        text = foreign_json_get_text(config, "WorkingDir");
        image->cwd = text && is_clean_path(text) ? text : "/";
        text = foreign_json_get_text(config, "User");
        image->user = text ? text : "";
        image->uid = docker_reply_uid(image->user);
        image->bytes = get_positive(top, "Size");
        image->digest = image->platform = "";
        image->source = "docker";
        image->names = image->layers = (const char **)none;
        ret->checks_health = json_object_get(json_object_get(config, "Healthcheck"), "Test") ||
                             json_object_get(top, "HealthCheck");
        return take_volumes(ret, volumes);
}

int reply_image(const char *text, size_t len, struct reply_image *ret)
{
        *ret = (struct reply_image){.document = docker_reply_parse(text, len),
                                    .strings = calloc(STRINGS_MAX, sizeof(char *))};
        int r = !ret->strings ? -ENOMEM : !ret->document ? -EPROTO : take_image(ret->document, ret);
        if (r < 0)
                reply_image_done(ret);
        return r;
}

void reply_image_done(struct reply_image *image)
{
        json_decref(image->document);
        free(image->strings);
        *image = (struct reply_image){0};
}

/* ---- containers ---- */

bool reply_id_valid(const char *id)
{
        size_t len = strlen(id);
        return len >= 12 && len < REPLY_ID_MAX && strspn(id, "0123456789abcdef") == len;
}

int reply_created(const char *text, size_t len, char ret[REPLY_ID_MAX])
{
        AUTO(json_decref) json_t *top = docker_reply_parse(text, len);
        const char *id = foreign_json_get_text(top, "Id");
        if (!id || !reply_id_valid(id))
                return -EPROTO;
        memcpy(ret, id, strlen(id) + 1);
        return 0;
}

int reply_state(const char *text, size_t len, struct reply_state *ret)
{
        AUTO(json_decref) json_t *top = docker_reply_parse(text, len);
        const json_t *state = json_object_get(top, "State");
        if (!json_is_object(state))
                return -EPROTO;
        const double code = json_number_value(json_object_get(state, "ExitCode"));
        const uint64_t pid = get_positive(state, "Pid");
        *ret = (struct reply_state){
                .running = get_bool(state, "Running"),
                .paused = get_bool(state, "Paused"),
                .oom_killed = get_bool(state, "OOMKilled"),
                .exit_code = code >= INT32_MIN && code <= INT32_MAX ? (int)code : 0,
                .pid = pid < INT32_MAX ? (int)pid : 0,
        };
        docker_reply_copy(ret->error, sizeof ret->error, foreign_json_get_text(state, "Error"));
        return 0;
}

/* Options of the driver could make it another directory of the host. */
bool reply_volume_is_of(const char *text, size_t len, const char *home)
{
        AUTO(json_decref) json_t *top = docker_reply_parse(text, len);
        const char *driver = foreign_json_get_text(top, "Driver");
        const char *of = foreign_json_get_text(json_object_get(top, "Labels"), REPLY_LABEL_HOME);
        return driver && !strcmp(driver, "local") && of && !strcmp(of, home) &&
               json_object_size(json_object_get(top, "Options")) == 0;
}

int reply_list(const char *text, size_t len, void (*each)(void *context, const char *id, const char *owner),
               void *context)
{
        AUTO(json_decref) json_t *top = docker_reply_parse(text, len);
        size_t i;
        json_t *value;
        if (!json_is_array(top))
                return -EPROTO;
        json_array_foreach (top, i, value) {
                const char *id = foreign_json_get_text(value, "Id");
                const char *owner =
                        foreign_json_get_text(json_object_get(value, "Labels"), REPLY_LABEL_OWNER);
                if (id && reply_id_valid(id) && owner && strlen(owner) < REPLY_OWNER_MAX)
                        each(context, id, owner);
        }
        return 0;
}

int reply_stats(const char *text, size_t len, struct keeper_counted *ret)
{
        AUTO(json_decref) json_t *top = docker_reply_parse(text, len);
        if (!json_is_object(top))
                return -EPROTO;
        const json_t *memory = json_object_get(top, "memory_stats"),
                     *pids = json_object_get(top, "pids_stats"),
                     *cpu = json_object_get(json_object_get(top, "cpu_stats"), "cpu_usage");
        uint64_t now = get_positive(memory, "usage"), peak = get_positive(memory, "max_usage"),
                 processes = get_positive(pids, "current");
        ret->cpu_us = get_positive(cpu, "total_usage") / 1000;
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

void reply_pull(const char *text, size_t len, char *ret, size_t size)
{
        ret[0] = '\0';
        for (const char *line = text, *end = text + len; line < end;) {
                const char *newline = memchr(line, '\n', (size_t)(end - line));
                size_t n = (size_t)((newline ? newline : end) - line);
                AUTO(json_decref) json_t *top = docker_reply_parse(line, n);
                const char *error = foreign_json_get_text(top, "error");
                if (error)
                        copy_ends(ret, size, error);
                line += n + 1;
        }
}
