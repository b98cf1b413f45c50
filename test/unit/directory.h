/* test/unit/directory.h -- test.h with a new, empty directory for each test. */
#pragma once
#include <ftw.h>

static inline void directory_make(void), directory_remove(void);
#define TEST_BEFORE directory_make
#define TEST_AFTER directory_remove
#include "test.h"

static char directory[64];

static inline const char *in_directory(const char *name)
{
        static char path[2][128];
        static int turn;
        turn = !turn;
        snprintf(path[turn], sizeof path[turn], "%s/%s", directory, name);
        return path[turn];
}

static inline void directory_make(void)
{
        snprintf(directory, sizeof directory, "%s/cella-unit-XXXXXX", test_directory());
        CHECK(mkdtemp(directory) != NULL);
}

static inline int directory_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void)st, (void)type, (void)ftw;
        return remove(path);
}

static inline void directory_remove(void)
{
        nftw(directory, directory_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
