/* core/sandbox/registry.c -- the list of sandboxes: adding, finding, saving, cleaning up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/mount.h"
#include "core/sandbox/renew.h"
#include "core/sandbox/workspace.h"
#include "engine/result.h"

static void copy_text(char *to, size_t size, const char *from)
{
        snprintf(to, size, "%s", from ? from : "");
}

static json_t *remembered(const struct core_sandbox *sb)
{
        return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, "
                         "s:O, s:O*, s:o, "
                         "s:i}",
                         "engine", engine_words[sb->engine], "image", sb->image_name, "name", sb->name, "key",
                         sb->key, "scope", scope_words[sb->scope], "session", sb->session, "agent", sb->agent,
                         "limits", limits_to_json(&sb->limits), "required", (json_int_t)sb->required,
                         "workspace", workspace_words[sb->workspace], "created_ms",
                         (json_int_t)sb->created_ms, "used_ms",
                         (json_int_t)(core_now_ms() - (clock_us() - sb->used_us) / 1000), "ttl_ms",
                         (json_int_t)sb->ttl_ms, "expires_ms", (json_int_t)sb->expires_ms, "idle_timeout_ms",
                         (json_int_t)sb->idle_timeout_ms, "key_sandboxes_max", (json_int_t)sb->place.key_max,
                         "metadata", sb->metadata, "mounts", sb->mounts, "network",
                         network_to_state(&sb->network), "chosen", (int)sb->chosen);
}

int sandbox_remember(const struct core_sandbox *sb, struct cella_err *err)
{
        json_t *about = sb->persistent ? remembered(sb) : NULL;
        int r = about ? state_sandbox_put(sb->core->state, sb->id, about, err) : 0;
        json_decref(about);
        return r;
}

void sandbox_adopt(struct core_sandbox *sb, const struct sandbox_spec *spec)
{
        copy_text(sb->key, sizeof sb->key, spec->caller->key);
        copy_text(sb->session, sizeof sb->session, spec->session);
        copy_text(sb->agent, sizeof sb->agent, spec->agent);
        copy_text(sb->name, sizeof sb->name, spec->name);
        sb->place.key_max = spec->caller->sandboxes_max;
        sb->limits = spec->limits;
        network_copy(&spec->network, &sb->network);
        copy_text(sb->image_name, sizeof sb->image_name, used_image_name(spec->image));
        sb->created_ms = core_now_ms();
}

/* Sandboxes of longer scopes keep their files, unless these are the agent's own. */
static bool scope_keeps_files(const struct sandbox_spec *spec)
{
        return spec->scope != SCOPE_EXECUTION && spec->workspace == WORKSPACE_NONE &&
               spec->engine == ENGINE_NATIVE;
}

int sandbox_add(struct core *core, const struct sandbox_spec *spec, struct core_sandbox **ret,
                struct cella_err *err)
{
        struct core_sandbox *sb = sandbox_alloc(core);
        int r = sb ? id_make("sbx_", sb->id) : -ENOMEM;
        if (r < 0) {
                free(sb);
                return err_set(err, CELLA_INTERNAL, r, "sandbox");
        }
        sb->scope = spec->scope;
        sb->one_shot = spec->one_shot;
        sb->direct = spec->direct;
        sb->engine = spec->engine;
        sandbox_adopt(sb, spec);
        sb->required = spec->required;
        sb->workspace = spec->workspace;
        sb->chosen = spec->chosen;
        sb->image = used_image_ref(spec->image);
        sb->ttl_ms = spec->ttl_ms;
        sb->idle_timeout_ms = spec->idle_timeout_ms;
        sb->expires_ms = spec->ttl_ms ? sb->created_ms + (int64_t)spec->ttl_ms : 0;
        sb->metadata = spec->metadata ? json_incref(spec->metadata) : json_object();
        sb->mounts = json_incref(spec->mounts);
        const bool of_scope = scope_keeps_files(spec);
        sb->persistent = of_scope || spec->persistent;
        if (sb->persistent && spec->workspace == WORKSPACE_NONE)
                workspace_name(sb->id, sb->engine, sb->directory);
        if (of_scope && (r = sandbox_remember(sb, err)) < 0) {
                json_decref(sb->metadata);
                json_decref(sb->mounts);
                network_done(&sb->network);
                used_image_unref(sb->image);
                free(sb);
                return r;
        }
        list_add(&core->sandboxes, &sb->link);
        core_hurry(core);
        *ret = sb;
        return 0;
}

