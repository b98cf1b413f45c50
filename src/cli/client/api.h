/* cli/client/api.h -- shared by the commands that send requests to the daemon (doc/api.md). */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/foreign_json.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/client/address.h"
#include "cli/client/client.h"

#define API_ANSWER_MAX (256u * 1024 * 1024)
#define API_VALUES_MAX 4000000u

/* Options of each command, first in its table.  The command's struct has a member `const char *socket`. */
#define API_SOCKET_OPTION(type)                                                                              \
        {                                                                                                    \
                "socket", "PATH", "where the daemon listens (" CLIENT_SOCKET ")",                            \
                        CLI_INTO(CLI_TEXT, type, socket)                                                     \
        }
#define API_JSON_OPTION(type)                                                                                \
        {                                                                                                    \
                "json", NULL, "print the daemon's answer as it is", CLI_INTO(CLI_FLAG, type, json)           \
        }

/* The body of a request, written with base/json.h. */
struct api_body {
        struct json j;
        char *text; /* after api_body_end(); owned */
        size_t len;
};
int api_body_begin(struct api_body *body, struct cella_err *err);
int api_body_end(struct api_body *body, struct cella_err *err);
void api_body_done(struct api_body *body);

/* Limits of the command line: api_limits_init() marks all as not given.  api_limits_put() writes those that
 * were given, and returns whether there are any. */
void api_limits_init(struct cella_options *options);
bool api_limits_put(struct json *j, const char *key, const struct cella_options *options);

/* Writes an array of strings; nothing if the list is empty. */
void api_strings_put(struct json *j, const char *key, const struct cli_list *list);

/* Network options.  If none was given, tier is NULL, the lists are empty, and nothing is written. */
struct api_network {
        const char *tier;
        struct cli_list allowed, blocked;
};
#define API_NETWORK_OPTIONS(type)                                                                            \
        {"network", "TIER", "restricted: none; standard: what is allowed; elevated: any public address",     \
         CLI_INTO(CLI_TEXT, type, network.tier)},                                                            \
                {"allow", "DOMAIN[:PORT]", "allow only this, if the settings allow it; may be repeated",     \
                 CLI_INTO(CLI_LIST, type, network.allowed)},                                                 \
        {                                                                                                    \
                "block", "DOMAIN[:PORT]", "refuse this; may be repeated",                                    \
                        CLI_INTO(CLI_LIST, type, network.blocked)                                            \
        }
void api_network_put(struct json *j, const struct api_network *network);

#define API_MOUNT_OPTION(type)                                                                               \
        {                                                                                                    \
                "mount", "NAME:TARGET[:ro|:rw]", "show a directory that the settings offer by this name",    \
                        CLI_INTO(CLI_LIST, type, mounts), .letter = 'v'                                      \
        }
/* Writes `mounts` if the list is not empty. */
int api_mounts_put(struct json *j, const struct cli_list *mounts, struct cella_err *err);

/* Writes `metadata` from words of the form NAME=VALUE, if there are any. */
int api_metadata_put(struct json *j, const struct cli_list *list, struct cella_err *err);

struct api_answer {
        char *text; /* unchanged; owned */
        size_t len;
        json_t *root; /* owned; NULL after 204 */
};
void api_answer_done(struct api_answer *answer);

/* Sends a request and reads the answer, which must be JSON.  body may be NULL. */
int api_call(struct client *client, const char *method, const struct url *url, const struct api_body *body,
             struct api_answer *ret, struct cella_err *err);
/* The second part of api_call(), after client_answer(): reads the body. */
int api_read(struct client *client, struct api_answer *ret, struct cella_err *err);
/* Prints the answer unchanged, on a line of its own. */
void api_print(const struct api_answer *answer);

/* Builds /v1/sandboxes/ID followed by rest.  An error if the word cannot be an id. */
int api_sandbox_url(struct url *u, const char *id, const char *rest, struct cella_err *err);
int api_execution_url(struct url *u, const char *id, struct cella_err *err);
bool api_is_sandbox(const char *word);
/* Whether it can be the id or the name of a sandbox. */
bool api_names_sandbox(const char *word);
bool api_is_execution(const char *word);

/* For commands that manage objects with names, and have the words VERB NAME, ls, and rm NAME. */
enum api_verb { API_MAKE, API_LIST, API_REMOVE };
/* Returns which of the three the words are; `make` is the first verb.  Any other word is an error. */
int api_verb(const struct cli_command *self, int n, char **argv, const char *make, struct cella_err *err);
/* Prints the list in the member `name` of the answer; with json, the unchanged answer. */
int api_list(struct client *client, const char *path, const char *name, bool json,
             void (*print)(json_t *list), struct cella_err *err);
/* Sends DELETE for path (which ends in a slash) and the name. */
int api_remove(struct client *client, const char *path, const char *name, struct cella_err *err);

/* api_time() converts "2026-11-15T05:00:00.000Z" to milliseconds since 1970 (-1: invalid), api_now() returns
 * the current time, api_span() formats a duration ("3m"). */
int64_t api_time(const char *text);
int64_t api_now(void);
void api_span(int64_t ms, char *out, size_t size);

/* Formats a value of any type as a short text for a table; "" for NULL and null. */
void api_text(json_t *value, char *out, size_t size);
/* Prints a value as indented JSON on stdout. */
void api_print_value(const json_t *value);

/* An error if the number of words is not from min to max. */
int api_need_words(const struct cli_command *self, int n, int min, int max, struct cella_err *err);

DEFINE_AUTO_DONE(struct api_body, api_body_done)

DEFINE_AUTO_DONE(struct api_answer, api_answer_done)
