/* docker/process.h -- cella-docker: its loop, and what its jobs share. */
#pragma once
#include "docker/place.h"
#include "docker/sandbox.h"
#include "docker/setup.h"
#include "wire/init.h"
#include "wire/mounts.h"

/* Set before threads are started, and constant afterwards. */
struct process {
        struct setup setup;
        struct place place;
        int epoll;
        uint64_t outside[INIT_NS_COUNT]; /* our own namespaces, see struct init_join */
        char kernel[72];                 /* and the own kernel version */
};

extern struct process process;

/* Runs until the client closes its socket, then removes everything.  Returns the exit status. */
int process_run(const struct setup *setup);

/* Sends a packet to the client; takes fd (-1: none).  May be called in any thread. */
void process_reply(const void *packet, size_t len, int fd);
void process_fail(uint32_t number, const struct cella_err *err);

/* Returns the engine that was found last; its type is 0 if there is none. */
void process_engine(struct docker_opened *ret);

/* Makes the loop report its death. */
int process_watch(const struct docker_sandbox *sandbox);

/* The jobs.  Each frees its argument: struct order, or struct making for making_work(). */
struct order {
        uint32_t number;
        struct docker_sandbox *sandbox; /* one reference */
        bool pause;                     /* for order_freeze(): pause, otherwise resume */
        struct keeper_limits limits;    /* for order_limits() */
};

void order_end(void *order);
void order_kill(void *order);
void order_count(void *order);
void order_freeze(void *order);
void order_limits(void *order);
void order_drop(void *drop); /* struct keeper_drop */

struct making {
        struct keeper_make make;
        struct mounts_item mounts[DOCKER_MOUNTS_MAX];
        size_t n_mounts;
        bool by_server; /* the mounts are checked: see jail/workspace.h */
        char text[];    /* the mounts' strings */
};

/* Parses a packet that asks for a sandbox.  Returns NULL with the reason in *ret_wrong if it is invalid. */
struct making *making_parse(const void *packet, size_t len, bool by_server, const char **ret_wrong);
void making_work(void *making);