int sandbox_add_like(const struct core_sandbox *other, struct core_sandbox **ret, struct cella_err *err)
{
        struct caller caller = {.sandboxes_max = other->place.key_max};
        const struct sandbox_spec spec = {.caller = &caller,
                                          .scope = other->scope,
                                          .one_shot = other->one_shot,
                                          .direct = other->direct,
                                          .session = other->session,
                                          .agent = other->agent,
                                          .limits = other->limits,
                                          .required = other->required,
                                          .workspace = other->workspace,
                                          .network = other->network,
                                          .mounts = other->mounts,
                                          .engine = other->engine,
                                          .image = other->image};
        memcpy(caller.key, other->key, sizeof caller.key);
        return sandbox_add(other->core, &spec, ret, err);
}

static bool is_of_client(const struct core_sandbox *sb)
{
        return !sb->one_shot && !sb->place.ahead && !sb->removing;
}

static struct core_sandbox *find_name(const struct core *core, const char *key, const char *name)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->name[0] && !strcmp(sb->name, name) && !strcmp(sb->key, key) && is_of_client(sb))
                        return sb;
        }
        return NULL;
}

struct core_sandbox *sandbox_find(const struct core *core, const struct caller *caller, const char *id)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (!strcmp(sb->id, id) && caller_sees(caller, sb->key) && is_of_client(sb))
                        return sb;
        }
        return find_name(core, caller->key, id);
}

int sandbox_check_name(const struct core *core, const char *key, const char *name,
                       const struct core_sandbox *but, struct cella_err *err)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
        const size_t len = strlen(name);
        if (len == 0 || len >= SANDBOX_NAME_SIZE || strspn(name, letters) != len || strchr("._-", name[0]))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "name must have 1 to %d of a-z, A-Z, 0-9, '.', '_' and '-', and begin with a "
                               "letter or digit",
                               SANDBOX_NAME_SIZE - 1);
        if (!strncmp(name, "sbx_", 4)) /* it would look like an id */
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "name must not begin with 'sbx_'");
        const struct core_sandbox *has = find_name(core, key, name);
        if (has && has != but)
                return err_say(err, CELLA_INVALID_REQUEST, -EEXIST, "name: the sandbox %s has the name '%s'",
                               has->id, name);
        return 0;
}

int sandbox_check_labels(const json_t *labels, struct cella_err *err)
{
        size_t bytes = 0;
        const char *name;
        json_t *value;
        json_object_foreach ((json_t *)labels, name, value)
                bytes += strlen(name) + json_string_length(value);
        if (json_object_size(labels) > SANDBOX_LABELS_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "metadata may have at most %d entries",
                               SANDBOX_LABELS_MAX);
        if (bytes > SANDBOX_LABELS_BYTES)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG,
                               "metadata may have at most %d bytes of names and values",
                               SANDBOX_LABELS_BYTES);
        return 0;
}

int sandbox_check_kept(const struct core *core, const struct caller *caller, struct cella_err *err)
{
        unsigned n = 0;
        list_each (at, &core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                n += sb->persistent && !sb->removing && !strcmp(sb->key, caller->key);
        }
        if (n < core->settings.kept_max)
                return 0;
        err_say(err, CELLA_OVER_CAPACITY, -EDQUOT,
                "no room for another sandbox: this caller keeps the files of %u sandboxes, as many as the "
                "setting sandboxes.kept_max allows",
                n);
        return err_hint(err, "remove sandboxes that are not needed; cella ls --state stopped lists those "
                             "that do not run");
}

