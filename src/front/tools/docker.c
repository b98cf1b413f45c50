/* front/tools/docker.c -- execute_docker: a command in an image. */
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "core/settings/image_fields.h"
#include "front/tools/internal.h"
#include "image/store/store.h"

#define STDIN_MAX (16 * 1024 * 1024)
#define WORDS_MAX 1000

static int check_command(const json_t *value, const char *path, struct cella_err *err)
{
        size_t i;
        const json_t *word;
        bool fits = json_is_string(value) ? json_string_length(value) > 0
                                          : json_is_array(value) && json_array_size(value) > 0 &&
                                                    json_array_size(value) <= WORDS_MAX;
        json_array_foreach (value, i, word)
                fits = fits && json_is_string(word) &&
                       strlen(json_string_value(word)) == json_string_length(word);
        return fits ? 0
                    : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                              "%s must be a command line, or an array of words", path);
}

static const struct field own_fields[] = {
        {.name = "image",
         .type = FIELD_STRING,
         .flags = FIELD_REQUIRED | FIELD_NO_NUL,
         .min = 1,
         .max = 256,
         .check = image_name_check,
         .help = "Name of the image, 'python:3.12-slim'; or 'host': a read-only view of this machine."},
        {.name = "command",
         .type = FIELD_ANY,
         .check = check_command,
         .help = "A command line, run by the image's sh; or an array of words, run as it is. Without it the "
                 "image's own command is run."},
        {.name = "session",
         .type = FIELD_STRING,
         .flags = FIELD_NO_NUL,
         .min = 1,
         .max = 128,
         .help = "A name of your choice: the next call with it and the same image goes on in the same "
                 "sandbox."},
        {.name = "cwd",
         .type = FIELD_STRING,
         .flags = FIELD_NO_NUL,
         .min = 1,
         .max = 4095,
         .help = "Working directory; by default /workspace for a command line, else the image's own."},
        {.name = "stdin", .type = FIELD_STRING, .max = STDIN_MAX, .help = "Standard input."},
        {.name = "engine",
         .type = FIELD_WORD,
         .words = engine_words,
         .help = "The engine that creates the sandbox. The operator sets the default."},
};

const struct field *docker_tool_input(void)
{
        const struct field *const common[] = {&run_env_field,    &run_files_field,    &run_timeout_field,
                                              &run_memory_field, &run_secrets_field,  &run_agent_field,
                                              &run_cpus_field,   run_network_field(), &run_mounts_field};
        static struct field fields[ARRAY_LEN(own_fields) + ARRAY_LEN(common) + 1];
        size_t n = 0;
        for (; n < ARRAY_LEN(own_fields); n++)
                fields[n] = own_fields[n];
        for (size_t i = 0; i < ARRAY_LEN(common); i++)
                fields[n++] = *common[i];
        return fields;
}

void docker_tool_begin(struct tool_call *call)
{
        json_t *command = json_object_get(call->arguments, "command"), *document;
        struct cella_err err = {0};
        if (!command && !strcmp(tool_text(call, "image"), IMAGE_HOST)) {
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "command is required with image 'host'");
                tool_fail(call, &err);
                return;
        }
        document = run_document(call);
        if (json_is_string(command)) {
                json_object_set_new(document, "runtime", json_string("sh"));
                json_object_set(document, "code", command);
        } else if (command) {
                json_object_set(document, "command", command);
        }
        run_begin(call, document, false);
}
