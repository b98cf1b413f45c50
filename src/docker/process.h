/* docker/process.h -- cella-docker: its loop, and what its jobs share. */
#pragma once
#include "docker/cell.h"
#include "docker/place.h"
#include "docker/setup.h"
#include "wire/init.h"

/* Set before there are threads, and not changed after. */
struct process {
        struct setup setup;
        struct place place;
        int epoll;
        uint64_t outside[INIT_NS_COUNT]; /* our own namespaces, see struct init_join */
        char kernel[72];                 /* and kernel */
};

extern struct process process;

/* Runs until nobody is at the other end, and removes everything.  Returns the exit status. */
int process_run(const struct setup *setup);

/* To who asked; takes fd (-1: none).  From any thread. */
void process_reply(const void *packet, size_t len, int fd);
void process_fail(uint32_t number, const struct cella_err *err);

/* The engine that is in use, as it was found last; its type is 0 while there is none. */
void process_engine(struct docker_opened *ret);

/* Has the loop tell of its death. */
int process_watch(const struct cell *cell);

/* The jobs.  Each frees its argument: struct order, or for making struct making. */
struct order {
        uint32_t number;
        struct cell *cell; /* held */
        bool pause;        /* of order_freeze: else it goes on */
};

void order_end(void *order);
void order_kill(void *order);
void order_count(void *order);
void order_freeze(void *order);

struct making {
        struct keeper_make make;
        size_t n_mounts;
        char rw[DOCKER_MOUNTS_MAX];
        const char *sources[DOCKER_MOUNTS_MAX], *targets[DOCKER_MOUNTS_MAX];
        char text[]; /* that they point into */
};

/* A packet that asks for a sandbox.  NULL with what is wrong with it in *ret_wrong. */
struct making *making_parse(const void *packet, size_t len, bool by_server, const char **ret_wrong);
void making_work(void *making);
