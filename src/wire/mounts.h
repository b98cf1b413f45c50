/* wire/mounts.h -- the directories of the host that a sandbox shows, as text behind struct keeper_make.
 *
 * For each mount: the letter r or w, the absolute source, NUL, the absolute target, NUL. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct mounts_item {
        const char *source, *target;
        bool writable;
};

/* Appends an item to the text, of which *len bytes are used.  Returns 0 or -E2BIG. */
int mounts_put(char *text, size_t size, size_t *len, const struct mounts_item *item);

/* Splits the text.  The items point into it.  Returns their number, or -EINVAL if the text is malformed or
 * has more than max items. */
int mounts_parse(const char *text, size_t len, struct mounts_item *ret, size_t max);

/* Returns what is wrong with mounts that the server asks for, or NULL: a mount must not lie in the workspace,
 * whose contents are not trusted, nor in another mount. */
const char *mounts_wrong(const struct mounts_item *items, size_t n);
/* Returns why this path cannot be the target of a mount ("must be ..."), or NULL. */
const char *mounts_target_wrong(const char *target);
/* Whether path a is b or below b. */
bool mounts_is_in(const char *a, const char *b);
