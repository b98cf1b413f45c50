/* core/sandbox/renew.c -- the sandbox of a scope follows the settings.
 *
 * A sandbox of a session lives longer than the settings that it was made with.  If the image or the access to
 * the agent's directory changes in the settings, it keeps its id and its files, and is made again.  If the
 * engine changes, or the image of a container, it gets a successor with its files (move.c).
 *
 * - A value that a request chose itself stays, whatever the settings say.
 * - A private workspace stays when the settings begin to give access to an agent's directory: its files are
 *   the session's own.  Access that the settings withdraw ends at once.
 * - An image that a request chose stays, also on another engine; `host`, which containers do not have, keeps
 *   its engine.
 * - While code runs in the sandbox, nothing is changed. */
#include "core/sandbox/renew.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "core/docker.h"
#include "core/sandbox/move.h"

static int sandbox_differs(const struct core_sandbox *sb, const char *what, const char *have,
                           struct cella_err *err)
{
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                "%s must be '%.100s', as in the executions before it in this %s", what, have,
                scope_words[sb->scope]);
        return err_hint(err, "or remove the sandbox %s first", sb->id);
}

int sandbox_check_choice(const struct core_sandbox *sb, const struct sandbox_spec *spec,
                         struct cella_err *err)
{
        if ((spec->chosen & CHOSEN_WORKSPACE) && sb->workspace != spec->workspace)
                return sandbox_differs(sb, "workspace", workspace_words[sb->workspace], err);
        if ((spec->chosen & CHOSEN_ENGINE) && sb->engine != spec->engine)
                return sandbox_differs(sb, "engine", engine_words[sb->engine], err);
        if ((spec->chosen & CHOSEN_IMAGE) && strcmp(sb->image_name, used_image_name(spec->image)) != 0)
                return sandbox_differs(sb, "image", sb->image_name, err);
        return 0;
}

static bool sandbox_runs_code(const struct core_sandbox *sb)
{
        list_each (at, &sb->tasks, other)
                if (!list_entry(at, struct task, link)->ignore_for_idle)
                        return true;
        return sb->state == SANDBOX_MAKING || sb->state == SANDBOX_PAUSED || sb->frozen ||
               sandbox_processes_running(sb) > 0;
}

/* Whether the settings give another access to the agent's directory than the sandbox has. */
static bool workspace_changed(const struct core_sandbox *sb, const struct sandbox_spec *spec)
{
        const bool said = spec->agent || sb->core->settings.workspace == WORKSPACE_NONE;
        return sb->workspace != WORKSPACE_NONE && said && sb->workspace != spec->workspace;
}

enum { NEW_ENGINE = 1u << 0, NEW_IMAGE = 1u << 1, NEW_WORKSPACE = 1u << 2 };

static void set_note(struct core_sandbox *sb, unsigned changes)
{
        static const char *const names[] = {"engine", "image", "workspace"};
        char list[32] = "";
        for (unsigned i = 0, n = 0; i < ARRAY_LEN(names); i++)
                if (changes & 1u << i)
                        n += (unsigned)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", names[i]);
        snprintf(sb->note, sizeof sb->note, "sandbox: made again for changed settings (%s): %s", list,
                 sb->workspace == WORKSPACE_NONE && changes & NEW_WORKSPACE
                         ? "files and processes are gone"
                         : "files are kept, processes are gone");
}

static unsigned changes_of(const struct core_sandbox *sb, const struct sandbox_spec *spec)
{
        const unsigned chosen = sb->chosen | spec->chosen;
        const bool host = chosen & CHOSEN_IMAGE && !strcmp(sb->image_name, IMAGE_HOST);
        unsigned changes = 0;
        if (!(chosen & CHOSEN_ENGINE) && !host && sb->engine != spec->engine)
                changes |= NEW_ENGINE;
        if (!(chosen & CHOSEN_IMAGE) && strcmp(sb->image_name, used_image_name(spec->image)) != 0)
                changes |= NEW_IMAGE;
        if (!(chosen & CHOSEN_WORKSPACE) && workspace_changed(sb, spec))
                changes |= NEW_WORKSPACE;
        /* The image of the settings is one of their engine. */
        return sb->engine == spec->engine || changes & NEW_ENGINE ? changes : changes & ~NEW_IMAGE;
}

/* Finds the image that a request chose, on the other engine. */
static int find_image(const struct core_sandbox *sb, const struct sandbox_spec *spec, struct used_image **ret,
                      struct cella_err *err)
{
        if (!((sb->chosen | spec->chosen) & CHOSEN_IMAGE)) {
                *ret = used_image_ref(spec->image);
                return 0;
        }
        if (spec->engine == ENGINE_NATIVE)
                return used_image_find(sb->core, sb->image_name, ret, err);
        return used_image_remote(
                sb->image_name, docker_may_pull(&sb->core->settings, spec->caller, sb->image_name), ret, err);
}

static int move_to(struct core_sandbox **sb, const struct sandbox_spec *spec, unsigned changes,
                   struct cella_err *err)
{
        struct sandbox_spec there = *spec;
        if (!(changes & NEW_WORKSPACE))
                there.workspace = (*sb)->workspace;
        there.image = NULL;
        int r = find_image(*sb, spec, &there.image, err);
        if (r == 0)
                r = sandbox_move(*sb, &there, sb, err);
        used_image_unref(there.image);
        if (r == 0)
                set_note(*sb, changes);
        return r;
}

/* A native sandbox starts again with the same files. */
static int start_again(struct core_sandbox *sb, const struct sandbox_spec *spec, unsigned changes,
                       struct cella_err *err)
{
        if (changes & NEW_IMAGE) {
                snprintf(sb->image_name, sizeof sb->image_name, "%s", used_image_name(spec->image));
                used_image_unref(sb->image);
                sb->image = used_image_ref(spec->image);
        }
        if (changes & NEW_WORKSPACE) {
                sb->workspace = spec->workspace;
                if (spec->workspace == WORKSPACE_NONE) {
                        snprintf(sb->directory, sizeof sb->directory, "%s", sb->id);
                        sb->persistent = true;
                }
        }
        set_note(sb, changes);
        if (sandbox_alive(sb)) {
                sb->renewing = true;
                sb->core->hooks->on_sandbox_renewed(sb);
                sandbox_stop(sb);
        }
        return sandbox_remember(sb, err);
}

int sandbox_follow_settings(struct core_sandbox **sb, const struct sandbox_spec *spec, struct cella_err *err)
{
        const unsigned changes = changes_of(*sb, spec);
        const bool native = (*sb)->engine == ENGINE_NATIVE && !(changes & NEW_ENGINE);
        if (!changes || sandbox_runs_code(*sb))
                return 0;
        if (native)
                return start_again(*sb, spec, changes, err);
        /* Both exist for a moment. */
        return (*sb)->core->settings.sandboxes_max < 2 ? 0 : move_to(sb, spec, changes, err);
}
