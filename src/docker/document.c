/* docker/document.c -- what a container engine is told about a sandbox.
 *
 * Nothing of it is the caller's to choose but limits, image and mounts, all of which were checked.  An image
 * has a say in who the code is, and in nothing else: it gets no health check (a process of its own beside
 * ours), and what it wants to be a volume is a small file system in memory, because a volume would be disk
 * without a limit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/json.h"
#include "docker/api.h"
#include "docker/container.h"
#include "docker/masks.h"

#define HELPERS 8 /* processes of init's own, see jail/spec.h */
#define PODMAN_NPROC 16384
#define FILE_ROOM (1u << 20) /* as in jail/join.c */
#define RUN_BYTES (8u << 20)
#define VOLUME_BYTES (1u << 20)
#define SHM_BYTES (64u << 20)
#define RESOLVER "/etc/resolv.conf"

uint64_t container_processes(const struct keeper_make *make, bool attaches)
{
        return 1 + attaches + (uint64_t)make->limits.processes + (make->long_lived ? HELPERS : 0);
}

uint64_t container_processes_least(enum docker_transport transport)
{
        return transport == DOCKER_AUTO ? CONTAINER_PROCESSES_KERNEL : CONTAINER_PROCESSES_LEAST;
}

static void put_command(struct json *j, const struct container_spec *spec)
{
        const bool attaches = spec->transport != DOCKER_SOCKET;
        json_put_open(j, "Entrypoint", '[');
        json_put_string(j, NULL, CONTAINER_PLACE "/init");
        json_put_close(j, ']');
        json_put_open(j, "Cmd", '[');
        json_put_string(j, NULL, attaches ? "--attach" : "--join");
        if (spec->transport != DOCKER_ATTACH)
                json_put_string(j, NULL, CONTAINER_PLACE "/s");
        json_put_close(j, ']');
        if (!attaches)
                return;
        json_put_bool(j, "AttachStdin", true);
        json_put_bool(j, "AttachStdout", true);
        json_put_bool(j, "AttachStderr", true);
        json_put_bool(j, "OpenStdin", true);
        json_put_bool(j, "StdinOnce", true); /* when we are gone it closes, and init goes */
}

/* Only where there is something to switch off: Podman without systemd takes its time over that. */
static void put_health(struct json *j, const struct container_spec *spec)
{
        if (!spec->image->checks_health)
                return;
        json_put_open(j, "Healthcheck", '{');
        json_put_open(j, "Test", '[');
        json_put_string(j, NULL, "NONE");
        json_put_close(j, ']');
        json_put_close(j, '}');
}

static void put_labels(struct json *j, const struct container_spec *spec)
{
        json_put_open(j, "Labels", '{');
        json_put_string(j, REPLY_LABEL_SANDBOX, spec->make->id);
        json_put_string(j, REPLY_LABEL_OWNER, spec->owner);
        json_put_string(j, REPLY_LABEL_HOME, spec->home);
        json_put_close(j, '}');
}

static void put_ulimit(struct json *j, const char *name, uint64_t limit)
{
        json_put_open(j, NULL, '{');
        json_put_string(j, "Name", name);
        json_put_number(j, "Soft", limit);
        json_put_number(j, "Hard", limit);
        json_put_close(j, '}');
}

/* Processes are counted by their group.  Podman is told a limit for each user all the same, because its own
 * idea of it is more than a root without CAP_SYS_RESOURCE may give, which then starts nothing. */
static void put_ulimits(struct json *j, const struct container_spec *spec)
{
        const struct cella_limits *limits = &spec->make->limits;
        struct rlimit processes = {0};
        json_put_open(j, "Ulimits", '[');
        put_ulimit(j, "nofile", limits->open_files);
        put_ulimit(j, "core", 0);
        put_ulimit(j, "fsize", limits->disk_bytes + FILE_ROOM);
        if (spec->engine->podman) {
                getrlimit(RLIMIT_NPROC, &processes);
                put_ulimit(j, "nproc", processes.rlim_max < PODMAN_NPROC ? processes.rlim_max : PODMAN_NPROC);
        }
        json_put_close(j, ']');
}