bool sandbox_has_workspace(const struct core *core, const char *directory)
{
        list_each (at, &core->sandboxes, other)
                if (!strcmp(list_entry(at, struct core_sandbox, link)->directory, directory))
                        return true;
        return false;
}

static bool is_of_scope(const struct core_sandbox *sb, const struct sandbox_spec *spec)
{
        if (sb->scope != spec->scope || sb->removing || sb->one_shot || sb->place.ahead ||
            strcmp(sb->key, spec->caller->key) != 0)
                return false;
        switch (spec->scope) {
        case SCOPE_SESSION:
                return !strcmp(sb->session, spec->session ? spec->session : "");
        case SCOPE_AGENT:
                return !strcmp(sb->agent, spec->agent ? spec->agent : "");
        case SCOPE_SHARED:
                return true;
        case SCOPE_EXECUTION:
                break;
        }
        return false;
}

struct core_sandbox *sandbox_find_of_scope(const struct core *core, const struct sandbox_spec *spec)
{
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (is_of_scope(sb, spec))
                        return sb;
        }
        return NULL;
}

int sandbox_of_scope(struct core *core, const struct sandbox_spec *spec, struct core_sandbox **ret,
                     struct cella_err *err)
{
        struct core_sandbox *sb = sandbox_find_of_scope(core, spec);
        if (!sb) {
                int r = scope_keeps_files(spec) ? sandbox_check_kept(core, spec->caller, err) : 0;
                return r < 0 ? r : sandbox_add(core, spec, ret, err);
        }
        int r = sandbox_check_choice(sb, spec, err);
        if (r == 0)
                r = network_check_same(&sb->network, spec->asked, err);
        if (r == 0)
                r = mount_check_same(sb->mounts, spec->asked_mounts, err);
        if (r == 0)
                r = sandbox_follow_settings(&sb, spec, err);
        if (r == 0)
                *ret = sb;
        return r;
}

static bool is_idle(const struct core_sandbox *sb, int64_t now)
{
        uint64_t timeout = sb->idle_timeout_ms ? sb->idle_timeout_ms : sb->core->settings.idle_timeout_ms;
        list_each (at, &sb->tasks, other)
                if (!list_entry(at, struct task, link)->ignore_for_idle)
                        return false;
        return now - sb->used_us > (int64_t)timeout * 1000;
}

bool sandbox_reclaimable(const struct core_sandbox *sb)
{
        const bool keeps_files = sb->directory[0] || sb->workspace != WORKSPACE_NONE;
        return sb->scope != SCOPE_EXECUTION && keeps_files && sb->state == SANDBOX_RUNNING &&
               list_empty(&sb->tasks) && !sb->removing && !sb->frozen;
}

/* Whether an idle sandbox is only stopped.  One that a client created without a ttl is removed: it has no
 * other end. */
static bool outlives_idleness(const struct core_sandbox *sb)
{
        return sb->persistent && (sb->scope != SCOPE_EXECUTION || sb->expires_ms);
}

/* Ends an idle sandbox.  Its next use starts it again if it outlives idleness. */
void sandbox_reclaim(struct core_sandbox *sb)
{
        struct cella_err err = {0};
        if (outlives_idleness(sb)) {
                sandbox_remember(sb, &err);
                sandbox_stop(sb);
        } else {
                sandbox_remove(sb);
        }
}

/* Whether a stopped sandbox was unused for so long that its files are removed, too. */
static bool is_forgotten(const struct core_sandbox *sb, int64_t now)
{
        if (sb->scope != SCOPE_EXECUTION)
                return now - sb->used_us > (int64_t)sb->core->settings.workspace_keep_ms * 1000;
        return !outlives_idleness(sb) && is_idle(sb, now);
}

