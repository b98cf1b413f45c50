/* core/settings/words.h -- choices that settings, requests and keys share, and their names. */
#pragma once

enum sandbox_scope { SCOPE_EXECUTION, SCOPE_SESSION, SCOPE_AGENT, SCOPE_SHARED };
enum workspace_access { WORKSPACE_NONE, WORKSPACE_READ_ONLY, WORKSPACE_READ_WRITE };
enum sandbox_mode { MODE_ALL, MODE_SELECTIVE, MODE_OFF }; /* which code runs in a sandbox */
enum scan_action { ACTION_OFF, ACTION_WARN, ACTION_BLOCK };
enum engine_choice { ENGINE_NATIVE, ENGINE_DOCKER };
enum tier { TIER_RESTRICTED, TIER_STANDARD, TIER_ELEVATED };

extern const char *const scope_words[];     /* by enum sandbox_scope, NULL-terminated */
extern const char *const workspace_words[]; /* by enum workspace_access */
extern const char *const engine_words[];    /* by enum engine_choice */
extern const char *const transport_words[]; /* by enum docker_transport */
extern const char *const tier_words[];      /* the last two are aliases: see tier_from_word() */

int word_index(const char *const *words, const char *word); /* -1: not found */
int tier_from_word(const char *word);
int engine_from(const char *word); /* -1 for NULL */