static void put_limits(struct json *j, const struct container_spec *spec)
{
        const struct cella_limits *limits = &spec->make->limits;
        const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        uint64_t cpus_milli = limits->cpus_milli;
        if (cpus > 0 && cpus_milli > (uint64_t)cpus * 1000) /* more than there are is refused */
                cpus_milli = (uint64_t)cpus * 1000;
        const uint64_t memory =
                limits->memory_bytes > CONTAINER_MEMORY_LEAST ? limits->memory_bytes : CONTAINER_MEMORY_LEAST;
        const uint64_t processes = container_processes(spec->make, spec->transport != DOCKER_SOCKET);
        const uint64_t least = container_processes_least(spec->transport);
        json_put_number(j, "Memory", memory);
        json_put_number(j, "MemorySwap", memory); /* both together: no swap */
        json_put_number(j, "NanoCpus", cpus_milli * 1000000);
        json_put_number(j, "PidsLimit", processes > least ? processes : least);
        json_put_number(j, "ShmSize", limits->disk_bytes < SHM_BYTES ? limits->disk_bytes : SHM_BYTES);
        put_ulimits(j, spec);
}

static void put_tmpfs(struct json *j, const struct container_spec *spec, const char *path, uint64_t bytes)
{
        char options[160];
        int n = snprintf(options, sizeof options, "rw,exec,nosuid,nodev,mode=1777,size=%llu",
                         (unsigned long long)bytes);
        if (!spec->engine->podman) /* it does not know that option */
                snprintf(options + n, sizeof options - (size_t)n, ",nr_inodes=%llu",
                         (unsigned long long)spec->make->limits.disk_inodes);
        json_put_string(j, path, options);
}

static bool is_mounted(const struct container_spec *spec, const char *target)
{
        for (size_t i = 0; i < spec->n_mounts; i++)
                if (!strcmp(spec->mounts[i].target, target))
                        return true;
        return false;
}

static void put_tmpfs_all(struct json *j, const struct container_spec *spec)
{
        const struct cella_limits *limits = &spec->make->limits;
        json_put_open(j, "Tmpfs", '{');
        if (!is_mounted(spec, "/tmp"))
                put_tmpfs(j, spec, "/tmp", limits->disk_bytes);
        if (!is_mounted(spec, "/workspace"))
                put_tmpfs(j, spec, "/workspace", limits->disk_bytes);
        put_tmpfs(j, spec, "/run", limits->disk_bytes < RUN_BYTES ? limits->disk_bytes : RUN_BYTES);
        json_put_close(j, '}');
}

static void put_bind(struct json *j, const char *source, const char *target, bool writable)
{
        json_put_open(j, NULL, '{');
        json_put_string(j, "Type", "bind");
        json_put_string(j, "Source", source);
        json_put_string(j, "Target", target);
        json_put_bool(j, "ReadOnly", !writable);
        json_put_open(j, "BindOptions", '{');
        json_put_string(j, "Propagation", "rprivate");
        json_put_close(j, '}');
        json_put_close(j, '}');
}

static void put_volume(struct json *j, const char *path)
{
        json_put_open(j, NULL, '{');
        json_put_string(j, "Type", "tmpfs");
        json_put_string(j, "Target", path);
        json_put_open(j, "TmpfsOptions", '{');
        json_put_number(j, "SizeBytes", VOLUME_BYTES);
        json_put_number(j, "Mode", 01777);
        json_put_close(j, '}');
        json_put_close(j, '}');
}

/* The places that are file systems of ours already.  Not what lies below: an engine compares whole paths, and
 * would make a volume on the host's disk there. */
static bool is_ours(const char *path)
{
        return !strcmp(path, "/tmp") || !strcmp(path, "/workspace") || !strcmp(path, "/run");
}

