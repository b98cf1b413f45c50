/* front/tools/internal.h -- shared by the files of this folder. */
#pragma once
#include "core/request/request.h"
#include "engine/result.h"
#include "front/tools/tools.h"
#include "wire/init.h"

struct context;

struct tool_call {
        const struct tool *tool;
        struct tool_options options;
        struct caller caller;
        struct core *core;
        json_t *arguments; /* checked */
        /* The current operation, and how to end it without a result. */
        void *data;
        void (*cancel)(struct tool_call *call);
        bool beginning, ended;
        bool logged; /* its refusal is in the log */
};

/* Ends a call.  *call is freed, unless tool_begin() still uses it. */
void tool_end(struct tool_call *call, const struct tool_result *result);
void tool_fail(struct tool_call *call, const struct cella_err *err);
/* Ends the call with this document, and takes ownership of it. */
void tool_end_json(struct tool_call *call, json_t *document);
/* For a model: removes the last entries of a list that is too long.  Returns whether some were removed. */
bool tool_shorten(const struct tool_call *call, json_t *list);
void tool_result_done(struct tool_result *result);

/* Returns a string argument; NULL: not given. */
const char *tool_text(const struct tool_call *call, const char *name);

/* ---- the tools ---- */
const struct field *exec_tool_input(void), *exec_tool_output(void);
void exec_tool_begin(struct tool_call *call);
const struct field *shell_tool_input(void);
void shell_tool_begin(struct tool_call *call);
const struct field *docker_tool_input(void);
void docker_tool_begin(struct tool_call *call);
const struct field *python_tool_input(void);
void python_tool_begin(struct tool_call *call);
const struct field *read_tool_input(void), *read_tool_output(void);
void read_tool_begin(struct tool_call *call);
const struct field *write_tool_input(void), *write_tool_output(void);
void write_tool_begin(struct tool_call *call);
const struct field *list_tool_input(void), *list_tool_output(void);
void list_tool_begin(struct tool_call *call);
const struct field *sandboxes_tool_input(void), *sandboxes_tool_output(void);
void sandboxes_tool_begin(struct tool_call *call);
const struct field *kill_tool_input(void), *kill_tool_output(void);
void kill_tool_begin(struct tool_call *call);

/* ---- run.c: shared by the tools that run a command ---- */
extern const struct field run_secrets_field, run_timeout_field, run_memory_field, run_env_field,
        run_files_field, run_agent_field, run_cpus_field, run_mounts_field;
const struct field *run_network_field(void);
/* Returns the limits among the arguments, but the time limit, as a new reference. */
json_t *run_limits(const struct tool_call *call);
/* run_document() creates the document for POST /v1/exec from the arguments with the same names.  run_begin()
 * runs it and takes ownership of it.  bare: with the result of sandbox.exec. */
json_t *run_document(const struct tool_call *call);
void run_begin(struct tool_call *call, json_t *document, bool bare);

/* ---- result.c: results of executions ---- */
const struct field *result_fields(void);
/* Replaces the names of limits in the message by those of the tool's arguments. */
void result_name_limits(const struct tool *tool, struct cella_err *err);
/* Changes the hint to what a caller of this tool can do: its own arguments, and the settings. */
void result_hint(const struct tool_call *call, struct cella_result *result);
/* Fills *ret; run may be NULL.  Takes ownership of nothing. */
int result_make(const struct tool_call *call, const struct cella_result *result,
                const struct exec_request *request, uint32_t walls, uint32_t missing,
                const struct result_run *run, struct tool_result *ret);

/* ---- packages.c: packages of execute_python ---- */
extern const struct field package_item;
#define PACKAGES_FIELD                                                                                       \
        {                                                                                                    \
                .name = "packages", .type = FIELD_ARRAY, .item = &package_item, .max = 32,                   \
                .help = "Packages that the code needs. Those that are not installed are fetched with pip, "  \
                        "which "                                                                             \
                        "needs a network; if that fails nothing is run. A session keeps them: later calls "  \
                        "and "                                                                               \
                        "shell commands find them, too."                                                     \
        }
