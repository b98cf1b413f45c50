/* test/scan/stock.h -- tree-sitter as it comes, beside the one that scan/tree_sitter.c makes of it. */
#pragma once
#include <stdbool.h>
#include <tree_sitter/api.h>

/* Whether both make the same tree of a text. */
bool stock_same(const TSLanguage *language, const char *text, size_t len);