static void put_mounts(struct json *j, const struct container_spec *spec)
{
        json_put_open(j, "Mounts", '[');
        put_bind(j, spec->directory, CONTAINER_PLACE, false);
        if (spec->resolver && !is_mounted(spec, RESOLVER))
                put_bind(j, spec->resolver, RESOLVER, false);
        for (size_t i = 0; i < spec->n_mounts; i++)
                put_bind(j, spec->mounts[i].source, spec->mounts[i].target, spec->mounts[i].writable);
        for (size_t i = 0; i < spec->image->n_volumes; i++)
                if (!is_ours(spec->image->volumes[i]) && !is_mounted(spec, spec->image->volumes[i]) &&
                    !(spec->resolver && !strcmp(spec->image->volumes[i], RESOLVER)))
                        put_volume(j, spec->image->volumes[i]);
        json_put_close(j, ']');
}

/* Podman adds to its own list what a security option says, Docker takes the whole list. */
static void put_masks(struct json *j, bool podman)
{
        const struct masks *masks = masks_all();
        if (!podman)
                json_put_open(j, "MaskedPaths", '[');
        for (size_t i = 0; i < masks->n; i++) {
                char option[sizeof "mask=" + MASK_MAX];
                snprintf(option, sizeof option, "%s%s", podman ? "mask=" : "", masks->paths[i]);
                json_put_string(j, NULL, option);
        }
        if (!podman)
                json_put_close(j, ']');
}

static void put_walls(struct json *j, const struct container_spec *spec)
{
        json_put_bool(j, "Privileged", false);
        json_put_bool(j, "ReadonlyRootfs", true);
        json_put_open(j, "CapDrop", '[');
        json_put_string(j, NULL, "ALL");
        json_put_close(j, ']');
        json_put_open(j, "SecurityOpt", '[');
        json_put_string(j, NULL, "no-new-privileges");
        if (spec->engine->podman)
                put_masks(j, true);
        json_put_close(j, ']');
        if (!spec->engine->podman)
                put_masks(j, false);
        json_put_string(j, "NetworkMode", "none");
        if (spec->resolver) { /* Docker opens all ports to all; but those of the way out are for nobody */
                json_put_open(j, "Sysctls", '{');
                json_put_string(j, "net.ipv4.ip_unprivileged_port_start", "1024");
                json_put_close(j, '}');
        }
        json_put_string(j, "IpcMode", "private");
        json_put_string(j, "CgroupnsMode", "private");
        if (spec->engine->runtime[0])
                json_put_string(j, "Runtime", spec->engine->runtime);
}

static void put_host_config(struct json *j, const struct container_spec *spec)
{
        json_put_open(j, "HostConfig", '{');
        put_walls(j, spec);
        put_limits(j, spec);
        put_tmpfs_all(j, spec);
        put_mounts(j, spec);
        json_put_open(j, "LogConfig", '{');
        json_put_string(j, "Type", "none");
        json_put_close(j, '}');
        json_put_open(j, "RestartPolicy", '{');
        json_put_string(j, "Name", "no");
        json_put_close(j, '}');
        json_put_bool(j, "Init", false);
        json_put_close(j, '}');
}

char *container_document(const struct container_spec *spec)
{
        char *text = NULL;
        size_t len = 0;
        struct json j = {open_memstream(&text, &len), false};
        if (!j.out)
                return NULL;
        json_put_open(&j, NULL, '{');
        json_put_string(&j, "Image", spec->image->image.id);
        put_command(&j, spec);
        json_put_string(&j, "Hostname", "sandbox");
        json_put_string(&j, "WorkingDir", "/");
        if (spec->user[0])
                json_put_string(&j, "User", spec->user);
        json_put_bool(&j, "NetworkDisabled", true);
        put_health(&j, spec);
        json_put_string(&j, "StopSignal", "SIGKILL");
        put_labels(&j, spec);
        put_host_config(&j, spec);
        json_put_close(&j, '}');
        bool failed = ferror(j.out) != 0;
        if (fclose(j.out) != 0 || failed) {
                free(text);
                return NULL;
        }
        return text;
}
