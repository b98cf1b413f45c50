/* tally.h -- counts and prints: one line each. */
#pragma once

struct tally {
        unsigned passed, failed, skipped;
};

void tally_pass(struct tally *t, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
void tally_fail(struct tally *t, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* Always with the reason. */
void tally_skip(struct tally *t, const char *name, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
