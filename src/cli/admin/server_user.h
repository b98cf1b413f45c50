/* cli/admin/server_user.h -- whom the parts without privilege run as, and what they work on belongs to. */
#pragma once
#include "cella.h"

struct server_user {
        bool change; /* we are root, and become this; else these are our own */
        unsigned uid, gid;
};

/* name: of --user; NULL: the user `cella`, or a number that nobody else has. */
int server_user_find(const char *name, struct server_user *ret, struct cella_err *err);
