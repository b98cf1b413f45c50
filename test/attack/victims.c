#include "victims.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Numbers that no process inside a sandbox has, nor any descriptor there. */
#define PID_MIN 400
#define FD_MIN 200
#define OTHER_USER 4243 /* an unused uid */

static int failed(const char *what)
{
        int r = errno > 0 ? -errno : -EIO;

        fprintf(stderr, "cannot place a victim: %s: %s\n", what, strerror(-r));
        return r;
}

static int write_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

        if (fd < 0)
                return failed(path);
        ssize_t n = write(fd, text, strlen(text));
        close(fd);
        return n == (ssize_t)strlen(text) ? 0 : failed(path);
}

/* Where every user may run it, wherever the build is. */
static int copy_program(const char *from, const char *to)
{
        char block[65536];
        ssize_t n;
        int in = open(from, O_RDONLY | O_CLOEXEC);
        int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

        if (in < 0 || out < 0)
                return failed(from);
        while ((n = read(in, block, sizeof block)) > 0)
                if (write(out, block, (size_t)n) != n)
                        return failed(to);
        close(in);
        close(out);
        return n < 0 ? failed(from) : 0;
}

static int place_files(struct victims *v, const char *program)
{
        int r;

        snprintf(v->dir, sizeof v->dir, "/tmp/cella-victims-XXXXXX");
        if (!mkdtemp(v->dir) || chmod(v->dir, 0755) < 0)
                return failed(v->dir);
        snprintf(v->program, sizeof v->program, "%s/attacks", v->dir);
        snprintf(v->file, sizeof v->file, "%s/secret", v->dir);
        snprintf(v->tray, sizeof v->tray, "%s/tray", v->dir);
        snprintf(v->link, sizeof v->link, "%s/link", v->tray);
        if ((r = copy_program(program, v->program)) < 0 || (r = write_file(v->file, v->nonce)) < 0)
                return r;
        if (mkdir(v->tray, 0755) < 0 || symlink(v->file, v->link) < 0)
                return failed(v->tray);
        snprintf(v->private, sizeof v->private, "%s/private", v->tray);
        if ((r = write_file(v->private, v->nonce)) < 0)
                return r;
        /* The file belongs to another user than the tray; an ordinary user cannot change the owner, only
         * remove all permissions. */
        if ((geteuid() == 0 && chown(v->private, OTHER_USER, OTHER_USER) < 0) ||
            chmod(v->private, geteuid() == 0 ? 0600 : 0) < 0)
                return failed(v->private);

        char path[128];
        snprintf(v->shm_file, sizeof v->shm_file, "cella-victim-%.8s", v->nonce);
        snprintf(path, sizeof path, "/dev/shm/%s", v->shm_file);
        return write_file(path, v->nonce);
}

/* Without close-on-exec, high up where nothing else lands. */
static int place_descriptors(struct victims *v)
{
        int file = open(v->file, O_RDONLY), dir = open("/", O_RDONLY | O_DIRECTORY);

        v->fd = fcntl(file, F_DUPFD, FD_MIN);
        v->dir_fd = fcntl(dir, F_DUPFD, FD_MIN);
        close(file);
        close(dir);
        return v->fd < 0 || v->dir_fd < 0 ? failed("descriptors") : 0;
}

static int listen_at(const void *address, socklen_t size)
{
        int family = ((const struct sockaddr *)address)->sa_family;
        int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || bind(fd, address, size) < 0 || listen(fd, 64) < 0)
                return failed("listening socket");
        return fd;
}

/* No process accepts connections: the kernel completes them by itself. */
static int place_listeners(struct victims *v)
{
        struct sockaddr_un path = {.sun_family = AF_UNIX}, name = {.sun_family = AF_UNIX};
        struct sockaddr_in port = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t size = sizeof port;

        snprintf(v->socket, sizeof v->socket, "%s/socket", v->dir);
        snprintf(v->abstract, sizeof v->abstract, "cella-victim-%s", v->nonce);
        snprintf(path.sun_path, sizeof path.sun_path, "%.100s", v->socket);
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%s", v->abstract);

        v->listeners[0] = listen_at(&path, sizeof path);
        v->listeners[1] = listen_at(
                &name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(v->abstract)));
        v->listeners[2] = listen_at(&port, sizeof port);
        for (int i = 0; i < 3; i++)
                if (v->listeners[i] < 0)
                        return v->listeners[i];
        if (getsockname(v->listeners[2], (struct sockaddr *)&port, &size) < 0)
                return failed("port");
        v->port = ntohs(port.sin_port);
        return 0;
}

