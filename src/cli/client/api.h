/* cli/client/api.h -- what the commands that talk to the daemon share (doc/api.md). */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/foreign_json.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/client/address.h"
#include "cli/client/client.h"

#define API_ANSWER_MAX (256u * 1024 * 1024)
#define API_VALUES_MAX 4000000u

/* The options that each of them has, first in its table; the struct has `const char *socket`. */
#define API_SOCKET_OPTION(type)                                                                              \
        {                                                                                                    \
                "socket", "PATH", "where the daemon listens (" CLIENT_SOCKET ")",                            \
                        CLI_INTO(CLI_TEXT, type, socket)                                                     \
        }
#define API_JSON_OPTION(type)                                                                                \
        {                                                                                                    \
                "json", NULL, "print the daemon's answer as it is", CLI_INTO(CLI_FLAG, type, json)           \
        }

/* A request's body, written with base/json.h. */
struct api_body {
        struct json j;
        char *text; /* after api_body_end(); owned */
        size_t len;
};
int api_body_begin(struct api_body *body, struct cella_err *err);
int api_body_end(struct api_body *body, struct cella_err *err);
void api_body_done(struct api_body *body);

/* Limits of the command line: none is given before api_limits_init(); then those that were are written.
 * api_limits_put() returns whether there are any. */
void api_limits_init(struct cella_options *options);
bool api_limits_put(struct json *j, const char *key, const struct cella_options *options);

/* An array of texts; nothing for an empty list. */
void api_strings_put(struct json *j, const char *key, const struct cli_list *list);

/* Of the network: `tier` NULL and empty lists if none was asked for, then nothing is written. */
struct api_network {
        const char *tier;
        struct cli_list allowed, blocked;
};
#define API_NETWORK_OPTIONS(type)                                                                            \
        {"network", "TIER", "restricted: none; standard: what is allowed; elevated: any public address",     \
         CLI_INTO(CLI_TEXT, type, network.tier)},                                                            \
                {"allow", "DOMAIN[:PORT]", "only this, of what the settings allow; may be given again",      \
                 CLI_INTO(CLI_LIST, type, network.allowed)},                                                 \
        {                                                                                                    \
                "block", "DOMAIN[:PORT]", "not this; may be given again",                                    \
                        CLI_INTO(CLI_LIST, type, network.blocked)                                            \
        }
void api_network_put(struct json *j, const struct api_network *network);

#define API_MOUNT_OPTION(type)                                                                               \
        {                                                                                                    \
                "mount", "NAME:TARGET[:ro|:rw]", "show a directory that the settings offer by this name",    \
                        CLI_INTO(CLI_LIST, type, mounts)                                                     \
        }
/* Writes `mounts`, if there are any. */
int api_mounts_put(struct json *j, const struct cli_list *mounts, struct cella_err *err);

struct api_answer {
        char *text; /* as it came; owned */
        size_t len;
        json_t *root; /* owned; NULL after 204 */
};
void api_answer_done(struct api_answer *answer);

/* One request and its answer, which is checked to be JSON.  body may be NULL. */
int api_call(struct client *client, const char *method, const struct url *url, const struct api_body *body,
             struct api_answer *ret, struct cella_err *err);
/* The rest of it, after client_answer(). */
int api_read(struct client *client, struct api_answer *ret, struct cella_err *err);
/* Prints the answer as it came, on a line of its own. */
void api_print(const struct api_answer *answer);

/* /v1/sandboxes/ID and what is added to it; a word that cannot be an id is refused here. */
int api_sandbox_url(struct url *u, const char *id, const char *rest, struct cella_err *err);
int api_execution_url(struct url *u, const char *id, struct cella_err *err);
bool api_is_sandbox(const char *word);
bool api_is_execution(const char *word);

/* What the commands share whose things have names, and whose words are VERB NAME, ls or rm NAME. */
enum api_verb { API_MAKE, API_LIST, API_REMOVE };
/* Which of the three the words are; make is the first one's name.  Anything else is refused. */
int api_verb(const struct cli_command *self, int n, char **argv, const char *make, struct cella_err *err);
/* Shows the list that the answer has as `name`, or with json the answer as it is. */
int api_list(struct client *client, const char *path, const char *name, bool json,
             void (*print)(json_t *list), struct cella_err *err);
/* path ends in a slash. */
int api_remove(struct client *client, const char *path, const char *name, struct cella_err *err);

/* Times: "2026-11-15T05:00:00.000Z" in milliseconds since 1970, or -1; those of now; and a span for people
 * ("3m"). */
int64_t api_time(const char *text);
int64_t api_now(void);
void api_span(int64_t ms, char *out, size_t size);

/* A value of any kind as a short text for a table; "" for none and null. */
void api_text(json_t *value, char *out, size_t size);
/* A value as JSON on stdout, with indentation. */
void api_print_value(const json_t *value);

/* Refuses when there are not from min to max words (what: for the message). */
int api_need_words(const struct cli_command *self, int n, int min, int max, struct cella_err *err);

static inline void api_body_done_auto(struct api_body *body)
{
        api_body_done(body);
}

static inline void api_answer_done_auto(struct api_answer *answer)
{
        api_answer_done(answer);
}