static void cleanup_one(struct core_sandbox *sb, int64_t now)
{
        if (sb->one_shot || sb->removing || sb->place.ahead)
                return;
        if (sb->expires_ms && core_now_ms() >= sb->expires_ms) {
                sandbox_remove(sb);
        } else if (sb->state == SANDBOX_STOPPED && sb->persistent) {
                if (is_forgotten(sb, now))
                        sandbox_remove(sb);
        } else if ((sb->state == SANDBOX_RUNNING || sb->state == SANDBOX_PAUSED) && is_idle(sb, now)) {
                sandbox_reclaim(sb);
        }
}

void sandbox_cleanup(struct core *core, bool all)
{
        int64_t now = clock_us();
        list_each (at, &core->sandboxes, other) {
                struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (all || sb->expires_ms || sb->idle_timeout_ms)
                        cleanup_one(sb, now);
        }
}

static const char *sandbox_registry_text(const json_t *about, const char *name)
{
        const char *t = json_string_value(json_object_get(about, name));
        return t ? t : "";
}

static int64_t integer(const json_t *about, const char *name)
{
        return json_integer_value(json_object_get(about, name));
}

/* Rows of earlier versions have no times, metadata and required limits. */
static void restore_life(struct core_sandbox *sb, const json_t *about)
{
        json_t *metadata = json_object_get(about, "metadata");
        json_t *mounts = json_object_get(about, "mounts");
        sb->metadata = json_is_object(metadata) ? json_incref(metadata) : json_object();
        sb->mounts = json_is_array(mounts) ? json_incref(mounts) : NULL;
        sb->created_ms = integer(about, "created_ms");
        sb->ttl_ms = (uint64_t)integer(about, "ttl_ms");
        sb->expires_ms = integer(about, "expires_ms");
        sb->idle_timeout_ms = (uint64_t)integer(about, "idle_timeout_ms");
        sb->required = (uint32_t)integer(about, "required");
        /* The idle time of a created sandbox begins again: it could not be used while there was no daemon. */
        int64_t unused_ms = sb->scope == SCOPE_EXECUTION ? 0 : core_now_ms() - integer(about, "used_ms");
        sb->used_us = clock_us() - (unused_ms > 0 ? unused_ms : 0) * 1000;
}

/* The image of a container is looked up by its engine when it starts again, and is not pulled then. */
static int restore_engine(struct core_sandbox *sb, const json_t *about)
{
        struct cella_err err = {0};
        if (word_index(engine_words, sandbox_registry_text(about, "engine")) != ENGINE_DOCKER)
                return 0; /* rows of earlier versions have no engine */
        sb->engine = ENGINE_DOCKER;
        return used_image_remote(sb->image_name, false, &sb->image, &err);
}

static void sandbox_registry_restore(struct core *core, const json_t *about)
{
        struct core_sandbox *sb = sandbox_alloc(core);
        const char *id = sandbox_registry_text(about, "id");
        int scope = word_index(scope_words, sandbox_registry_text(about, "scope"));
        int workspace = word_index(workspace_words, sandbox_registry_text(about, "workspace"));
        /* The row may come from a backup, and the id names a directory that is removed with the sandbox. */
        if (!sb || scope < 0 || workspace < 0 || !id_is(id, "sbx_")) {
                free(sb);
                return;
        }
        sb->persistent = true;
        copy_text(sb->id, sizeof sb->id, id);
        copy_text(sb->image_name, sizeof sb->image_name,
                  sandbox_registry_text(about, "image")[0] ? sandbox_registry_text(about, "image")
                                                           : IMAGE_HOST);
        if (restore_engine(sb, about) < 0) {
                free(sb);
                return;
        }
        if (workspace == WORKSPACE_NONE)
                workspace_name(sb->id, sb->engine, sb->directory);
        copy_text(sb->key, sizeof sb->key, sandbox_registry_text(about, "key"));
        copy_text(sb->session, sizeof sb->session, sandbox_registry_text(about, "session"));
        copy_text(sb->agent, sizeof sb->agent, sandbox_registry_text(about, "agent"));
        copy_text(sb->name, sizeof sb->name, sandbox_registry_text(about, "name"));
        sb->place.key_max = (uint32_t)integer(about, "key_sandboxes_max");
        sb->scope = (enum sandbox_scope)scope;
        sb->workspace = (enum workspace_access)workspace;
        const json_t *chosen = json_object_get(about, "chosen"); /* absent: saved by an older version */
        sb->chosen = chosen ? (unsigned)json_integer_value(chosen) : ~0u;
        restore_life(sb, about);
        cella_limits_default(&sb->limits);
        limits_overlay(json_object_get(about, "limits"), &sb->limits, NULL);
        network_from_state(json_object_get(about, "network"), &sb->network);
        list_add(&core->sandboxes, &sb->link);
}

