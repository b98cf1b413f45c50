/* docker/document.c -- the document of POST /containers/create for a sandbox.
 *
 * The caller chooses only limits, image and mounts, all of which were checked.  The image decides only which
 * user the code is.  It gets no health check, because that is another process beside ours.  Its volumes
 * become small file systems in memory, because a volume would be disk space without a limit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/foreign_json.h"
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

static json_t *command_of(const struct container_spec *spec)
{
        if (spec->gives)
                return json_pack("[s]", "--give");
        if (spec->transport == DOCKER_SOCKET)
                return json_pack("[s,s]", "--join", CONTAINER_PLACE "/s");
        return spec->transport == DOCKER_ATTACH ? json_pack("[s]", "--attach")
                                                : json_pack("[s,s]", "--attach", CONTAINER_PLACE "/s");
}

/* With StdinOnce, stdin is closed when we detach, and then init exits. */
static void put_attach(json_t *top)
{
        static const char *const names[] = {"AttachStdin", "AttachStdout", "AttachStderr", "OpenStdin",
                                            "StdinOnce"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                json_object_set_new(top, names[i], json_true());
}

static json_t *ulimit(const char *name, uint64_t limit)
{
        return json_pack("{s:s,s:I,s:I}", "Name", name, "Soft", (json_int_t)limit, "Hard", (json_int_t)limit);
}

/* Processes are limited by the control group.  Podman gets a limit for each user, too: its own default is
 * more than root without CAP_SYS_RESOURCE may set, and then it starts no container. */
static json_t *ulimits_of(const struct container_spec *spec)
{
        const struct cella_limits *limits = &spec->make->limits;
        struct rlimit processes = {0};
        json_t *list = json_array();
        json_array_append_new(list, ulimit("nofile", limits->open_files));
        json_array_append_new(list, ulimit("core", 0));
        json_array_append_new(list, ulimit("fsize", limits->disk_bytes + FILE_ROOM));
        if (spec->engine->podman) {
                getrlimit(RLIMIT_NPROC, &processes);
                json_array_append_new(list,
                                      ulimit("nproc", processes.rlim_max < PODMAN_NPROC ? processes.rlim_max
                                                                                        : PODMAN_NPROC));
        }
        return list;
}

static void docker_document_put_number(json_t *object, const char *name, uint64_t value)
{
        json_object_set_new(object, name, json_integer((json_int_t)value));
}

uint64_t container_cpus(uint64_t cpus_milli)
{
        const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        return cpus > 0 && cpus_milli > (uint64_t)cpus * 1000 ? (uint64_t)cpus * 1000 : cpus_milli;
}

static void put_limits(json_t *host, const struct container_spec *spec)
{
        const struct cella_limits *limits = &spec->make->limits;
        const uint64_t memory =
                limits->memory_bytes > CONTAINER_MEMORY_LEAST ? limits->memory_bytes : CONTAINER_MEMORY_LEAST;
        const uint64_t processes = container_processes(spec->make, spec->transport != DOCKER_SOCKET);
        const uint64_t least = container_processes_least(spec->transport);
        docker_document_put_number(host, "Memory", memory);
        docker_document_put_number(host, "MemorySwap", memory); /* memory and swap together: no swap */
        docker_document_put_number(host, "NanoCpus", container_cpus(limits->cpus_milli) * 1000000);
        docker_document_put_number(host, "PidsLimit", processes > least ? processes : least);
        docker_document_put_number(host, "ShmSize",
                                   limits->disk_bytes < SHM_BYTES ? limits->disk_bytes : SHM_BYTES);
        json_object_set_new(host, "Ulimits", ulimits_of(spec));
}

static void put_tmpfs(json_t *tmpfs, const struct container_spec *spec, const char *path, uint64_t bytes)
{
        char options[160];
        int n = snprintf(options, sizeof options, "rw,exec,nosuid,nodev,mode=1777,size=%llu",
                         (unsigned long long)bytes);
        if (!spec->engine->podman) /* Podman does not know that option */
                snprintf(options + n, sizeof options - (size_t)n, ",nr_inodes=%llu",
                         (unsigned long long)spec->make->limits.disk_inodes);
        json_object_set_new(tmpfs, path, json_string(options));
}

static bool is_mounted(const struct container_spec *spec, const char *target)
{
        for (size_t i = 0; i < spec->n_mounts; i++)
                if (!strcmp(spec->mounts[i].target, target))
                        return true;
        return false;
}

static json_t *tmpfs_of(const struct container_spec *spec)
{
        const struct cella_limits *limits = &spec->make->limits;
        json_t *tmpfs = json_object();
        if (!is_mounted(spec, "/tmp"))
                put_tmpfs(tmpfs, spec, "/tmp", limits->disk_bytes);
        if (!is_mounted(spec, "/workspace"))
                put_tmpfs(tmpfs, spec, "/workspace", limits->disk_bytes);
        put_tmpfs(tmpfs, spec, "/run", limits->disk_bytes < RUN_BYTES ? limits->disk_bytes : RUN_BYTES);
        return tmpfs;
}

/* A path of the host that is not UTF-8 cannot be written as JSON: NULL, and container_document() fails. */
static json_t *bind_mount(const char *source, const char *target, bool writable)
{
        return json_pack("{s:s,s:s,s:s,s:b,s:{s:s}}", "Type", "bind", "Source", source, "Target", target,
                         "ReadOnly", !writable, "BindOptions", "Propagation", "rprivate");
}

/* Without what the image has at that path, as in other sandboxes. */
static json_t *volume_mount(const struct container_mount *mount)
{
        return json_pack("{s:s,s:s,s:s,s:b,s:{s:b}}", "Type", "volume", "Source", mount->source, "Target",
                         mount->target, "ReadOnly", !mount->writable, "VolumeOptions", "NoCopy", 1);
}

static json_t *mount_of(const struct container_mount *m)
{
        return m->volume ? volume_mount(m) : bind_mount(m->source, m->target, m->writable);
}

static json_t *volume(const char *path)
{
        return json_pack("{s:s,s:s,s:{s:I,s:i}}", "Type", "tmpfs", "Target", path, "TmpfsOptions",
                         "SizeBytes", (json_int_t)VOLUME_BYTES, "Mode", 01777);
}

/* Whether the path is a file system that we mount.  Paths below it do not count: an engine compares whole
 * paths, and would make a volume on the host's disk there. */
static bool docker_document_is_ours(const struct container_spec *spec, const char *path)
{
        return !strcmp(path, "/tmp") || !strcmp(path, "/workspace") || !strcmp(path, "/run") ||
               is_mounted(spec, path) || (spec->resolver && !strcmp(path, RESOLVER));
}

/* NULL: a mount cannot be written. */
static json_t *mounts_of(const struct container_spec *spec)
{
        json_t *list = json_array();
        int r = json_array_append_new(list, bind_mount(spec->directory, CONTAINER_PLACE, false));
        if (spec->resolver && !is_mounted(spec, RESOLVER))
                r |= json_array_append_new(list, bind_mount(spec->resolver, RESOLVER, false));
        for (size_t i = 0; i < spec->n_mounts; i++)
                r |= json_array_append_new(list, mount_of(&spec->mounts[i]));
        for (size_t i = 0; i < spec->image->n_volumes; i++)
                if (!docker_document_is_ours(spec, spec->image->volumes[i]))
                        r |= json_array_append_new(list, volume(spec->image->volumes[i]));
        if (r == 0)
                return list;
        json_decref(list);
        return NULL;
}

/* Docker takes the whole list of masked paths.  Podman adds those of its security options to its own list. */
static void put_masks(json_t *list, const char *prefix)
{
        const struct masks *masks = masks_all();
        for (size_t i = 0; i < masks->n; i++)
                json_array_append_new(list, json_sprintf("%s%s", prefix, masks->paths[i]));
}

static void put_walls(json_t *host, const struct container_spec *spec)
{
        json_t *security = json_pack("[s]", "no-new-privileges");
        json_object_set_new(host, "SecurityOpt", security);
        if (spec->engine->podman) {
                put_masks(security, "mask=");
        } else {
                json_t *masked = json_array();
                json_object_set_new(host, "MaskedPaths", masked);
                put_masks(masked, "");
        }
        if (spec->resolver) /* Docker lets everyone bind all ports, but those of the egress listeners are ours
                             */
                json_object_set_new(host, "Sysctls",
                                    json_pack("{s:s}", "net.ipv4.ip_unprivileged_port_start", "1024"));
        if (spec->engine->runtime[0])
                json_object_set_new(host, "Runtime", json_string(spec->engine->runtime));
}

/* NULL: it cannot be written. */
static json_t *host_config_of(const struct container_spec *spec)
{
        json_t *host = json_pack("{s:b,s:b,s:[s],s:s,s:s,s:s,s:{s:s},s:{s:s},s:b,s:o}", "Privileged", 0,
                                 "ReadonlyRootfs", 1, "CapDrop", "ALL", "NetworkMode", "none", "IpcMode",
                                 "private", "CgroupnsMode", "private", "LogConfig", "Type", "none",
                                 "RestartPolicy", "Name", "no", "Init", 0, "Tmpfs", tmpfs_of(spec));
        put_walls(host, spec);
        put_limits(host, spec);
        if (json_object_set_new(host, "Mounts", mounts_of(spec)) == 0)
                return host;
        json_decref(host);
        return NULL;
}

char *container_document(const struct container_spec *spec)
{
        AUTO(json_decref)
        json_t *top = json_pack("{s:s,s:[s],s:o,s:s,s:s,s:b,s:s,s:{s:s,s:s,s:s}}", "Image",
                                spec->image->image.id, "Entrypoint", CONTAINER_PLACE "/init", "Cmd",
                                command_of(spec), "Hostname", "sandbox", "WorkingDir", "/", "NetworkDisabled",
                                1, "StopSignal", "SIGKILL", "Labels", REPLY_LABEL_SANDBOX, spec->make->id,
                                REPLY_LABEL_OWNER, spec->owner, REPLY_LABEL_HOME, spec->home);
        if (json_object_set_new(top, "HostConfig", host_config_of(spec)) < 0)
                return NULL;
        if (spec->user[0] && json_object_set_new(top, "User", json_string(spec->user)) < 0)
                return NULL;
        if (spec->transport != DOCKER_SOCKET && !spec->gives)
                put_attach(top);
        if (spec->image
                    ->checks_health) /* only then: Podman without systemd is slow to disable health checks */
                json_object_set_new(top, "Healthcheck", json_pack("{s:[s]}", "Test", "NONE"));
        return json_dumps(top, JSON_COMPACT);
}
