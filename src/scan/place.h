/* scan/place.h -- whether a path is in a place that code may write to. */
#pragma once
#include "scan/rules.h"
#include "scan/value.h"

/* Checked lexically: relative paths start in the workspace. */
bool place_is_inside(const char *path, size_t len);

/* Return the rule for reading, or for writing, a file with one of these paths. */
enum rule place_read(const struct values *path);
enum rule place_write(const struct values *path);
/* The same for removing or changing a directory with all that is in it. */
enum rule place_tree(const struct values *path);
