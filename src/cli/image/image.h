/* cli/image/image.h -- shared by the files of `cella image`. */
#pragma once
#include "cli/cli.h"
#include "cli/image/link.h"
#include "cli/image/progress.h"

struct image_options {
        const char *state, *platform, *recipe, *debian, *packages, *mirror;
        bool insecure, json;
};

/* Options that several verbs have. */
#define IMAGE_STATE_OPTION                                                                                   \
        {                                                                                                    \
                "state", "DIR", "the state directory ($CELLA_STATE, /var/lib/cella, ~/.local/state/cella)",  \
                        CLI_INTO(CLI_TEXT, struct image_options, state)                                      \
        }
#define IMAGE_JSON_OPTION                                                                                    \
        {                                                                                                    \
                "json", NULL, "print it as JSON", CLI_INTO(CLI_FLAG, struct image_options, json)             \
        }

extern const struct cli_command image_pull, image_import, image_ls, image_rm, image_inspect, image_gc,
        image_bootstrap;

/* Checks that there are min to max words. */
int image_need_words(const struct cli_command *self, int n, int min, int max, struct cella_err *err);

/* Checks that an image may have this name. */
int image_check_name(const char *name, struct cella_err *err);

/* Ends a job that created an image: prints its id, or all its data as JSON. */
int image_print_made(const struct image_link *link, const char *store, bool json, struct cella_err *err);

/* Returns the exit status: as cli_finish(), and 128+N after signal N. */
int image_finish(int r, const struct image_link *link, const struct cella_err *err, bool json);
