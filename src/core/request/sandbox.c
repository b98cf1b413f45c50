/* core/request/sandbox.c -- chooses the sandbox of a request, and its limits. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "core/docker.h"
#include "core/mount.h"
#include "core/pool/pool.h"
#include "core/request/request.h"
#include "core/settings/words.h"

static bool names_directory(const char *name)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
        size_t len = strlen(name);
        return len < KEEPER_NAME_MAX && name[0] != '.' && strspn(name, letters) == len;
}

static int check_workspace(const struct core *core, enum workspace_access workspace, const char *agent,
                           struct cella_err *err)
{
        if (workspace == WORKSPACE_NONE)
                return 0;
        if (!agent)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "agent is required with workspace '%s'",
                               workspace_words[workspace]);
        if (!names_directory(agent))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "agent must have only letters, digits, '.', '_' and '-', at most %d, and not "
                               "begin with '.', to have a workspace",
                               KEEPER_NAME_MAX - 1);
        if (!core->settings.workspace_root) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "workspace '%s' needs the setting workspace_root", workspace_words[workspace]);
                return err_hint(err,
                                "cella settings set workspace_root DIR, with one directory for each agent");
        }
        return 0;
}

/* Sets the limits: the settings' defaults bounded by the key, then the requested ones. */
static int fill_limits(const struct core *core, const struct caller *caller, const json_t *asked,
                       uint64_t timeout_ms, struct sandbox_spec *spec, struct cella_err *err)
{
        spec->limits = core->settings.limits;
        for (size_t i = 0; i < limits_table_len && !caller->owner; i++) {
                const struct limit *l = &limits_table[i];
                uint64_t max = limit_get(&caller->limits_max, l), have = limit_get(&spec->limits, l);
                if (max > 0 && (have > max || have == 0))
                        limit_put(&spec->limits, l, max);
        }
        limits_overlay(asked, &spec->limits, &spec->required);
        if (timeout_ms > 0)
                spec->limits.timeout_ms = timeout_ms;
        return caller_allows(caller, &spec->limits, err);
}

enum sandbox_scope exec_request_scope(const struct core *core, const struct exec_request *r)
{
        if (r->scope >= 0)
                return (enum sandbox_scope)r->scope;
        if (core->settings.scope != SCOPE_EXECUTION)
                return core->settings.scope;
        return r->session ? SCOPE_SESSION : r->agent ? SCOPE_AGENT : SCOPE_EXECUTION;
}

/* Sets a name that the request does not give; "" is none. */
static int take_name(struct exec_request *r, const char *name, const char **ret)
{
        if (*ret || !name[0])
                return 0;
        char *copy = strdup(name);
        if (exec_request_own(r, copy) < 0)
                return -ENOMEM;
        *ret = copy;
        return 0;
}

/* The same error whether the scope is that of the request or that of the settings. */
static int check_scope(const struct exec_request *r, enum sandbox_scope scope, struct cella_err *err)
{
        const char *word = scope_words[scope];
        if ((scope != SCOPE_SESSION || r->session) && (scope != SCOPE_AGENT || r->agent))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s is required with scope '%s'", word, word);
        return r->scope >= 0
                       ? err_hint(err, "name the %s, or use scope 'execution'", word)
                       : err_hint(err, "the setting scope is '%s': name the %s, or use scope 'execution'",
                                  word, word);
}

/* The version that the settings define for a language is for new sandboxes.  An existing one with another
 * image runs the language as that image has it, so that a session does not depend on the order of its calls,
 * or end with a change of the settings. */
static void keep_image(const struct core *core, const struct caller *caller, struct exec_request *r)
{
        const struct sandbox_spec spec = {.caller = caller,
                                          .scope = (enum sandbox_scope)r->scope,
                                          .session = r->session,
                                          .agent = r->agent};
        const struct core_sandbox *sb =
                r->language && r->scope != SCOPE_EXECUTION ? sandbox_find_of_scope(core, &spec) : NULL;
        if (!sb || !strcmp(sb->image_name, r->image))
                return;
        r->runtime = r->language;
        r->image = NULL;
}

