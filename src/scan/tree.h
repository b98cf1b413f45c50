/* scan/tree.h -- what we add to tree-sitter, which knows its inside. */
#pragma once
#include <tree_sitter/api.h>

/* A parser as ts_parser_new() makes one; NULL: it is too old or too new for the language. */
TSParser *tree_parser_new(const TSLanguage *language);

/* The same language with a larger table, in which every state has a place for every symbol: its own has
 * lists to search.  1 to 4 MB, which are worth while for long texts, and are never freed. */
const TSLanguage *tree_language(const TSLanguage *language);