int sandbox_restore_all(struct core *core, struct cella_err *err)
{
        json_t *all = NULL, *about;
        size_t i;
        int r = state_sandbox_list(core->state, &all, err);
        if (r < 0)
                return r;
        json_array_foreach (all, i, about)
                sandbox_registry_restore(core, about);
        json_decref(all);
        return 0;
}

unsigned sandbox_processes_running(const struct core_sandbox *sb)
{
        unsigned n = 0;
        list_each (at, &sb->processes, other)
                n += !list_entry(at, const struct sandbox_process, link)->ended;
        return n;
}

static json_t *sandbox_registry_words(const char *const *list, size_t n)
{
        json_t *array = json_array();
        for (size_t i = 0; i < n; i++)
                json_array_append_new(array, json_string(list[i]));
        return array;
}

json_t *isolation_to_json(uint32_t walls, uint32_t missing)
{
        struct cella_isolation isolation;
        isolation_fill(walls, missing, &isolation);
        json_t *o = json_pack("{s:s, s:o, s:o}", "engine", isolation.engine, "layers",
                              sandbox_registry_words(isolation.layers, isolation.n_layers), "missing",
                              sandbox_registry_words(isolation.missing, isolation.n_missing));
        if (o && isolation.users > 1)
                json_object_set_new(o, "users", json_integer(isolation.users));
        return o;
}

static json_t *text_or_null(const char *t)
{
        return t[0] ? json_string(t) : json_null();
}

json_t *sandbox_to_json(const struct core_sandbox *sb)
{
        static const char *const states[] = {
                [SANDBOX_STOPPED] = "stopped", [SANDBOX_WAITING] = "stopped", [SANDBOX_MAKING] = "running",
                [SANDBOX_RUNNING] = "running", [SANDBOX_PAUSED] = "paused",   [SANDBOX_DYING] = "running",
                [SANDBOX_DEAD] = "running",    [SANDBOX_ENDING] = "stopped"};
        uint64_t idle = sb->idle_timeout_ms ? sb->idle_timeout_ms : sb->core->settings.idle_timeout_ms;
        json_t *o = json_pack(
                "{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:O, s:o, s:o, s:s, s:b, s:I, "
                "s:I}",
                "id", sb->id, "name", text_or_null(sb->name), "state", states[sb->state], "image",
                sb->image_name, "scope",
                sb->scope == SCOPE_EXECUTION ? json_null() : json_string(scope_words[sb->scope]), "session",
                text_or_null(sb->session), "agent", text_or_null(sb->agent), "key", text_or_null(sb->key),
                "created", core_time(sb->created_ms), "expires",
                sb->expires_ms ? core_time(sb->expires_ms) : json_null(), "idle_timeout_ms", (json_int_t)idle,
                "ttl_ms", sb->ttl_ms ? json_integer((json_int_t)sb->ttl_ms) : json_null(), "metadata",
                sb->metadata, "limits", limits_to_json(&sb->limits), "network",
                network_to_json(&sb->core->settings, &sb->network), "workspace",
                workspace_words[sb->workspace], "persistent", sb->persistent, "executions",
                (json_int_t)sb->executions, "processes", (json_int_t)sandbox_processes_running(sb));
        if (o)
                json_object_set_new(o, "mounts", sb->mounts ? json_incref(sb->mounts) : json_array());
        if (o && sandbox_alive(sb))
                json_object_set_new(o, "isolation", isolation_to_json(sb->walls, sb->missing));
        return o;
}
