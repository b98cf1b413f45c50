/* scan/place.h -- whether a path is in the places that code may write to. */
#pragma once
#include "scan/rules.h"
#include "scan/value.h"

/* Lexically: relative paths start in the workspace. */
bool place_is_inside(const char *path, size_t len);

/* The rule for reading, or for writing, a file whose path may be these. */
enum rule place_read(const struct values *path);
enum rule place_write(const struct values *path);
