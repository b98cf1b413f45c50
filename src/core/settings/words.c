#include "core/settings/words.h"

#include <string.h>

const char *const scope_words[] = {"execution", "session", "agent", "shared", NULL};
const char *const workspace_words[] = {"none", "ro", "rw", NULL};
const char *const tier_words[] = {"restricted", "standard", "elevated", "sandbox", "unrestricted", NULL};
const char *const engine_words[] = {"native", "docker", NULL};
const char *const transport_words[] = {"auto", "socket", "attach", NULL};

int word_index(const char *const *words, const char *word)
{
        for (int i = 0; words[i]; i++)
                if (!strcmp(words[i], word))
                        return i;
        return -1;
}

int engine_from(const char *word)
{
        return word ? word_index(engine_words, word) : -1;
}

int tier_from_word(const char *word)
{
        int i = word_index(tier_words, word);
        return i == 3 ? TIER_RESTRICTED : i == 4 ? TIER_ELEVATED : i;
}
