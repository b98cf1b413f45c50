/* keeper/process/dispatch.h -- the requests that the server may send, their size, and the sandbox states in
 * which they are allowed.
 *
 * The allowed order is data: a table.  A packet that breaks a rule shows that the server is compromised or
 * faulty, and ends the keeper. */
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
        struct keeper_make_mounts with_mounts;
        struct keeper_about about;
        struct keeper_limits limits;
        struct keeper_drop drop;
        struct keeper_root root;
};

struct dispatch_rule {
        uint32_t type;
        uint32_t states; /* SANDBOX_* states in which the request is allowed; 0: the request names no sandbox
                          */
        const char *name;
        size_t size; /* the exact size of the packet; KEEPER_MAKE: without its mounts */
        void (*handle)(struct keeper *keeper, struct sandbox_entry *entry,
                       const union dispatch_packet *packet);
};

/* Checks everything that the packet alone shows.  Returns NULL and sets *ret, or returns the reason of the
 * refusal. */
const char *dispatch_check(const union dispatch_packet *packet, size_t len, const struct dispatch_rule **ret);

/* The handlers of the requests (handle.c). */
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
DISPATCH_HANDLER(handle_check_root);
DISPATCH_HANDLER(handle_limits);
DISPATCH_HANDLER(handle_ping);
DISPATCH_HANDLER(handle_imager); /* imager.c */
DISPATCH_HANDLER(handle_docker); /* docker.c */

/* handle_look(): called regularly for a sandbox that is freezing or ending.
 * handle_death(): called after the init of a sandbox has died and was reaped. */
void handle_look(struct keeper *keeper, struct sandbox_entry *entry, int64_t now);
void handle_death(struct keeper *keeper, struct sandbox_entry *entry);
