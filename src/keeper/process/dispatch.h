/* keeper/process/dispatch.h -- which requests there are, what they look like, and when they may come.
 *
 * The order that is allowed is data: a table.  Whatever does not fit it is not from our server,
 * or our server is no longer itself. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/keeper.h"

struct keeper;
struct sandbox_entry;

union dispatch_packet {
        struct {
                uint32_t type, number;
        };
        struct keeper_make make;
        struct keeper_about about;
        struct keeper_drop drop;
};

struct dispatch_rule {
        uint32_t type;
        uint32_t states; /* SANDBOX_*: what the sandbox may be in; 0: it is about none */
        const char *name;
        size_t size; /* exactly */
        void (*handle)(struct keeper *keeper, struct sandbox_entry *entry,
                       const union dispatch_packet *packet);
};

/* Checks all that can be known without looking at anything else.  Returns NULL with *ret set, or
 * what is wrong. */
const char *dispatch_check(const union dispatch_packet *packet, size_t len, const struct dispatch_rule **ret);

/* The handlers, see handle.c. */
#define DISPATCH_HANDLER(name)                                                                               \
        void name(struct keeper *keeper, struct sandbox_entry *entry, const union dispatch_packet *packet)
DISPATCH_HANDLER(handle_make);
DISPATCH_HANDLER(handle_end);
DISPATCH_HANDLER(handle_kill);
DISPATCH_HANDLER(handle_count);
DISPATCH_HANDLER(handle_throttle);
DISPATCH_HANDLER(handle_unthrottle);
DISPATCH_HANDLER(handle_freeze);
DISPATCH_HANDLER(handle_thaw);
DISPATCH_HANDLER(handle_ready);
DISPATCH_HANDLER(handle_drop);
DISPATCH_HANDLER(handle_imager); /* imager.c */
DISPATCH_HANDLER(handle_docker); /* docker.c */

/* The rest of what happens to a sandbox: time passed, and it waits for something; its init is
 * gone, and was reaped. */
void handle_look(struct keeper *keeper, struct sandbox_entry *entry, int64_t now);
void handle_death(struct keeper *keeper, struct sandbox_entry *entry);