static int place_ipc(struct victims *v)
{
        char name[72];

        if (getrandom(&v->shm_key, sizeof v->shm_key, 0) < 0)
                return failed("random numbers");
        v->shm_key = (v->shm_key & 0x3fffffff) | 1; /* never IPC_PRIVATE, never negative */
        v->shm_id = shmget(v->shm_key, 4096, IPC_CREAT | IPC_EXCL | 0666);
        if (v->shm_id < 0)
                return failed("shared memory");
        char *memory = shmat(v->shm_id, NULL, 0);
        if (memory == (void *)-1)
                return failed("shared memory");
        strcpy(memory, v->nonce);
        shmdt(memory);

        snprintf(v->queue, sizeof v->queue, "cella-victim-%.8s", v->nonce);
        snprintf(name, sizeof name, "/%s", v->queue);
        mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666, NULL);
        if (queue == (mqd_t)-1) {
                v->queue[0] = '\0';
                return failed("message queue");
        }
        mq_close(queue);
        return 0;
}

/* A machine without /dev/ptmx has no terminals to protect. */
static int place_terminal(struct victims *v)
{
        v->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (v->master < 0 && (errno == ENOENT || errno == EACCES))
                return 0;
        if (v->master < 0 || grantpt(v->master) < 0 || unlockpt(v->master) < 0 ||
            ptsname_r(v->master, v->terminal, sizeof v->terminal) != 0 || chmod(v->terminal, 0666) < 0)
                return failed("terminal");
        return 0;
}

_Noreturn void victim_main(void)
{
        for (;;)
                pause();
}

/* With the secret in its environment and its mark at the start of its command line. */
static int place_process(struct victims *v)
{
        char name[64], variable[64];
        char *const argv[] = {name, VICTIM_ARGUMENT, NULL}, *const env[] = {variable, NULL};

        snprintf(name, sizeof name, "cella-victim-%s", v->nonce);
        snprintf(variable, sizeof variable, "CELLA_SECRET=%s", v->nonce);
        for (;;) {
                pid_t pid = fork();

                if (pid < 0)
                        return failed("process");
                if (pid == 0) {
                        if (getpid() < PID_MIN)
                                _exit(0);
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        execve("/proc/self/exe", argv, env);
                        _exit(1);
                }
                if (pid >= PID_MIN) {
                        v->process = pid;
                        return 0;
                }
                waitpid(pid, NULL, 0);
        }
}

int victims_place(struct victims *v, const char *program)
{
        unsigned char random[16];
        struct stat st;
        int r;

        *v = (struct victims){.fd = -1, .dir_fd = -1, .listeners = {-1, -1, -1}, .shm_id = -1, .master = -1};
        umask(0); /* open to everybody */
        if (getrandom(random, sizeof random, 0) != sizeof random)
                return failed("random numbers");
        for (size_t i = 0; i < sizeof random; i++)
                sprintf(v->nonce + 2 * i, "%02x", random[i]);
        if (gethostname(v->host_name, sizeof v->host_name - 1) < 0 || stat("/proc/self/ns/pid", &st) < 0)
                return failed("host");
        v->pid_ns = st.st_ino;
        if ((r = place_files(v, program)) < 0 || (r = place_descriptors(v)) < 0 ||
            (r = place_listeners(v)) < 0 || (r = place_ipc(v)) < 0 || (r = place_terminal(v)) < 0 ||
            (r = place_process(v)) < 0)
                return r;
        return setenv("CELLA_VICTIM", v->nonce, 1) < 0 ? failed("environment") : 0;
}

void victims_remove(struct victims *v)
{
        char path[128];

        if (v->process > 0) {
                kill(v->process, SIGKILL);
                waitpid(v->process, NULL, 0);
        }
        if (v->queue[0]) {
                path[0] = '/';
                strcpy(path + 1, v->queue);
                mq_unlink(path);
        }
        if (v->master >= 0)
                close(v->master);
        if (v->shm_id >= 0)
                shmctl(v->shm_id, IPC_RMID, NULL);
        if (v->shm_file[0]) {
                strcpy(path, "/dev/shm/");
                strcat(path, v->shm_file);
                unlink(path);
        }
        unlink(v->socket);
        unlink(v->link);
        unlink(v->private);
        rmdir(v->tray);
        unlink(v->file);
        unlink(v->program);
        rmdir(v->dir);
        v->process = 0;
        v->shm_id = v->master = -1;
}