/* Returns Python code for one step (install.c); NULL: no memory.  index: NULL: that of pip.  wheels: the
 * directory for archives of packages. */
json_t *packages_code(json_t *packages, const char *step, const char *index, const char *wheels);
/* Sets err from the result of that code if it failed. */
void packages_explain(const struct cella_result *result, struct cella_err *err);

/* ---- install.c: installs the packages of a call into the sandbox of its context ---- */
struct install;
/* done is called once, later: err NULL: they are installed. */
int install_begin(struct tool_call *call, const struct context *context,
                  void (*done)(void *who, const struct cella_err *err), void *who, struct install **ret,
                  struct cella_err *err);
void install_cancel(struct install *install);

/* ---- python.c: for install.c ---- */
/* Returns the limits of a run; with_timeout: also its timeout. */
json_t *python_limits(const struct tool_call *call, bool with_timeout);
/* Finds a context of the caller. */
struct context *python_context(const struct tool_call *call, const char *id);

/* ---- target.c: selects the sandbox of a call ---- */
#define TARGET_FIELDS                                                                                        \
        {.name = "session",                                                                                  \
         .type = FIELD_STRING,                                                                               \
         .flags = FIELD_NO_NUL,                                                                              \
         .min = 1,                                                                                           \
         .max = 128,                                                                                         \
         .help = "The session whose sandbox is meant: the name you gave to execute_python or "               \
                 "execute_shell. Not needed if the operator gave all your calls one sandbox."},              \
                {.name = "agent",                                                                            \
                 .type = FIELD_STRING,                                                                       \
                 .flags = FIELD_NO_NUL,                                                                      \
                 .min = 1,                                                                                   \
                 .max = 128,                                                                                 \
                 .help = "Or the agent, if the operator gave each agent a sandbox of its own."},             \
        {                                                                                                    \
                .name = "sandbox", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 64,         \
                .help = "Or the sandbox itself, by its id (sbx_...)."                                        \
        }
/* Finds the sandbox by session, agent or id; with none, it is that of the scope in the settings.  make:
 * creates a sandbox for a scope that has none. */
int target_find(const struct tool_call *call, bool make, struct core_sandbox **ret, struct cella_err *err);
/* Finds the sandbox of this call, which may have been removed meanwhile: then NULL. */
struct core_sandbox *target_again(const struct core *core, const char *id);
/* Removes the sandbox, or only this context if it is not "", in the next turn of the event loop. */
void target_leave(struct core *core, const char *sandbox, const char *context);

/* ---- bytes.c: whole files out of and into a sandbox ---- */
struct bytes;
typedef void (*bytes_done)(void *context, struct bytes *bytes, const struct cella_err *err);
struct bytes {
        struct operation *operation;
        bytes_done done;
        void *context;
        const char *feed; /* data to write; borrowed */
        size_t feed_len;
        char *data; /* data that was read, at most max bytes */
        size_t len, size, max;
        bool more; /* there was more */
};
/* done() is called once, never before the function returns, and not after bytes_cancel().  Both free
 * *bytes. */
int bytes_read(struct core_sandbox *sandbox, const struct init_operate *what, const char *path, size_t max,
               bytes_done done, void *context, struct bytes **ret, struct cella_err *err);
int bytes_write(struct core_sandbox *sandbox, const char *path, const char *data, size_t len, bytes_done done,
                void *context, struct bytes **ret, struct cella_err *err);
void bytes_cancel(struct bytes *bytes);
bool bytes_are_text(const char *data, size_t len);
const char *bytes_image(const char *data, size_t len); /* MIME type of a picture; NULL: not a picture */
char *bytes_base64(const char *data, size_t len);
/* Decodes "text" or {"base64": "..."}; the caller frees *ret_owned. */
int bytes_of_content(const json_t *content, const char *name, const char **ret, size_t *ret_len,
                     char **ret_owned, struct cella_err *err);
/* Returns the entries of a directory, sorted, from the result of INIT_READ_DIR. */
json_t *bytes_entries(const struct bytes *bytes);
#define BYTES_ENTRIES_MAX 1000