int exec_request_identify(const struct core *core, const struct caller *caller, struct exec_request *r,
                          struct cella_err *err)
{
        const enum sandbox_scope scope = exec_request_scope(core, r);
        const bool workspace = r->workspace >= 0 ? r->workspace != WORKSPACE_NONE
                                                 : core->settings.workspace != WORKSPACE_NONE;
        int e = scope == SCOPE_SESSION ? take_name(r, caller->session, &r->session) : 0;
        if (e == 0 && (scope == SCOPE_AGENT || workspace))
                e = take_name(r, caller->agent, &r->agent);
        if (e < 0)
                return err_set(err, CELLA_INTERNAL, e, "request");
        e = check_scope(r, scope, err);
        r->scope = (int)scope;
        if (e == 0)
                keep_image(core, caller, r);
        return e;
}

static int find_or_make(struct core *core, const struct sandbox_spec *spec, const struct exec_request *r,
                        struct core_sandbox **ret, struct cella_err *err)
{
        if (!spec->one_shot)
                return sandbox_of_scope(core, spec, ret, err);
        *ret = spec->direct || spec->engine != ENGINE_NATIVE ? NULL : pool_take(core, spec, r);
        return *ret ? 0 : sandbox_add(core, spec, ret, err);
}

enum engine_choice exec_request_engine(const struct core *core, const struct exec_request *r)
{
        return r->direct        ? ENGINE_NATIVE
               : r->engine >= 0 ? (enum engine_choice)r->engine
                                : core->settings.engine;
}

/* Finds the requested image or that of the settings.  Code on the host has no image. */
static int find_image(struct core *core, const char *asked, bool direct, int engine,
                      struct sandbox_spec *spec, struct cella_err *err)
{
        spec->chosen |= (asked ? CHOSEN_IMAGE : 0) | (engine >= 0 ? CHOSEN_ENGINE : 0);
        spec->engine = direct        ? ENGINE_NATIVE
                       : engine >= 0 ? (enum engine_choice)engine
                                     : core->settings.engine;
        const char *name = asked ? asked : core->settings.image;
        if (spec->engine == ENGINE_DOCKER)
                return used_image_remote(name, docker_may_pull(&core->settings, spec->caller, name),
                                         &spec->image, err);
        return direct ? 0 : used_image_find(core, name, &spec->image, err);
}

/* Computes the network of the request.  A sandbox with a network needs the egress process. */
static int narrow_network(const struct core *core, const struct caller *caller, const json_t *asked,
                          struct network *ret, struct cella_err *err)
{
        int r = network_narrow(&core->settings, caller, asked, ret, err);
        if (r == 0 && ret->tier != TIER_RESTRICTED && (r = egress_check(core, err)) < 0)
                network_done(ret);
        return r;
}

int exec_request_sandbox(struct core *core, const struct caller *caller, const struct exec_request *r,
                         struct core_sandbox **ret, struct cella_err *err)
{
        struct sandbox_spec spec = {.caller = caller,
                                    .session = r->session,
                                    .agent = r->agent,
                                    .asked = r->network,
                                    .asked_mounts = r->mounts};
        spec.workspace = r->workspace >= 0 ? (enum workspace_access)r->workspace
                         : r->agent        ? core->settings.workspace
                                           : WORKSPACE_NONE;
        spec.chosen = r->workspace >= 0 ? CHOSEN_WORKSPACE : 0;
        spec.scope = exec_request_scope(core, r);
        spec.direct = r->direct;
        /* On the host it uses the host's network, without our control. */
        int e = r->direct ? 0 : narrow_network(core, caller, r->network, &spec.network, err);
        if (e == 0)
                e = check_workspace(core, spec.workspace, r->agent, err);
        if (e == 0)
                e = fill_limits(core, caller, r->limits, r->timeout_ms, &spec, err);
        if (e == 0)
                e = find_image(core, r->image, r->direct, r->engine, &spec, err);
        spec.one_shot = spec.scope == SCOPE_EXECUTION && (!r->lasting || r->direct);
        if (e == 0)
                e = mount_resolve(&core->settings, r->mounts, &spec.mounts, err);
        if (e == 0)
                e = find_or_make(core, &spec, r, ret, err);
        json_decref(spec.mounts);
        used_image_unref(spec.image);
        network_done(&spec.network);
        return e;
}

