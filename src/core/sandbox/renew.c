/* core/sandbox/renew.c -- the sandbox of a scope follows the settings.
 *
 * A sandbox of a session lives longer than the settings that it was made with.  If the image or the access to
 * the agent's directory changes in the settings, it keeps its id and its files, and is made again.
 *
 * - A value that a request chose itself stays, whatever the settings say.
 * - A private workspace stays when the settings begin to give access to an agent's directory: its files are
 *   the session's own.  Access that the settings withdraw ends at once.
 * - The engine stays: a workspace is on one engine.  The same applies to the image of a container, whose
 *   files end with it.
 * - While code runs in the sandbox, nothing is changed. */
#include "core/sandbox/renew.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

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

static void set_note(struct core_sandbox *sb, bool image, bool workspace)
{
        snprintf(sb->note, sizeof sb->note, "sandbox: made again for changed settings (%s): %s",
                 image && workspace ? "image, workspace"
                 : image            ? "image"
                                    : "workspace",
                 sb->workspace == WORKSPACE_NONE && workspace ? "files and processes are gone"
                                                              : "files are kept, processes are gone");
}

int sandbox_follow_settings(struct core_sandbox *sb, const struct sandbox_spec *spec, struct cella_err *err)
{
        const unsigned chosen = sb->chosen | spec->chosen;
        const bool image =
                !(chosen & CHOSEN_IMAGE) && strcmp(sb->image_name, used_image_name(spec->image)) != 0;
        const bool workspace = !(chosen & CHOSEN_WORKSPACE) && workspace_changed(sb, spec);
        if (sb->engine != ENGINE_NATIVE || spec->engine != ENGINE_NATIVE || (!image && !workspace) ||
            sandbox_runs_code(sb))
                return 0;
        if (image) {
                snprintf(sb->image_name, sizeof sb->image_name, "%s", used_image_name(spec->image));
                used_image_unref(sb->image);
                sb->image = used_image_ref(spec->image);
        }
        if (workspace) {
                sb->workspace = spec->workspace;
                if (spec->workspace == WORKSPACE_NONE) {
                        snprintf(sb->directory, sizeof sb->directory, "%s", sb->id);
                        sb->persistent = true;
                }
        }
        set_note(sb, image, workspace);
        if (sandbox_alive(sb)) {
                sb->renewing = true;
                sb->core->hooks->on_sandbox_renewed(sb);
                sandbox_stop(sb);
        }
        return sandbox_remember(sb, err);
}