void exec_request_take_note(struct exec_request *r, struct core_sandbox *sb)
{
        _Static_assert(sizeof r->reason == sizeof sb->note, "see below");
        if (!sb->note[0])
                return;
        memcpy(r->reason, sb->note, sizeof r->reason);
        r->renewed = true;
        sb->note[0] = '\0';
}

/* What helps if a limit of the sandbox differs from the one that a request asks for. */
static int hint_of_sandbox(const struct limit *l, bool higher, const char *id, struct cella_err *err)
{
        const uint32_t of_groups = CELLA_LIMIT_MEMORY | CELLA_LIMIT_PROCESSES | CELLA_LIMIT_CPUS;
        if (l->scope == LIMIT_OF_SANDBOX && !higher)
                return err_hint(err, "an existing sandbox keeps its limits: leave it out");
        if (l->scope == LIMIT_OF_SANDBOX && !(l->bit & of_groups))
                return err_hint(err, "make a new sandbox with this limit");
        return err_hint(err, "cella raise %s --%s, or PATCH /v1/sandboxes/%s, raises it", id, l->option, id);
}

int exec_request_limits(const struct exec_request *r, const struct core_sandbox *sb, struct cella_limits *ret,
                        struct cella_err *err)
{
        struct cella_limits asked = sb->limits;
        char value[32];
        int e = network_check_same(&sb->network, r->network, err);
        if (e < 0)
                return e;
        limits_overlay(r->limits, &asked, NULL);
        if (r->timeout_ms > 0)
                asked.timeout_ms = r->timeout_ms;
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                uint64_t have = limit_get(&sb->limits, l), want = limit_get(&asked, l);
                if (want == have)
                        continue;
                limit_write(l, have, value, sizeof value);
                if (l->scope == LIMIT_OF_SANDBOX) {
                        err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                "limits.%s belongs to the sandbox, which has %s", l->name, value);
                        return hint_of_sandbox(l, want > have, sb->id, err);
                }
                if (have != 0 && (want > have || want == 0)) {
                        err_say(err, CELLA_INVALID_REQUEST, -ERANGE,
                                "limits.%s must be at most the sandbox's own %s", l->name, value);
                        return hint_of_sandbox(l, true, sb->id, err);
                }
        }
        *ret = asked;
        return 0;
}

int limits_request(const struct caller *caller, const json_t *asked, const struct core_sandbox *sb,
                   struct cella_limits *ret, uint32_t *ret_required, struct cella_err *err)
{
        const uint32_t of_groups = CELLA_LIMIT_MEMORY | CELLA_LIMIT_PROCESSES | CELLA_LIMIT_CPUS;
        struct cella_limits wanted = sb->limits;
        uint32_t required = 0;
        limits_overlay(asked, &wanted, &required);
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                const uint64_t have = limit_get(&sb->limits, l), want = limit_get(&wanted, l);
                const bool can_be_none = l->standard == 0 && l->min > 0; /* then 0 is no limit */
                if (want == have)
                        continue;
                if (l->scope == LIMIT_OF_SANDBOX && !(l->bit & of_groups)) {
                        err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                "limits.%s of an existing sandbox cannot be changed", l->name);
                        return err_hint(err, "make a new sandbox with this limit");
                }
                if (sb->engine != ENGINE_NATIVE && l->scope == LIMIT_OF_SANDBOX && want < have) {
                        /* an engine may change the limit only in part, or end processes for it */
                        err_say(err, CELLA_INVALID_REQUEST, -ENOTSUP,
                                "limits.%s can only be raised with the engine '%s'", l->name,
                                engine_words[sb->engine]);
                        return err_hint(err, "an execution may ask for less than its sandbox has");
                }
                if (can_be_none && have == 0) { /* on cgroup v1 its resource is not counted */
                        err_say(err, CELLA_INVALID_REQUEST, -ERANGE,
                                "limits.%s cannot be set in a sandbox that was made without it", l->name);
                        return err_hint(err, "an execution may have this limit");
                }
        }
        int r = caller_allows(caller, &wanted, err);
        if (r < 0)
                return r;
        *ret = wanted;
        *ret_required = required;
        return 0;
}

/* Decides whether a created sandbox survives the daemon: by default, where all requested limits hold then,
 * too. */
static int choose_persistence(const struct core *core, const json_t *asked, struct sandbox_spec *spec,
                              struct cella_err *err)
{
        const bool native = spec->engine == ENGINE_NATIVE;
        const bool limited = spec->workspace != WORKSPACE_NONE || (native && core->volumes) ||
                             !(spec->required & CELLA_LIMIT_DISK);
        spec->persistent = asked ? json_is_true(asked) : limited;
        if (spec->persistent && !limited) {
                err_say(err, CELLA_ISOLATION_UNAVAILABLE, -ENOTSUP,
                        "volume: the limit on disk of a persistent sandbox cannot be enforced here");
                return err_hint(
                        err, native ? "leave out persistent or limits.disk_bytes; or run the daemon as "
                                      "root, with loop devices and mke2fs"
                                    : "leave out persistent or limits.disk_bytes; or use the engine native");
        }
        return 0;
}

/* runtime: leases a sandbox of its pool, which is not persistent; NULL: makes one. */
static int add_or_lease(struct core *core, const struct caller *caller, const json_t *document,
                        const char *runtime, struct core_sandbox **ret, struct cella_err *err)
{
        struct sandbox_spec spec = {.caller = caller,
                                    .scope = SCOPE_EXECUTION,
                                    .agent = json_string_value(json_object_get(document, "agent"))};
        const char *word = json_string_value(json_object_get(document, "workspace"));
        spec.workspace = word         ? (enum workspace_access)word_index(workspace_words, word)
                         : spec.agent ? core->settings.workspace
                                      : WORKSPACE_NONE;
        spec.ttl_ms = (uint64_t)json_integer_value(json_object_get(document, "ttl_ms"));
        spec.idle_timeout_ms = (uint64_t)json_integer_value(json_object_get(document, "idle_timeout_ms"));
        spec.metadata = json_object_get(document, "metadata");
        spec.name = json_string_value(json_object_get(document, "name"));
        int e = spec.name ? sandbox_check_name(core, caller->key, spec.name, NULL, err) : 0;
        if (e == 0)
                e = narrow_network(core, caller, json_object_get(document, "network"), &spec.network, err);
        if (e == 0)
                e = check_workspace(core, spec.workspace, spec.agent, err);
        if (e == 0)
                e = fill_limits(core, caller, json_object_get(document, "limits"), 0, &spec, err);
        if (e == 0)
                e = find_image(core, json_string_value(json_object_get(document, "image")), false,
                               engine_from(json_string_value(json_object_get(document, "engine"))), &spec,
                               err);
        if (e == 0)
                e = mount_resolve(&core->settings, json_object_get(document, "mounts"), &spec.mounts, err);
        if (e == 0 && !runtime)
                e = choose_persistence(core, json_object_get(document, "persistent"), &spec, err);
        if (e == 0 && spec.persistent)
                e = sandbox_check_kept(core, caller, err);
        if (e == 0)
                e = runtime ? pool_lease(core, &spec, runtime, ret, err) : sandbox_add(core, &spec, ret, err);
        json_decref(spec.mounts);
        used_image_unref(spec.image);
        network_done(&spec.network);
        return e;
}

int sandbox_request(struct core *core, const struct caller *caller, const json_t *document,
                    struct core_sandbox **ret, struct cella_err *err)
{
        return add_or_lease(core, caller, document, NULL, ret, err);
}

int lease_request(struct core *core, const struct caller *caller, const json_t *document,
                  struct core_sandbox **ret, struct cella_err *err)
{
        const char *runtime = json_string_value(json_object_get(document, "runtime"));
        return add_or_lease(core, caller, document, runtime, ret, err);
}
